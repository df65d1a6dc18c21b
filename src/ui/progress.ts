import type { Runtime } from '../runtime.js';
import { bytesText, fitted, grouped } from './figures.js';
import { inert, inertJson } from './inert.js';

/** Where a run stands. The run changes it as it goes; the display looks at it now and then. */
export interface ProgressState {
  /** What is being done, like `upload users.csv`. */
  readonly label: string;
  readonly records: number;
  readonly rejected: number;
  /** Of the input for writes, of what was received for exports. */
  readonly bytes: number;
  /** Undefined where nobody knows: exports, standard input. */
  readonly totalBytes: number | undefined;
  readonly inFlight: number;
  /** What the run is waiting for, like `pending`. */
  readonly note: string | undefined;
}

export interface ProgressSettings {
  readonly progress: 'auto' | 'always' | 'never';
  readonly quiet: boolean;
  readonly json: boolean;
  /** `--log-format json`. */
  readonly logJson?: boolean;
  readonly color: boolean;
}

export interface Progress {
  /** Takes the bar or spinner away. May be called twice. */
  stop(): void;
}

const plainIntervalMs = 10_000;
const drawIntervalMs = 100;
/** Columns below which nothing worth drawing fits. */
const narrowest = 20;

/**
 * Shows progress on stderr until stopped: a bar (when the size is known) or a spinner on a
 * terminal, a plain line every 10 s elsewhere. `always` also writes a plain line at the
 * beginning, so that a short run leaves one. With `--log-format json` the lines are objects, on a
 * terminal too. Nothing with `--quiet`, `--json` and `never`.
 */
export function startProgress(
  read: () => ProgressState,
  settings: ProgressSettings,
  runtime: Pick<Runtime, 'stderr' | 'env'>,
): Progress {
  const { quiet, json, logJson, progress } = settings;
  if (quiet || (json && !logJson) || progress === 'never') return { stop: () => undefined };
  return canDraw(runtime) && !logJson
    ? startDrawing(read, settings, runtime)
    : startLines(read, settings, runtime);
}

/** Some terminals say 0 columns: every frame would be counted as infinitely many lines. */
const canDraw = ({ stderr, env }: Pick<Runtime, 'stderr' | 'env'>): boolean =>
  stderr.isTTY === true && (stderr.columns ?? 0) >= narrowest && env['TERM'] !== 'dumb';

function startLines(
  read: () => ProgressState,
  { progress, logJson }: ProgressSettings,
  { stderr }: Pick<Runtime, 'stderr'>,
): Progress {
  const text = () => (logJson ? inertJson({ type: 'progress', ...read() }) : progressText(read()));
  const line = () => void stderr.write(`${text()}\n`);
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
  settings: ProgressSettings,
  { stderr }: Pick<Runtime, 'stderr'>,
): Progress {
  let display: Display | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const start = async () => {
    const known = read().totalBytes !== undefined;
    const made = known ? await makeBar(stderr) : await makeSpinner(stderr, settings);
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
async function makeBar(stream: Runtime['stderr']): Promise<Display> {
  const { default: cliProgress } = await import('cli-progress');
  const text = (share: number, state: ProgressState) => {
    const bar = cliProgress.Format.BarFormat(share, barOptions);
    return fitted(`[${bar}] ${progressText(state)}`, (stream.columns ?? 80) - 1);
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
    format: (_options, { progress }, payload: { state: ProgressState }) =>
      text(progress, payload.state),
  });
  let started = false;
  return {
    draw: (state) => {
      const total = Math.max(state.totalBytes ?? 0, 1);
      if (started) bar.update(Math.min(state.bytes, total), { state });
      else bar.start(total, Math.min(state.bytes, total), { state });
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
    draw: (state) => {
      spinner.text = fitted(progressText(state), (stream.columns ?? 80) - 3);
      if (!spinner.isSpinning) spinner.start();
    },
    clear: () => void spinner.stop(),
  };
}

/** `upload users.csv: 120,000 records, 3 rejected, 45.2 of 156 MB (29 %), 8 in flight`. */
export function progressText(state: ProgressState): string {
  const { label, records, rejected, bytes, totalBytes, inFlight, note } = state;
  const share =
    totalBytes === undefined || totalBytes === 0
      ? ''
      : ` of ${bytesText(totalBytes)} (${Math.min(100, Math.floor((bytes / totalBytes) * 100))} %)`;
  const parts = [`${grouped(records)} records`];
  if (rejected > 0) parts.push(`${grouped(rejected)} rejected`);
  if (bytes > 0) parts.push(`${bytesText(bytes)}${share}`);
  if (inFlight > 0) parts.push(`${inFlight} in flight`);
  if (note !== undefined) parts.push(note);
  return inert(`${label}: ${parts.join(', ')}`).replaceAll('\n', ' ');
}
