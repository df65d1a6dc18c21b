import { toAttempt } from './failure.js';
import { invalidResponse, openResponses } from './responses.js';
import { requestHeaders, type ClientOptions } from './http-client.js';
import { redactor } from '../redact.js';
import { openTransport } from './transport.js';

export type CallingClient = Awaited<ReturnType<typeof createCallingClient>>;

/**
 * HTTP client of a calling system. One attempt per call. `passcode` is the API key of the calling
 * system's account.
 */
export async function createCallingClient(options: ClientOptions) {
  const redact = redactor(options.passcode);
  const transport = await openTransport({ ...options, headers: requestHeaders(options), redact });
  const { ask, accept } = openResponses(transport, { redact, now: options.now });
  return {
    /** Lists the calls placed since a time (epoch milliseconds), oldest first. */
    list: (since: number, signal: AbortSignal) =>
      toAttempt(async () => {
        const endpoint = '/call/v1/calls';
        const query = `?since=${since}`;
        const exchange = { method: 'GET', endpoint, query, limit: 'silence' } as const;
        const answer = await accept(await ask(exchange, signal));
        const { records } = (answer.json ?? {}) as { readonly records?: unknown };
        if (Array.isArray(records)) return records as object[];
        throw invalidResponse(answer, 'no list of calls');
      }),
    /** Clicks a button of a missed call's notification. */
    click: (callId: string, actionId: string, signal: AbortSignal) =>
      toAttempt(async () => {
        const [call, action] = [callId, actionId].map(encodeURIComponent);
        const endpoint = `/call/v1/missed/${call}/actions/${action}`;
        const exchange = { method: 'POST', endpoint, limit: 'whole', once: true } as const;
        await accept(await ask(exchange, signal));
        return undefined;
      }),
    close: () => transport.close(),
  };
}
