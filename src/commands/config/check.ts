import { resolveAccount, type Account } from '../../config/account.js';
import { EngagectlError } from '../../errors.js';
import { answer, messages, type Messages } from '../../ui/messages.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { askAccount } from '../shared/connect.js';
import { tryOtherRegions, type TriedRegion } from './other-regions.js';
import type { Call } from '../shared/command-spec.js';

/**
 * `config check`: one harmless request that needs the right credentials. When they are refused, the
 * other regions of the config profile are asked as well, and the error says what to type.
 */
export async function checkCredentials({ settings, runtime }: Call): Promise<void> {
  const set = settings();
  const told = messages(set, runtime);
  const account = await resolveAccount(set, runtime);
  const { status, error, baseUrl } = await askAccount(account, set, runtime);
  const { profile, region, accountId } = account;
  const found = {
    ok: status === 'accepted',
    profile,
    region,
    accountId,
    baseUrl,
  };
  if (status === 'refused') {
    const tried = await tryOtherRegions(account, set, runtime);
    if (set.json) runtime.stdout.write(jsonAnswer({ ...found, tried }));
    else sayTried(account, tried, told);
    throw refused(account, error?.message ?? '', tried);
  }
  if (error) throw error;
  const note = `account ${accountId} and its passcode fit region ${region} (${baseUrl})`;
  answer(set, runtime, found, { note });
}

/** One line for each region. */
function sayTried(account: Account, tried: readonly TriedRegion[], told: Messages): void {
  const { region, baseUrl, accountId } = account;
  told.note(`${region} (${baseUrl}): account ${accountId}: refused`);
  for (const { region: other, baseUrl: url, accountId: own, ownAnswer, answer } of tried) {
    const credentials = `its own account ${own}: ${ownAnswer}; account ${accountId} of ${region}: ${answer}`;
    told.note(`${other} (${url}): ${credentials}`);
  }
}

function refused(account: Account, message: string, tried: readonly TriedRegion[]): EngagectlError {
  const home = homeOf(account, tried);
  return new EngagectlError('E-CREDENTIALS', message, {
    why: home
      ? `account ${account.accountId} belongs to the region at ${home.baseUrl}`
      : 'the service does not know this account and passcode in this region',
    fix: home ? wayHome(account, home) : correction(account),
  });
}

/** The region that takes the account, be it with the passcode saved there. */
const homeOf = ({ accountId }: Account, tried: readonly TriedRegion[]) =>
  tried.find(({ answer }) => answer === 'accepted') ??
  tried.find((other) => other.accountId === accountId && other.ownAnswer === 'accepted');

function wayHome({ profile, region, accountId }: Account, home: TriedRegion): string {
  if (home.accountId === accountId)
    return `--region ${home.region}; or for good: engagectl config use ${profile} --region ${home.region}`;
  return `engagectl config set --profile ${profile} --region ${region} --base-url ${home.baseUrl}`;
}

function correction({ profile, region, accountId, sources }: Account): string {
  if (profile === undefined || sources.accountId.startsWith('ENGAGECTL_'))
    return `correct ENGAGECTL_ACCOUNT_ID and ENGAGECTL_PASSCODE, or the address (${sources.baseUrl}); --profile <name> --region <name> takes a saved account instead`;
  if (sources.passcode.startsWith('passcode_command'))
    return `see that the command of region ${region} prints the passcode of account ${accountId}; engagectl config set --profile ${profile} --region ${region} --passcode-command <command> changes it`;
  return `engagectl config set --profile ${profile} --region ${region} --account-id ${accountId} asks for the passcode again`;
}
