import { serveOptions, type ServeFlags } from './flags.js';
import type { CommandSpec } from '../shared/command-spec.js';

/** Runs the local service on a port until SIGINT or SIGTERM (contract §6). */
export const command: CommandSpec<ServeFlags> = {
  needs: 'account',
  summary: 'run the local service on a port',
  description:
    'Runs the local service on a loopback port, until Ctrl-C or SIGTERM. Prints its URL as one line on standard output. Tests control it through /_local/… (docs/local-service.md).',
  examples: `
    # on port 8787, with the data of --region local
    engagectl serve
    # for a test: any free port, in memory
    engagectl serve --port 0 --memory
    # for another container: TLS, host name "engage", seeded with users
    engagectl serve --host 0.0.0.0 --allow-host engage --tls --seed users.ndjson
    # simulate a slow and failing service
    engagectl serve --data ./staging-copy --latency 200 --fail-rate 0.05 --pending 3
  `,
  options: serveOptions,
  run: async ({ flags, settings, runtime }) =>
    (await import('./run-service.js')).serve(flags, settings(), runtime),
};
