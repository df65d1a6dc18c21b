import { EngagectlError } from '../errors.js';

/**
 * What comes of each piece of work. Where several of them fail, one E-CONFIG says all that is
 * wrong; another error than one of the configuration is thrown as it is.
 */
export async function together<const Work extends readonly (() => unknown)[]>(
  ...works: Work
): Promise<{ readonly [At in keyof Work]: Awaited<ReturnType<Work[At]>> }> {
  const results = await Promise.allSettled(works.map(async (work) => work()));
  const errors: unknown[] = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  if (errors.length > 0) throw allOf(errors);
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as never;
}

function allOf(errors: readonly unknown[]): unknown {
  const ours = errors.filter((error) => error instanceof EngagectlError);
  const foreign = errors.find((error) => !(error instanceof EngagectlError));
  if (foreign !== undefined || ours.length === 1) return foreign ?? ours[0];
  const joined = (part: (error: EngagectlError) => string | undefined) =>
    [...new Set(ours.map(part))].filter(Boolean).join('; ');
  return new EngagectlError(
    'E-CONFIG',
    joined(({ message }) => message),
    {
      why: joined(({ details }) => details.why),
      fix: joined(({ details }) => details.fix),
      cause: ours[0],
    },
  );
}
