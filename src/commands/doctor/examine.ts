import { resolveAccount, type Account } from '../../config/account.js';
import type { Runtime } from '../../runtime.js';
import { version } from '../../version.js';
import type { Settings } from '../settings.js';
import { checkCertificate } from '../../jobs/doctor/certificate.js';
import { findingOf, type Finding } from './finding.js';
import { checkConfig, checkLock, checkState } from './check-folders.js';
import { checkName, checkProxy } from '../../jobs/doctor/network.js';
import { askOnce, checkClock } from './request.js';

/** The checks, one after the other: those about the service only when there is an account. */
export async function* examine(settings: Settings, runtime: Runtime): AsyncGenerator<Finding> {
  yield findingOf(
    'node',
    () => `${runtime.nodeVersion}, ${runtime.platform}, engagectl ${version}`,
  );
  yield findingOf('config', async () => checkConfig(runtime));
  yield findingOf('state', async () => checkState(runtime));
  yield findingOf('lock', async () => checkLock(runtime));

  let account: Account | undefined;
  yield await findingOf('account', async () => {
    account = await resolveAccount(settings, runtime);
    const { accountId, region, sources } = account;
    return `${accountId}, region ${region}; passcode from ${sources.passcode}`;
  });
  if (account) yield* examineService(account, settings, runtime);
}

async function* examineService(
  account: Account,
  settings: Settings,
  runtime: Runtime,
): AsyncGenerator<Finding> {
  const url = new URL(account.baseUrl);
  yield findingOf('proxy', () => checkProxy(url, runtime));
  yield findingOf('name', async () => checkName(url, runtime));
  yield findingOf('tls', async () => checkCertificate(url, runtime));
  let date: string | undefined;
  yield await findingOf('request', async () => {
    const answer = await askOnce(account, settings, runtime);
    date = answer.date;
    return answer.message;
  });
  yield findingOf('clock', () => checkClock(date, runtime));
}
