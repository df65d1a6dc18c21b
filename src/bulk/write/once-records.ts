import { ordinalOfRow } from '../ordinals.js';
import type { Batch } from './batch.js';
import type { WriteJob } from './write-job.js';

/**
 * Writes down which records of a batch must not be sent twice: before the first byte of them goes
 * out, and not before there is a slot for it, so that a crash leaves no others unknown than those in
 * flight. What it throws stops the run; then the batch ends as not sent.
 */
export async function intend(
  batch: Batch,
  { onceRefused, tally }: Pick<WriteJob, 'onceRefused' | 'tally'>,
): Promise<void> {
  const once = onceOf(batch);
  if (once.length === 0) return;
  if (onceRefused) throw onceRefused;
  await tally.log.intend(once, batch.holdsEvents ? 'event' : 'other');
}

export const oncePositions = (batch: Batch): number[] =>
  batch.positions().filter((position) => !batch.isConvergent(position));

/** Ordinals of the records that must not be sent twice. */
export const onceOf = (batch: Batch): number[] =>
  batch.converges
    ? []
    : oncePositions(batch).map((position) => ordinalOfRow(...batch.source(position)));
