import { resolveAccount, savedAccount, type Account } from '../../config/account.js';
import { EngagectlError } from '../../errors.js';
import { printAnswer, messagePrinter, type Messages } from '../../ui/messages.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { checkAccess } from '../shared/connect.js';
import { validateBaseUrl } from '../../config/validation.js';
import { ownEntry, shownBaseUrl } from '../../config/profiles.js';
import { readConfig } from '../../config/config-file.js';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { quoteForShell } from '../../wording.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { Runtime } from '../../runtime.js';
import type { AccountCheck } from '../../jobs/connection.js';
import type { GlobalOptions } from '../shared/global-options.js';

export const check: CommandSpec = {
  summary: 'test the account with one read-only request',
  examples: `
    # test the default account
    engagectl config check
    # test another account
    engagectl config check --profile staging --region us1
  `,
  run: checkCredentials,
};

/**
 * `config check`: sends one read-only request that needs valid credentials. If they are rejected, it also
 * tries the other regions of the config profile, and the error suggests what to type.
 */
async function checkCredentials({ settings, runtime }: Invocation): Promise<void> {
  const set = settings();
  const messages = messagePrinter(set, runtime);
  const account = await resolveAccount(set, runtime);
  const { status, error, baseUrl } = await checkAccess(account, set, runtime);
  const { profile, region, accountId } = account;
  const found = {
    ok: status === 'accepted',
    profile,
    region,
    accountId,
    baseUrl,
  };
  if (status === 'refused') {
    const tried = await probeRegions(account, set, runtime);
    if (set.json) runtime.stdout.write(jsonAnswer({ ...found, tried }));
    else printTried(account, tried, messages);
    throw refused(account, error, tried);
  }
  if (error) throw error;
  const note = `account ${accountId} and its passcode fit region ${region} (${baseUrl})`;
  printAnswer(set, runtime, found, { note });
}

/** Prints one line per region. */
function printTried(account: Account, tried: readonly RegionProbe[], messages: Messages): void {
  const { region, baseUrl, accountId } = account;
  messages.note(`${region} (${baseUrl}): account ${accountId}: refused`);
  for (const { region: other, baseUrl: url, accountId: own, ownAnswer, answer } of tried) {
    const credentials = `its own account ${own}: ${ownAnswer}; account ${accountId} of ${region}: ${answer}`;
    messages.note(`${other} (${url}): ${credentials}`);
  }
}

function refused(
  account: Account,
  error: EngagectlError | undefined,
  tried: readonly RegionProbe[],
): EngagectlError {
  const home = acceptingRegion(account, tried);
  return new EngagectlError('E-CREDENTIALS', error?.message ?? '', {
    ...error?.details,
    why: home
      ? `account ${account.accountId} belongs to the region at ${home.baseUrl}`
      : 'the service does not know this account and passcode in this region',
    fix: home ? switchRegionAdvice(account, home) : correction(account),
  });
}

/** Finds the region that accepts the account, if only with the passcode saved there. */
const acceptingRegion = ({ accountId }: Account, tried: readonly RegionProbe[]) =>
  tried.find(({ answer }) => answer === 'accepted') ??
  tried.find((other) => other.accountId === accountId && other.ownAnswer === 'accepted');

function switchRegionAdvice({ profile, region, accountId }: Account, home: RegionProbe): string {
  if (home.accountId === accountId)
    return `--region ${quoteForShell(home.region)}; or for good: ${commandOf('use', profile, home.region)}`;
  return `${commandOf('set --profile', profile, region)} --base-url ${quoteForShell(home.baseUrl)}`;
}

const commandOf = (words: string, profile: string | undefined, region: string): string =>
  `engagectl config ${words} ${quoteForShell(profile ?? 'default')} --region ${quoteForShell(region)}`;

function correction({ profile, region, accountId, sources }: Account): string {
  if (profile === undefined || sources.accountId.startsWith('ENGAGECTL_'))
    return `correct ENGAGECTL_ACCOUNT_ID and ENGAGECTL_PASSCODE, or the address (${sources.baseUrl}); --profile <name> --region <name> takes a saved account instead`;
  if (sources.passcode.startsWith('passcode_command'))
    return `see that the command of region ${region} prints the passcode of account ${accountId}; ${commandOf('set --profile', profile, region)} --passcode-command <command> changes it`;
  return `${commandOf('set --profile', profile, region)} --account-id ${quoteForShell(accountId)} asks for the passcode again`;
}

/** Another region of the config profile, and its answers. */
interface RegionProbe {
  readonly region: string;
  readonly baseUrl: string;
  /** Account id saved for it. */
  readonly accountId: string;
  /** Answer to the account saved for it. */
  readonly ownAnswer: Answer;
  /** Answer to the account that was rejected elsewhere. */
  readonly answer: Answer;
}
type Answer = AccountCheck['status'] | 'cannot be used';

/**
 * Tries the other regions saved in the account's config profile, one after the other: each with its own
 * credentials and with those of `account`. The passcode is sent only to addresses that the user saved in
 * this profile, by https or to loopback.
 */
async function probeRegions(
  account: Account,
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<RegionProbe[]> {
  const { profile, region } = account;
  if (profile === undefined) return [];
  const regions = ownEntry((await readConfig(runtime)).profiles, profile)?.regions ?? {};
  const ask = async (one: Account | undefined): Promise<Answer> =>
    (one && (await checkAccess(one, settings, runtime)).status) ?? 'cannot be used';
  const tried: RegionProbe[] = [];
  for (const [name, { baseUrl, accountId, headerPrefix = defaultHeaderPrefix }] of Object.entries(
    regions,
  )) {
    if (name === region) continue;
    const own = await usable(async () => savedAccount({ profile, region: name }, runtime));
    const there = await usable(() => ({
      ...account,
      region: name,
      baseUrl: validateBaseUrl(baseUrl, `config profile "${profile}"`),
      headerPrefix,
    }));
    const ownAnswer = await ask(own);
    const isSame = own?.accountId === account.accountId && own.passcode === account.passcode;
    const answer = isSame ? ownAnswer : await ask(there);
    tried.push({ region: name, baseUrl: shownBaseUrl(baseUrl), accountId, ownAnswer, answer });
  }
  return tried;
}

/** Turns a configuration error of another region into undefined. */
async function usable<T>(make: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof EngagectlError && error.id.startsWith('E-CONFIG')) return undefined;
    if (error instanceof EngagectlError && error.id === 'E-BASE-URL') return undefined;
    throw error;
  }
}
