import { grouped } from '../errors.js';
import type { RejectSamples } from '../bulk/outcomes/reject-samples.js';

/** `1 could not be read, 2 broke a local rule`: by the first words of their kinds. */
export function whyRejected(
  { kinds }: RejectSamples,
  byService = 'refused by the service',
): string | undefined {
  const reasons = {
    parse: 'could not be read',
    validate: 'broke a local rule',
    service: byService,
  };
  const told = Object.entries(reasons).flatMap(([stage, reason]) => {
    const ofStage = [...kinds].filter(([kind]) => kind.split(' ')[0] === stage);
    const sum = ofStage.reduce((before, [, { count }]) => before + count, 0);
    return sum > 0 ? [`${grouped(sum)} ${reason}`] : [];
  });
  return told.join(', ') || undefined;
}
