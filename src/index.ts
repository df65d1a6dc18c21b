import { validateBaseUrl } from './config/validation.js';
import { createAccount } from './jobs/library/account.js';
import { nodeRuntime } from './runtime.js';
import type { Account, ConnectOptions } from './jobs/library/api.js';

/**
 * Connects to one account of the service. Sends nothing yet. Throws E-BASE-URL for an address that
 * must not receive the passcode.
 */
export const connect = (options: ConnectOptions): Account =>
  createAccount({ ...options, baseUrl: validateBaseUrl(textOf(options), 'baseUrl') }, nodeRuntime);

/** Returns the base URL as text, also for a caller without types who passes an unset variable, or no options. */
const textOf = (options: ConnectOptions): string =>
  String((Object(options) as Partial<ConnectOptions>).baseUrl);

export {
  type Account,
  type ConnectOptions,
  type Export,
  type JsonObject,
  type LookedUpUser,
  type Run,
  type Source,
  type UserIdentifier,
  type VerifyDifference,
  type VerifyRun,
  type WriteRun,
} from './jobs/library/api.js';
export {
  type DayFileOptions,
  type DemergeOptions,
  type EventExportOptions,
  type FileOptions,
  type JobOptions,
  type LookUpOptions,
  type ProfileExportOptions,
  type RejectLimit,
  type SubscribeOptions,
  type UploadOptions,
  type VerifyOptions,
} from './jobs/job-options.js';
export {
  type DayCounts,
  type ExportResult,
  type JobProgress,
  type RejectedRecord,
  type SettledCounts,
  type VerifyResult,
  type WriteResult,
} from './jobs/job-results.js';
export { main } from './main.js';
export { EngagectlError, exitCodes, type ExitCode, type ErrorId } from './errors.js';
export { nodeRuntime, type Runtime } from './runtime.js';
