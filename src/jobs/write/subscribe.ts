import { subscribeMapper } from '../../mapping/subscribe-mapper.js';
import { inputFingerprint } from '../input-files.js';
import { runWrite } from './run-write.js';
import type { WriteResult } from '../job-results.js';
import type { JobContext } from '../job-context.js';
import type { SubscribeOptions } from '../job-options.js';
import type { WriteHooks, WriteRequest } from './write-request.js';

/** Sets the subscription status of phone numbers, WhatsApp numbers and email addresses. */
export async function subscribe(
  request: WriteRequest & SubscribeOptions,
  context: JobContext,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const { type, status, retryUnknown = false } = request;
  return runWrite(
    {
      name: 'subscribe',
      listColumn: type && status && 'value',
      meaning: { ...inputFingerprint(request), type, status },
      frame: ['{"d":[', ']}'],
      mapper: () =>
        subscribeMapper({ ...(type && { type }), ...(status && { status }), retryUnknown }),
    },
    request,
    context,
    hooks,
  );
}
