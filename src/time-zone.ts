/**
 * An IANA time zone. Local times are given as if they were UTC: the epoch seconds that
 * the same wall-clock reading would have in UTC.
 */
export interface TimeZone {
  readonly name: string;
  /** Seconds to add to UTC to get the local time at this instant. */
  offsetAt(epochSeconds: number): number;
  /** The instant of a local time: the earlier one of an ambiguous hour, the later side of a gap. */
  toEpoch(localSeconds: number): number;
}

/** Seconds: every zone since 1970 changes its offset on a multiple of this. */
const slot = 900;

/** Needs no Intl, which takes 20 ms to load. */
const utc: TimeZone = { name: 'UTC', offsetAt: () => 0, toEpoch: (localSeconds) => localSeconds };

/** Throws RangeError when the zone's name is unknown. */
export function timeZone(name: string): TimeZone {
  if (name === utc.name) return utc;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const known = new Map<number, number>();

  const offsetAt = (epochSeconds: number): number => {
    const start = Math.floor(epochSeconds / slot) * slot;
    let offset = known.get(start);
    if (offset === undefined) {
      offset = readOffset(format, start);
      if (known.size > 100_000) known.clear();
      known.set(start, offset);
    }
    return offset;
  };

  const toEpoch = (localSeconds: number): number => {
    const day = 86_400;
    const before = offsetAt(localSeconds - day);
    const after = offsetAt(localSeconds + day);
    const earlier = localSeconds - Math.max(before, after);
    const later = localSeconds - Math.min(before, after);
    if (earlier + offsetAt(earlier) === localSeconds) return earlier;
    if (later + offsetAt(later) === localSeconds) return later;
    return localSeconds - before;
  };

  return { name, offsetAt, toEpoch };
}

function readOffset(format: Intl.DateTimeFormat, epochSeconds: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(epochSeconds * 1000)) {
    parts[type] = Number(value);
  }
  const local = Date.UTC(
    parts['year'] ?? 0,
    (parts['month'] ?? 1) - 1,
    parts['day'],
    parts['hour'],
    parts['minute'],
    parts['second'],
  );
  return local / 1000 - epochSeconds;
}
