import { limits } from '../contract/limits.js';
import type { Answer } from './answer.js';
import { isFault } from './record-faults.js';
import type { Service, ServiceRequest } from './service.js';
import { setSubscription, validateSubscription } from './subscriptions.js';
import { recordsOf, writeAnswer } from './write-answer.js';

/** Endpoint 2. `dryRun=1` answers the same and changes nothing. */
export function subscribe({ query, body }: ServiceRequest, { store, variants }: Service): Answer {
  const texts = recordsOf(body, limits.recordsPerSubscribe);
  const checked = texts.map(validateSubscription);
  if (query.get('dryRun') !== '1') {
    store.transaction(() => {
      for (const record of checked) if (!isFault(record)) setSubscription(store, record);
    });
  }
  const faults = checked.map((record) => (isFault(record) ? record : undefined));
  return writeAnswer(texts, faults, variants.echo);
}
