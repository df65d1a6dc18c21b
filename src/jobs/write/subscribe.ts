import { subscribeMapper } from '../../mapping/subscribe-mapper.js';
import { readMeaning } from '../input-files.js';
import { performWrite } from './run-write.js';
import type { WriteResult } from '../job-results.js';
import type { World } from '../job-context.js';
import type { SubscribeOptions } from '../job-options.js';
import type { WriteHooks, WriteRequest } from './write-request.js';

/** Sets the subscription status of phone numbers, WhatsApp numbers and email addresses. */
export async function subscribe(
  request: WriteRequest & SubscribeOptions,
  world: World,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const { type, status, retryUnknown = false } = request;
  return performWrite(
    {
      name: 'subscribe',
      listColumn: type && status && 'value',
      meaning: { ...readMeaning(request), type, status },
      frame: ['{"d":[', ']}'],
      mapper: () =>
        subscribeMapper({ ...(type && { type }), ...(status && { status }), retryUnknown }),
    },
    request,
    world,
    hooks,
  );
}
