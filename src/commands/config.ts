import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Runtime } from '../runtime.js';
import { inert, inertJson } from '../ui/inert.js';
import { messages } from '../ui/messages.js';
import { registerConfigSet } from './config-set.js';
import { profileName, resolveSettings, type Settings } from './options.js';

/** Credentials per region, in named config profiles (contract §5). */
export function registerConfig(program: Command, runtime: Runtime): void {
  const config = program
    .command('config')
    .summary('credentials per region, in named config profiles')
    .addHelpText(
      'before',
      `Examples:
  engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1
  engagectl config check --region eu1
  engagectl config use default --region eu1
`,
    );
  registerConfigSet(config, runtime);
  registerSaved(config, runtime);
  registerChosen(config, runtime);
}

function registerSaved(config: Command, runtime: Runtime): void {
  config
    .command('use')
    .summary('choose the profile, and its region, for commands that name none')
    .argument('<profile>', 'config profile', profileName)
    .addHelpText(
      'before',
      'Examples:\n  engagectl config use staging\n  engagectl config use default --region eu1\n',
    )
    .action((name: string, _flags: object, command: Command) =>
      useProfile(name, resolveSettings(command, runtime), runtime),
    );
  config
    .command('list')
    .summary('all saved accounts, without their passcodes')
    .addHelpText('before', 'Examples:\n  engagectl config list\n  engagectl config list --json\n')
    .action((_flags: object, command: Command) =>
      listProfiles(resolveSettings(command, runtime), runtime),
    );
  config
    .command('remove')
    .summary('forget a profile, or one region of it')
    .argument('<profile>', 'config profile', profileName)
    .addHelpText(
      'before',
      'Examples:\n  engagectl config remove staging\n  engagectl config remove default --region eu1\n',
    )
    .action((name: string, _flags: object, command: Command) =>
      removeProfile(name, resolveSettings(command, runtime), runtime),
    );
}

function registerChosen(config: Command, runtime: Runtime): void {
  config
    .command('show')
    .summary('the account a command would use, and where each value comes from')
    .addHelpText(
      'before',
      'Examples:\n  engagectl config show\n  engagectl config show --region us1 --json\n',
    )
    .action((_flags: object, command: Command) =>
      showAccount(resolveSettings(command, runtime), runtime),
    );
  config
    .command('check')
    .summary('whether account, passcode and region fit together: one harmless request')
    .addHelpText(
      'before',
      'Examples:\n  engagectl config check\n  engagectl config check --profile staging --region us1\n',
    )
    .action((_flags: object, command: Command) =>
      checkAccount(resolveSettings(command, runtime), runtime),
    );
  config
    .command('path')
    .summary('where the config file is')
    .addHelpText(
      'before',
      'Examples:\n  engagectl config path\n  ls -l "$(engagectl config path)"\n',
    )
    .action(async () => {
      const { configPath } = await import('../config/store.js');
      runtime.stdout.write(`${configPath(runtime)}\n`);
    });
}

async function useProfile(name: string, settings: Settings, runtime: Runtime): Promise<void> {
  const { updateConfig } = await import('../config/store.js');
  const { withCurrent } = await import('../config/changes.js');
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => withCurrent(config, name, region));
  messages(settings, runtime).note(`in use: ${described(name, region)}`);
}

async function removeProfile(name: string, settings: Settings, runtime: Runtime): Promise<void> {
  const { updateConfig } = await import('../config/store.js');
  const { without } = await import('../config/changes.js');
  const region = regionFlag(settings);
  await updateConfig(runtime, (config) => without(config, name, region));
  messages(settings, runtime).note(`removed: ${described(name, region)}`);
}

/** Of the flag only: what is changed on disk should not depend on a variable set long ago. */
const regionFlag = ({ region, flags }: Settings): string | undefined =>
  flags.has('region') ? region : undefined;

const described = (profile: string, region: string | undefined): string =>
  region === undefined ? `profile ${profile}` : `profile ${profile}, region ${region}`;

async function listProfiles({ json }: Settings, { stdout, ...runtime }: Runtime): Promise<void> {
  const { configPath, readConfig } = await import('../config/store.js');
  const { listed } = await import('../config/changes.js');
  const file = configPath(runtime);
  const accounts = listed(await readConfig(runtime));
  if (json) {
    stdout.write(`${inertJson({ file, accounts })}\n`);
    return;
  }
  const rows = accounts.map(({ current, profile, region, baseUrl, accountId, passcode }) => [
    current ? '*' : ' ',
    profile,
    region,
    accountId,
    passcode,
    baseUrl,
  ]);
  const header = [' ', 'PROFILE', 'REGION', 'ACCOUNT', 'PASSCODE', 'BASE URL'];
  stdout.write(inert(`${aligned(rows.length > 0 ? [header, ...rows] : [])}from ${file}\n`));
}

async function showAccount(settings: Settings, runtime: Runtime): Promise<void> {
  const { resolveAccount } = await import('../config/account.js');
  const { maskedPasscode } = await import('../config/changes.js');
  const { configPath } = await import('../config/store.js');
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

/** Columns as wide as their widest cell, two spaces apart. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

/** Endpoint 5 with an identity that nobody has: it needs the right credentials and changes nothing. */
async function checkAccount(settings: Settings, runtime: Runtime): Promise<void> {
  const { connect } = await import('./connect.js');
  const { failureError } = await import('../client/failure-error.js');
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
