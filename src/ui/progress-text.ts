import { bytesText, fitted, grouped, secondsText } from './figures.js';
import { inert } from './inert.js';

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

/** How the run stood when the measuring of its pace began, so many seconds ago. */
interface Pace {
  readonly since: ProgressState;
  readonly seconds: number;
}

/** A line is made of parts, in their order; where not all fit, the more important ones stand. */
type Part = readonly [text: string, importance: number];
const most = 8;

/**
 * `upload users.csv: 120,000 records, 41,000/s, 3 rejected, 45.2 MB of 156 MB (28 %), 8 in flight,
 * 8s left`: on one line of at most so many columns.
 */
export function progressText(
  state: ProgressState,
  pace: Pace,
  columns = Number.POSITIVE_INFINITY,
): string {
  const parts = partsOf(state, pace.seconds < 1 ? undefined : pace).filter(([text]) => text !== '');
  let chosen = parts.filter(([, importance]) => importance === most);
  for (const part of parts.toSorted(([, one], [, other]) => other - one)) {
    const more = parts.filter((each) => each === part || chosen.includes(each));
    if (joined(more).length <= columns) chosen = more;
  }
  return fitted(joined(chosen), columns);
}

function partsOf(state: ProgressState, pace: Pace | undefined): Part[] {
  const { label, records, rejected, inFlight, note } = state;
  return [
    [`${label}: `, 4],
    [`${grouped(records)} records`, most],
    [pace ? `${grouped(Math.round((records - pace.since.records) / pace.seconds))}/s` : '', 2],
    [rejected > 0 ? `${grouped(rejected)} rejected` : '', 7],
    [sizeText(state), 3],
    [inFlight > 0 ? `${inFlight} in flight` : '', 1],
    [pace ? timeLeft(state, pace) : '', 5],
    [note ?? '', 6],
  ];
}

function joined(parts: readonly Part[]): string {
  const label = parts.filter(([, importance]) => importance === 4).map(([text]) => text);
  const figures = parts.filter(([, importance]) => importance !== 4).map(([text]) => text);
  return inert(`${label.join('')}${figures.join(', ')}`).replaceAll('\n', ' ');
}

function sizeText({ bytes, totalBytes }: ProgressState): string {
  if (bytes === 0) return '';
  if (totalBytes === undefined || totalBytes === 0) return bytesText(bytes);
  const percent = Math.min(100, Math.floor((bytes / totalBytes) * 100));
  return `${bytesText(bytes)} of ${bytesText(totalBytes)} (${percent} %)`;
}

/** By the bytes of the input, where its size is known. */
function timeLeft({ bytes, totalBytes = 0 }: ProgressState, { since, seconds }: Pace): string {
  const bytesPerSecond = (bytes - since.bytes) / seconds;
  if (bytesPerSecond <= 0 || bytes >= totalBytes) return '';
  const left = Math.ceil((totalBytes - bytes) / bytesPerSecond);
  return `${left < 60 ? `${left}s` : secondsText(left)} left`;
}
