import type { Failure } from '../../client/failure.js';
import { failureError } from '../../client/failure-error.js';
import type { Account } from '../../config/account.js';
import { EngagectlError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import { inertJson } from '../../ui/inert.js';
import { messages, type Messages } from '../../ui/messages.js';
import { connect } from '../connect.js';
import { harmlessRequest, harmlessRequestAt, refusesCredentials } from '../harmless-request.js';
import type { Settings } from '../settings.js';
import { tryOtherRegions, type TriedRegion } from '../other-regions.js';

/**
 * `config check`: one harmless request that needs the right credentials. When they are refused, the
 * other regions of the config profile are asked as well, and the error says what to type.
 */
export async function checkAccount(settings: Settings, runtime: Runtime): Promise<void> {
  const told = messages(settings, runtime);
  const connection = await connect(settings, runtime, { maxInFlight: 1, messages: told });
  const { account, client } = connection;
  let failure: Failure | undefined;
  try {
    failure = await harmlessRequest(client, runtime.signal);
  } finally {
    await connection.close();
  }
  const { profile, region, accountId, baseUrl } = account;
  const answer = { ok: failure === undefined, profile, region, accountId, baseUrl };
  if (failure && refusesCredentials(failure)) {
    const tried = await tryOtherRegions(account, settings, runtime);
    if (settings.json) runtime.stdout.write(`${inertJson({ ...answer, tried })}\n`);
    else sayTried(account, tried, told);
    throw refused(account, failure, tried);
  }
  if (failure)
    throw failureError(failure, { what: harmlessRequestAt(account.baseUrl), attempts: 1 });
  if (settings.json) runtime.stdout.write(`${inertJson(answer)}\n`);
  else told.note(`account ${accountId} and its passcode fit region ${region} (${baseUrl})`);
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

function refused(
  account: Account,
  failure: Failure,
  tried: readonly TriedRegion[],
): EngagectlError {
  const { message } = failureError(failure, {
    what: harmlessRequestAt(account.baseUrl),
    attempts: 1,
  });
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
