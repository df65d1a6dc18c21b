import { randomUUID } from 'node:crypto';
import { failureError } from '../client/failure-error.js';
import { resolveAccount } from '../config/account.js';
import { maskedPasscode } from '../config/changes.js';
import { configPath } from '../config/store.js';
import type { Runtime } from '../runtime.js';
import { aligned } from '../ui/aligned.js';
import { inert, inertJson } from '../ui/inert.js';
import { messages } from '../ui/messages.js';
import { connect } from './connect.js';
import type { Settings } from './options.js';

export async function showAccount(settings: Settings, runtime: Runtime): Promise<void> {
  const { profile, sources, ...account } = await resolveAccount(settings, runtime);
  const file = configPath(runtime);
  const shown = { ...account, passcode: maskedPasscode };
  if (settings.json) {
    runtime.stdout.write(`${inertJson({ profile, ...shown, sources, file })}\n`);
    return;
  }
  const rows = [
    ['region', shown.region, sources.region],
    ['base URL', shown.baseUrl, sources.baseUrl],
    ['account id', shown.accountId, sources.accountId],
    ['passcode', shown.passcode, sources.passcode],
    ['header prefix', shown.headerPrefix, sources.headerPrefix],
    ['time zone', shown.timezone, sources.timezone],
  ].map(([name = '', value = '', source = '']) => [name, value, `from ${source}`]);
  runtime.stdout.write(inert(`${aligned(rows)}config file: ${file}\n`));
}

/** Endpoint 5 with an identity that nobody has: it needs the right credentials and changes nothing. */
export async function checkAccount(settings: Settings, runtime: Runtime): Promise<void> {
  const told = messages(settings, runtime);
  const connection = await connect(settings, runtime, { maxInFlight: 1, messages: told });
  const { account, client } = connection;
  try {
    const outcome = await client.profile('identity', randomUUID(), runtime.signal);
    if (!outcome.ok)
      throw failureError(outcome.failure, {
        what: `GET ${account.baseUrl}/1/profile.json`,
        attempts: 1,
      });
  } finally {
    await connection.close();
  }
  const { region, accountId, baseUrl } = account;
  if (settings.json) {
    const answer = { ok: true, profile: account.profile, region, accountId, baseUrl };
    runtime.stdout.write(`${inertJson(answer)}\n`);
  } else told.note(`account ${accountId} and its passcode fit region ${region} (${baseUrl})`);
}
