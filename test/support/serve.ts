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

/** Runs commands with `--json` in a world; the summary is empty if none was printed. */
export const jsonRunner =
  <Summary>(world: World) =>
  async (
    argv: readonly string[],
    options: WorldOptions = {},
  ): Promise<{ readonly code: number; readonly stderr: string; readonly summary: Summary }> => {
    const { code, stdout, stderr } = await world.run([...argv, '--json'], options);
    return { code, stderr, summary: (stdout ? JSON.parse(stdout) : {}) as Summary };
  };

/** The records of each write that was carried out, in order; after `reset-after`, there is no status. */
export const written = <Sent = Record<string, unknown>>(service: TestService): Sent[][] =>
  service
    .requests()
    .filter(({ method, status }) => method === 'POST' && (status === 200 || status === null))
    .map(({ body }) => {
      const { d, identities = [] } = body as { d?: Sent[]; identities?: Sent[] };
      return d ?? identities;
    });
