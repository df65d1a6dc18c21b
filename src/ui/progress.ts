import { sanitizedJson, sanitize } from './sanitize.js';
import { isSwitchOn, type DisplaySettings } from './display-settings.js';
import { maskPersonalData } from './mask.js';
import { formatBytes, count, truncate, grouped, formatDuration } from './format.js';
import type { Runtime } from '../runtime.js';
import type { JobProgress } from '../jobs/job-results.js';

export interface Progress {
  /** Removes the bar or spinner. May be called twice. */
  stop(): void;
}

const plainIntervalMs = 10_000;
/** Interval of progress lines in the log file. */
const logIntervalMs = 60_000;
/** Checks for waiting per interval between plain lines. */
const linesEvery = 20;
const drawIntervalMs = 100;
/** Minimum columns for drawing anything. */
const narrowest = 20;
/** Minimum columns for a bar beside the text. */
const widthForBar = 60;

/** Formats the progress in a number of columns, for the current or a given state. */
type FormatProgress = (columns?: number, state?: ProgressState) => string;

interface ProgressSettings extends DisplaySettings {
  /** Records go to standard output, perhaps to the same terminal, so nothing may be drawn. */
  readonly recordsOnStdout?: boolean;
}

type ProgressRuntime = Pick<
  Runtime,
  'stdout' | 'stderr' | 'env' | 'monotonic' | 'now' | 'log' | 'onStatusRequest'
>;

/**
 * Shows progress on stderr until stopped: a bar (if the size is known) or a spinner on a terminal;
 * elsewhere a plain line every 10 s, and one immediately when the run starts to wait. `always` also
 * writes a plain line at the start, so that a short run has one. With `--log-format json`, lines are
 * objects, on a terminal too. Nothing with `--quiet`, `--json` and `never`. A status signal is always
 * answered by a line. The log file receives a line per minute in any case.
 */
export function startProgress(
  read: () => ProgressState,
  settings: ProgressSettings,
  runtime: ProgressRuntime,
): Progress {
  const { quiet, json, logJson, progress, recordsOnStdout = false } = settings;
  const { stdout, stderr, monotonic, log } = runtime;
  // The rate counts from now: an earlier attempt of the run does not contribute.
  const [since, started] = [{ ...read() }, monotonic()];
  const pace = (): Pace => ({ since, seconds: (monotonic() - started) / 1000 });
  const readMasked = (): ProgressState => {
    const { waiting, ...state } = read();
    const masked = waiting && maskPersonalData(waiting, settings, { isForeign: true });
    return { ...state, waiting: masked };
  };
  const format: FormatProgress = (columns, state = readMasked()) =>
    progressText(state, pace(), columns);
  const isJson = json || logJson;
  const clear = stderr.isTTY === true && !isJson ? '\r\u001B[K' : '';
  const figures = () => figuresOf(readMasked(), pace());
  const line = () => `${isJson ? asJson(figures(), runtime.now()) : format()}\n`;
  const write = () => void stderr.write(line());

  const ignore = runtime.onStatusRequest(() => void stderr.write(`${clear}${line()}`));
  const logged = () => log?.({ type: 'progress', text: format(), about: figures() });
  const endLog = log && repeatEvery(logIntervalMs, logged);
  let end: (() => void) | undefined;
  if (!quiet && (!json || logJson) && progress !== 'never') {
    if (!logJson && !recordsOnStdout && canDraw(runtime)) {
      end = startDrawing(readMasked, format, settings, stderr);
    } else {
      if (progress === 'always') write();
      const isAmidRecords = recordsOnStdout && stdout.isTTY === true;
      end = startLines(write, () => read().waiting !== undefined, isAmidRecords);
    }
  }
  return {
    stop: () => {
      ignore();
      endLog?.();
      end?.();
    },
  };
}

const figuresOf = (state: ProgressState, pace: Pace) => ({
  ...state,
  ...rates(state, pace),
  seconds: Math.round(pace.seconds),
});

const asJson = (figures: ReturnType<typeof figuresOf>, now: number): string =>
  sanitizedJson({ type: 'progress', time: new Date(now).toISOString(), ...figures });

/** Some terminals report 0 columns: each frame would be counted as infinitely many lines. */
const canDraw = ({ stderr, env }: Pick<Runtime, 'stderr' | 'env'>): boolean =>
  stderr.isTTY === true &&
  (stderr.columns ?? 0) >= narrowest &&
  env['TERM'] !== 'dumb' &&
  !isSwitchOn(env['CI']);

function repeatEvery(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Writes lines periodically, and one when waiting starts; only the latter while records are printed. */
function startLines(write: () => void, isWaiting: () => boolean, isAmidRecords: boolean) {
  let ticks = 0;
  let lastWait = -linesEvery;
  return repeatEvery(plainIntervalMs / linesEvery, () => {
    ticks += 1;
    const isNewWait = isWaiting() && ticks - lastWait >= linesEvery;
    if (isNewWait) lastWait = ticks;
    if (isNewWait || (ticks % linesEvery === 0 && !isAmidRecords)) write();
  });
}

/** Draws progress over the previous drawing. */
interface Display {
  draw(): void;
  clear(): void;
}

function startDrawing(
  read: () => ProgressState,
  format: FormatProgress,
  { color }: DisplaySettings,
  stream: Runtime['stderr'],
): () => void {
  let stopped = false;
  let clear: (() => void) | undefined;
  const start = async () => {
    const isSizeKnown = read().totalBytes !== undefined;
    const display = isSizeKnown
      ? await makeBar(read, format, stream)
      : await makeSpinner(format, color, stream);
    if (stopped) return;
    display.draw();
    const rest = repeatEvery(drawIntervalMs, () => display.draw());
    clear = () => {
      rest();
      display.clear();
    };
  };
  void start();
  return () => {
    stopped = true;
    clear?.();
    clear = undefined;
  };
}

/**
 * Neither hides the cursor nor changes line wrapping, so that a killed process leaves the terminal
 * usable.
 */
async function makeBar(
  read: () => ProgressState,
  format: FormatProgress,
  stream: Runtime['stderr'],
): Promise<Display> {
  const { default: cliProgress } = await import('cli-progress');
  const look = {
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
    // Uses the state of the text beside it: the bar's own is one tick older.
    format: () => {
      const state = read();
      const columns = (stream.columns ?? 80) - 1;
      const drawn = `[${cliProgress.Format.BarFormat(shareOf(state), look)}] `;
      const { waiting = '' } = state;
      const hasRoom = columns >= widthForBar && drawn.length + waiting.length <= columns;
      if (!hasRoom) return format(columns, state);
      return `${drawn}${format(columns - drawn.length, state)}`;
    },
  });
  let started = false;
  return {
    draw: () => {
      if (started) bar.update(shareOf(read()));
      else bar.start(1, shareOf(read()));
      started = true;
    },
    clear: () => {
      // The bar ends by returning to the cursor position saved at its start, which messages may have
      // overwritten: save the current position instead.
      stream.write('\u001B7');
      bar.stop();
    },
  };
}

/** Share of the input that was read, from 0 to 1. */
const shareOf = ({ bytes, totalBytes = 0 }: ProgressState): number =>
  Math.min(1, bytes / Math.max(totalBytes, 1));

async function makeSpinner(
  format: FormatProgress,
  color: boolean | undefined,
  stream: Runtime['stderr'],
): Promise<Display> {
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream,
    isEnabled: true,
    // Raw mode would disable Ctrl-C.
    discardStdin: false,
    hideCursor: false,
    color: color ? 'cyan' : false,
  });
  return {
    draw: () => {
      spinner.text = format((stream.columns ?? 80) - 3);
      if (!spinner.isSpinning) spinner.start();
    },
    clear: () => void spinner.stop(),
  };
}

/** Progress of a run. The run updates it; the display reads it periodically. */
export interface ProgressState extends Omit<JobProgress, 'read' | 'slices'> {
  /** Current activity, like `upload users.csv`. */
  readonly label: string;
  /** Like `3 of 7 days`. */
  readonly days?: string | undefined;
}

/** Progress at the start of the measurement, `seconds` ago. */
interface Pace {
  readonly since: ProgressState;
  readonly seconds: number;
}

/** Figures derived from progress and rate; null if unknown. */
interface PaceFigures {
  /** Whole percent of the input. */
  readonly percent: number | null;
  readonly recordsPerSecond: number | null;
  readonly secondsLeft: number | null;
}

/** No rate within the first second. */
function rates(state: ProgressState, { since, seconds }: Pace): PaceFigures {
  const { records, bytes, totalBytes = 0 } = state;
  const share = totalBytes > 0 ? Math.min(1, bytes / totalBytes) : undefined;
  const pace = seconds < 1 ? undefined : (records - since.records) / seconds;
  const isUnderWay =
    share !== undefined && share > 0 && share < 1 && pace !== undefined && pace > 0;
  return {
    percent: share === undefined ? null : Math.floor(100 * share),
    recordsPerSecond: pace === undefined ? null : Math.round(pace),
    secondsLeft: isUnderWay ? Math.ceil((records * (1 - share)) / share / pace) : null,
  };
}

/** Part of a line; if not all parts fit, the more important ones are kept. */
type Part = readonly [text: string | false | undefined, importance: number];

/**
 * Formats `upload users.csv: 28 %, 120,000 records, 41,000/s, 3 rejected, 8 in flight, 8s left` within a
 * number of columns.
 */
export function progressText(
  state: ProgressState,
  pace: Pace,
  columns = Number.POSITIVE_INFINITY,
): string {
  const { waiting } = state;
  const wait = waiting && waiting.length > columns ? withoutHost(waiting) : waiting;
  const parts = partsOf({ ...state, waiting: wait }, pace).filter(([text]) => Boolean(text));
  const most = Math.max(...parts.map(([, importance]) => importance));
  let chosen = parts.filter(([, importance]) => importance === most);
  for (const part of parts.toSorted(([, one], [, other]) => other - one)) {
    const more = parts.filter((each) => each === part || chosen.includes(each));
    if (joined(more).length <= columns) chosen = more;
  }
  return truncate(joined(chosen), columns);
}

function partsOf(state: ProgressState, pace: Pace): Part[] {
  const { label, records, rejected, inFlight, bytes, days, waiting } = state;
  const { percent, recordsPerSecond, secondsLeft } = rates(state, pace);
  const isEndless = percent === null;
  return [
    [`${label}: `, labelled],
    [days, 6],
    [!isEndless && `${percent} %`, 3],
    [(records > 0 || !waiting) && count(records, 'record'), 8],
    [recordsPerSecond !== null && !waiting && `${grouped(recordsPerSecond)}/s`, 5],
    [rejected > 0 && `${grouped(rejected)} rejected`, 7],
    [isEndless && bytes > 0 && formatBytes(bytes), 2],
    [inFlight > 0 && `${inFlight} in flight`, 0],
    [isEndless && pace.seconds >= 1 && wholeSeconds(pace.seconds), 1],
    [secondsLeft !== null && !waiting && `${wholeSeconds(secondsLeft)} left`, 6],
    [waiting, 9],
  ];
}

const labelled = 4;

/** Shortens a waiting message for lines without room for the address. */
const withoutHost = (waiting: string): string => waiting.replace(/^waiting for \S+: /, 'waiting: ');

function joined(parts: readonly Part[]): string {
  const label = parts.filter(([, importance]) => importance === labelled).map(([text]) => text);
  const figures = parts.filter(([, importance]) => importance !== labelled).map(([text]) => text);
  return sanitize(`${label.join('')}${figures.join(', ')}`).replaceAll('\n', ' ');
}

const wholeSeconds = (seconds: number): string =>
  seconds < 59.5 ? `${Math.round(seconds)}s` : formatDuration(seconds);
