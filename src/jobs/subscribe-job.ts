import { subscribeMapper } from '../mapping/subscribe-mapper.js';
import { readMeaning } from './read-input.js';
import { performWrite } from './write/perform-write.js';
import type { WriteResult } from './results.js';
import type { World } from './world.js';
import type { SubscribeOptions } from './job-options.js';
import type { WriteHooks, WriteRequest } from './write/write-request.js';

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
