import { onTestFinished } from 'vitest';
import { startService, type TestService, type TestServiceOptions } from '../../src/testing.js';
import { makeWorld, type World, type WorldOptions } from './test-environment.js';

/** A service as a user's tests start it, which ends with the test, and a world whose account is there. */
export async function serve(
  options: TestServiceOptions = {},
  { env, ...more }: WorldOptions = {},
): Promise<{ readonly service: TestService; readonly world: World }> {
  const service = await startService(options);
  onTestFinished(() => service.close());
  return { service, world: makeWorld({ ...more, env: { ...service.env, ...env } }) };
}

/** The records of each write that was carried out, in order. */
export const written = <Sent = Record<string, unknown>>(service: TestService): Sent[][] =>
  service
    .requests()
    .filter(({ method, status }) => method === 'POST' && status === 200)
    .map(({ body }) => {
      const { d, identities = [] } = body as { d?: Sent[]; identities?: Sent[] };
      return d ?? identities;
    });
