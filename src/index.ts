import { checkedBaseUrl } from './config/base-url.js';
import { accountOf } from './jobs/library/library-account.js';
import type { Account, ConnectOptions } from './jobs/library/library.js';
import { nodeRuntime } from './runtime.js';

/**
 * An account of the service. Nothing is sent yet. Throws E-BASE-URL for an address that the passcode
 * must not be sent to.
 */
export const connect = (options: ConnectOptions): Account =>
  accountOf({ ...options, baseUrl: checkedBaseUrl(options.baseUrl, 'baseUrl') }, nodeRuntime);

export type {
  Account,
  ConnectOptions,
  Export,
  JsonObject,
  LookedUpUser,
  Run,
  Source,
  UserIdentifier,
  VerifyDifference,
  VerifyRun,
  WriteRun,
} from './jobs/library/library.js';
export type {
  DayFileOptions,
  DemergeOptions,
  EventExportOptions,
  FileOptions,
  JobOptions,
  LookUpOptions,
  ProfileExportOptions,
  RejectLimit,
  SubscribeOptions,
  UploadOptions,
  VerifyOptions,
} from './jobs/job-options.js';
export type {
  DayCounts,
  ExportResult,
  JobProgress,
  RejectedRecord,
  SettledCounts,
  VerifyResult,
  WriteResult,
} from './jobs/results.js';
export { main } from './main.js';
export { EngagectlError, exitCodes, type ExitCode, type ErrorId } from './errors.js';
export { nodeRuntime, type Runtime } from './runtime.js';
