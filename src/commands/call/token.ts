import { checkCuid } from '../../jobs/calling/phone.js';
import { callTokenKey, localDataDirectory } from '../../config/local-account.js';
import { printAnswer } from '../../ui/messages.js';
import { nonEmpty, positiveDuration } from '../flags/value-parsers.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const tokenOptions = [
  'Options:',
  ['--cuid <cuid>', 'identity of the caller', { parse: nonEmpty, required: true }],
  ['--device <id>', 'device id to which the token is bound (default: any device)', nonEmpty],
  [
    '--ttl <duration>',
    'lifetime of the token',
    { parse: positiveDuration, default: 3_600_000, defaultText: '1h' },
  ],
  ['--data <dir>', 'data directory of "serve" (default: that of --region local)', nonEmpty],
] as const satisfies OptionTable;
type TokenFlags = FlagsOf<typeof tokenOptions>;

export const token: CommandSpec<TokenFlags> = {
  needs: 'nothing',
  summary: 'sign a token for a caller',
  description:
    'Prints a token with which an app may register as a cuid at "serve --require-tokens": a JWT ' +
    'signed by HS256 with the key in ENGAGECTL_CALL_TOKEN_KEY_FILE, or with the key that is kept ' +
    'in the data directory. Sends nothing.',
  examples: `
    # for the next hour
    engagectl call token --cuid ann_1 --ttl 1h
    # for one device only
    engagectl call token --cuid ann_1 --device pixel-8
  `,
  options: tokenOptions,
  run: printToken,
};

/** Runs `call token`: prints the token as a line on stdout, or in an object with --json. */
async function printToken({ flags, settings, runtime }: Invocation<TokenFlags>): Promise<void> {
  const { cuid, device: deviceId, ttl: ttlMs } = flags;
  checkCuid(cuid, '--cuid');
  const folder = localDataDirectory(runtime, flags.data);
  const { key } = await callTokenKey(folder, runtime);
  const now = runtime.now();
  const { signCallToken } = await import('../../service/calls/registration.js');
  const signed = signCallToken({ cuid, deviceId, key, now, ttlMs });
  const expiresAt = new Date(now + ttlMs).toISOString();
  const answer = { command: 'call token', token: signed, cuid, expiresAt };
  printAnswer(settings(), runtime, answer, { text: `${signed}\n` });
}
