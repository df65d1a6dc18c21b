import { z } from 'zod';

/** One entry of `unprocessed` (specification, Errors 1; service-facts, Answers). The echoed record may differ from what was sent. */
export const unprocessedEntry = z.looseObject({
  status: z.string().optional(),
  code: z.number().optional(),
  error: z.unknown().optional(),
  record: z.unknown().optional(),
});

/** Response of endpoints 1 and 2 (specification, Endpoints 1 and 2). */
export const writeResponse = z.looseObject({
  status: z.enum(['success', 'partial', 'fail']),
  processed: z.int().nonnegative(),
  unprocessed: z.array(unprocessedEntry).nullish(),
});

/**
 * Response to a rejected request (specification, Errors 3; service-facts, Answers). `code` takes precedence over
 * the HTTP status.
 */
export const failResponse = z.looseObject({
  status: z.literal('fail'),
  code: z.union([z.number(), z.string()]).optional(),
  error: z.unknown().optional(),
});

/** Response of endpoints 3 and 6 (specification, Endpoints 3 and 6). */
export const cursorResponse = z.looseObject({
  status: z.literal('success').optional(),
  cursor: z.string().min(1),
});

/**
 * Response of endpoint 8 (specification, Endpoint 8), which counts nothing: a count proves nothing there, unless it has
 * identities that were not processed.
 */
export const demergeResponse = z
  .looseObject({
    status: z.literal('success'),
    processed: z.int().nonnegative().nullish(),
    unprocessed: z.array(unprocessedEntry).nullish(),
  })
  .transform((answer) =>
    answer.unprocessed?.length ? answer : { ...answer, processed: undefined },
  );

export type WriteResponse = z.infer<typeof writeResponse> | z.infer<typeof demergeResponse>;
