import type { WriteProgress } from '../../jobs/results.js';
import type { ProgressState } from '../../ui/progress-text.js';

/** What is settled is shown, and not what was read: of the bytes the same share. */
export function shownWrite(progress: WriteProgress): Omit<ProgressState, 'label'> {
  const { read, settled, bytesRead, rejected, totalBytes, inFlight, waiting } = progress;
  const bytes = read === 0 ? 0 : Math.round((bytesRead * settled) / read);
  return { records: settled, rejected, bytes, totalBytes, inFlight, waiting };
}
