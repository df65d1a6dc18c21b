import { checkedBaseUrl } from '../../config/base-url.js';
import { savedCredentials, type Credentials } from '../../config/credentials.js';
import { passcodeFromCommand } from '../../config/passcode-command.js';
import type { SavedRegion } from '../../config/schema.js';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { checkAccountAt, type AccountCheck } from '../../jobs/check-account.js';
import type { Runtime } from '../../runtime.js';

/** What is saved for a region, and the world in which it is asked. */
export interface SavedPlace {
  readonly saved: SavedRegion;
  /** For people. */
  readonly source: string;
  readonly timeoutMs: number;
  readonly runtime: Runtime;
}

/** Throws E-CONFIG. */
export const credentialsAt = ({ saved, source, runtime }: SavedPlace): Promise<Credentials> =>
  savedCredentials(saved, source, (command, of) => passcodeFromCommand(command, of, runtime));

/** Whether the service at the region takes the credentials. Throws E-BASE-URL. */
export async function askAt(
  { saved, source, timeoutMs, runtime }: SavedPlace,
  { accountId, passcode }: Credentials,
): Promise<AccountCheck> {
  const { headerPrefix = defaultHeaderPrefix } = saved;
  const baseUrl = checkedBaseUrl(saved.baseUrl, source);
  const account = { accountId, passcode, headerPrefix, timeoutMs, baseUrl };
  return checkAccountAt(account, runtime);
}
