import { answer, type Step } from './fault-server.js';

type Sent = Readonly<Record<string, unknown>>;

/** Entry of `unprocessed` for a record that is refused; undefined for one that is processed. */
export type Judgement = { readonly code: number; readonly error: string } | undefined;

/** Executes the valid records, and answers like the service (docs/service-api.md). */
export const judge =
  (verdictOn: (record: Sent) => Judgement): Step =>
  async (exchange) => {
    await exchange.execute();
    const unprocessed = recordsOf(exchange.received.body).flatMap((record, index) => {
      const judgement = verdictOn(record);
      if (!judgement) return [];
      const error = `${judgement.error} Skipped record number : ${index + 1}`;
      return [{ status: 'fail', code: judgement.code, error, record }];
    });
    const processed = recordsOf(exchange.received.body).length - unprocessed.length;
    const status = unprocessed.length === 0 ? 'success' : processed === 0 ? 'fail' : 'partial';
    await answer(200, { status, processed, unprocessed })(exchange);
  };

/** The records of a write request's body. */
export function recordsOf(body: Buffer): readonly Sent[] {
  const { d } = JSON.parse(body.toString()) as { readonly d: readonly Sent[] };
  return d;
}
