import { serveOptions, type ServeFlags } from './flags.js';
import type { CommandSpec } from '../shared/command-spec.js';

/** Runs the embedded local service on a port until it is told to stop (contract §6). */
export const command: CommandSpec<ServeFlags> = {
  needs: 'account',
  summary: 'run the embedded local service on a port',
  description:
    'Runs the embedded service on a loopback port, until Ctrl-C or SIGTERM. Standard output gets one line: its URL. Tests steer it by /_local/…: docs/local-service.md.',
  examples: `
    # on port 8787; its data is that of --region local
    engagectl serve
    # for a test: any free port, nothing kept
    engagectl serve --port 0 --memory
    # for another container: TLS, called "engage", with users in it
    engagectl serve --host 0.0.0.0 --allow-host engage --tls --seed users.ndjson
    # a slow and failing service, to rehearse on
    engagectl serve --data ./rehearsal --latency 200 --fail-rate 0.05 --pending 3
  `,
  options: serveOptions,
  run: async ({ flags, settings, runtime }) =>
    (await import('./run-service.js')).serve(flags, settings(), runtime),
};
