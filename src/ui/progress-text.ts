import { bytesText, count, fitted, grouped, secondsText } from './format.js';
import { inert } from './sanitize.js';
import type { JobProgress } from '../jobs/job-results.js';

/** Where a run stands. The run changes it as it goes; the display looks at it now and then. */
export interface ProgressState extends Omit<JobProgress, 'read' | 'slices'> {
  /** What is being done, like `upload users.csv`. */
  readonly label: string;
  /** Like `3 of 7 days`. */
  readonly days?: string | undefined;
}

/** How the run stood when the measuring of its pace began, so many seconds ago. */
export interface Pace {
  readonly since: ProgressState;
  readonly seconds: number;
}

/** What follows from where a run stands and from its pace; null where it is not known. */
export interface PaceFigures {
  /** Whole, of the input. */
  readonly percent: number | null;
  readonly recordsPerSecond: number | null;
  readonly secondsLeft: number | null;
}

/** In the first second there is none to speak of. */
export function paceFigures(state: ProgressState, { since, seconds }: Pace): PaceFigures {
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

/** A line is made of parts, in their order; where not all fit, the more important ones stand. */
type Part = readonly [text: string | false | undefined, importance: number];

/**
 * `upload users.csv: 28 %, 120,000 records, 41,000/s, 3 rejected, 8 in flight, 8s left`: on one
 * line of at most so many columns.
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
  return fitted(joined(chosen), columns);
}

function partsOf(state: ProgressState, pace: Pace): Part[] {
  const { label, records, rejected, inFlight, bytes, days, waiting } = state;
  const { percent, recordsPerSecond, secondsLeft } = paceFigures(state, pace);
  const isEndless = percent === null;
  return [
    [`${label}: `, labelled],
    [days, 6],
    [!isEndless && `${percent} %`, 3],
    [(records > 0 || !waiting) && count(records, 'record'), 8],
    [recordsPerSecond !== null && !waiting && `${grouped(recordsPerSecond)}/s`, 5],
    [rejected > 0 && `${grouped(rejected)} rejected`, 7],
    [isEndless && bytes > 0 && bytesText(bytes), 2],
    [inFlight > 0 && `${inFlight} in flight`, 0],
    [isEndless && pace.seconds >= 1 && wholeSeconds(pace.seconds), 1],
    [secondsLeft !== null && !waiting && `${wholeSeconds(secondsLeft)} left`, 6],
    [waiting, 9],
  ];
}

const labelled = 4;

/** `waiting: connection refused, try 3, next in 4 s`, for lines too short for the address. */
const withoutHost = (waiting: string): string => waiting.replace(/^waiting for \S+: /, 'waiting: ');

function joined(parts: readonly Part[]): string {
  const label = parts.filter(([, importance]) => importance === labelled).map(([text]) => text);
  const figures = parts.filter(([, importance]) => importance !== labelled).map(([text]) => text);
  return inert(`${label.join('')}${figures.join(', ')}`).replaceAll('\n', ' ');
}

const wholeSeconds = (seconds: number): string =>
  seconds < 59.5 ? `${Math.round(seconds)}s` : secondsText(seconds);
