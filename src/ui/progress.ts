import type { Runtime } from '../runtime.js';
import type { DisplaySettings } from './display-settings.js';
import { inertJson } from './inert.js';
import { progressText, type ProgressState } from './progress-text.js';

export type { ProgressState };

type ProgressSettings = Omit<DisplaySettings, 'verbose'>;

export interface Progress {
  /** Takes the bar or spinner away. May be called twice. */
  stop(): void;
}

const plainIntervalMs = 10_000;
const drawIntervalMs = 100;
/** Columns below which nothing worth drawing fits. */
const narrowest = 20;
/** Columns from which a bar stands beside the text. */
const widthForBar = 60;

type ProgressRuntime = Pick<Runtime, 'stderr' | 'env' | 'monotonic' | 'onStatusRequest'>;
/** Where the run stands, in so many columns. */
type Say = (columns?: number) => string;

/**
 * Shows progress on stderr until stopped: a bar (when the size is known) or a spinner on a
 * terminal, a plain line every 10 s elsewhere. `always` also writes a plain line at the
 * beginning, so that a short run leaves one. With `--log-format json` the lines are objects, on a
 * terminal too. Nothing with `--quiet`, `--json` and `never`. A signal that asks for it is always
 * answered by a line.
 */
export function startProgress(
  read: () => ProgressState,
  settings: ProgressSettings,
  runtime: ProgressRuntime,
): Progress {
  const say = sayer(read, runtime);
  const ignore = runtime.onStatusRequest(() => {
    const isJson = settings.json || settings.logJson === true;
    const clear = runtime.stderr.isTTY === true ? '\r\u001B[K' : '';
    runtime.stderr.write(isJson ? `${asObject(read())}\n` : `${clear}${say()}\n`);
  });
  const shown = show(read, say, settings, runtime);
  return {
    stop: () => {
      ignore();
      shown.stop();
    },
  };
}

/** The pace is that of the run since now: what an earlier part of it did counts for nothing. */
function sayer(read: () => ProgressState, { monotonic }: Pick<Runtime, 'monotonic'>): Say {
  const [since, started] = [{ ...read() }, monotonic()];
  return (columns) =>
    progressText(read(), { since, seconds: (monotonic() - started) / 1000 }, columns);
}

const asObject = (state: ProgressState): string => inertJson({ type: 'progress', ...state });

function show(
  read: () => ProgressState,
  say: Say,
  settings: ProgressSettings,
  runtime: ProgressRuntime,
): Progress {
  const { quiet, json, logJson, progress } = settings;
  if (quiet || (json && !logJson) || progress === 'never') return { stop: () => undefined };
  return canDraw(runtime) && !logJson
    ? startDrawing(read, say, settings, runtime)
    : startLines(() => (logJson ? asObject(read()) : say()), settings, runtime);
}

/** Some terminals say 0 columns: every frame would be counted as infinitely many lines. */
const canDraw = ({ stderr, env }: Pick<Runtime, 'stderr' | 'env'>): boolean =>
  stderr.isTTY === true && (stderr.columns ?? 0) >= narrowest && env['TERM'] !== 'dumb';

function startLines(
  say: Say,
  { progress }: ProgressSettings,
  { stderr }: Pick<Runtime, 'stderr'>,
): Progress {
  const line = () => void stderr.write(`${say()}\n`);
  if (progress === 'always') line();
  const timer = setInterval(line, plainIntervalMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** Draws one state over the last one. */
interface Display {
  draw(state: ProgressState): void;
  clear(): void;
}

function startDrawing(
  read: () => ProgressState,
  say: Say,
  settings: ProgressSettings,
  { stderr }: Pick<Runtime, 'stderr'>,
): Progress {
  let display: Display | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const start = async () => {
    const known = read().totalBytes !== undefined;
    const made = known ? await makeBar(stderr, say) : await makeSpinner(stderr, say, settings);
    if (stopped) return;
    display = made;
    const draw = () => made.draw(read());
    draw();
    timer = setInterval(draw, drawIntervalMs);
    timer.unref();
  };
  void start();

  return {
    stop: () => {
      stopped = true;
      clearInterval(timer);
      display?.clear();
      display = undefined;
    },
  };
}

/** Neither hides the cursor nor changes the wrapping: a killed process leaves the terminal sane. */
async function makeBar(stream: Runtime['stderr'], say: Say): Promise<Display> {
  const { default: cliProgress } = await import('cli-progress');
  const text = (share: number) => {
    const columns = (stream.columns ?? 80) - 1;
    if (columns < widthForBar) return say(columns);
    const bar = `[${cliProgress.Format.BarFormat(share, barOptions)}] `;
    return `${bar}${say(columns - bar.length)}`;
  };
  const barOptions = {
    barsize: 20,
    barGlue: '',
    barCompleteString: '='.repeat(20),
    barIncompleteString: '-'.repeat(20),
  };
  const bar = new cliProgress.SingleBar({
    stream,
    linewrap: true,
    hideCursor: false,
    gracefulExit: false,
    clearOnComplete: true,
    forceRedraw: true,
    format: (_options, { progress }) => text(progress),
  });
  let started = false;
  return {
    draw: (state) => {
      const total = Math.max(state.totalBytes ?? 0, 1);
      if (started) bar.update(Math.min(state.bytes, total));
      else bar.start(total, Math.min(state.bytes, total));
      started = true;
    },
    clear: () => {
      // The bar ends by going back to the cursor position saved at its start, where messages may
      // stand by now: save the present one instead.
      stream.write('\u001B7');
      bar.stop();
    },
  };
}

async function makeSpinner(
  stream: Runtime['stderr'],
  say: Say,
  { color }: ProgressSettings,
): Promise<Display> {
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream,
    isEnabled: true,
    // Reading the terminal in raw mode would make Ctrl-C dead.
    discardStdin: false,
    hideCursor: false,
    color: color ? 'cyan' : false,
  });
  return {
    draw: () => {
      spinner.text = say((stream.columns ?? 80) - 3);
      if (!spinner.isSpinning) spinner.start();
    },
    clear: () => void spinner.stop(),
  };
}
