import { checkedBaseUrl } from './config/validation.js';
import { accountOf } from './jobs/library/account.js';
import { nodeRuntime } from './runtime.js';
import type { Account, ConnectOptions } from './jobs/library/api.js';

/**
 * An account of the service. Nothing is sent yet. Throws E-BASE-URL for an address that the passcode
 * must not be sent to.
 */
export const connect = (options: ConnectOptions): Account =>
  accountOf({ ...options, baseUrl: checkedBaseUrl(options.baseUrl, 'baseUrl') }, nodeRuntime);

export { type Account } from './jobs/library/api.js';
export { type ConnectOptions } from './jobs/library/api.js';
export { type Export } from './jobs/library/api.js';
export { type JsonObject } from './jobs/library/api.js';
export { type LookedUpUser } from './jobs/library/api.js';
export { type Run } from './jobs/library/api.js';
export { type Source } from './jobs/library/api.js';
export { type UserIdentifier } from './jobs/library/api.js';
export { type VerifyDifference } from './jobs/library/api.js';
export { type VerifyRun } from './jobs/library/api.js';
export { type WriteRun } from './jobs/library/api.js';
export { type DayFileOptions } from './jobs/job-options.js';
export { type DemergeOptions } from './jobs/job-options.js';
export { type EventExportOptions } from './jobs/job-options.js';
export { type FileOptions } from './jobs/job-options.js';
export { type JobOptions } from './jobs/job-options.js';
export { type LookUpOptions } from './jobs/job-options.js';
export { type ProfileExportOptions } from './jobs/job-options.js';
export { type RejectLimit } from './jobs/job-options.js';
export { type SubscribeOptions } from './jobs/job-options.js';
export { type UploadOptions } from './jobs/job-options.js';
export { type VerifyOptions } from './jobs/job-options.js';
export { type DayCounts } from './jobs/job-results.js';
export { type ExportResult } from './jobs/job-results.js';
export { type JobProgress } from './jobs/job-results.js';
export { type RejectedRecord } from './jobs/job-results.js';
export { type SettledCounts } from './jobs/job-results.js';
export { type VerifyResult } from './jobs/job-results.js';
export { type WriteResult } from './jobs/job-results.js';
export { main } from './main.js';
export { EngagectlError } from './errors.js';
export { exitCodes } from './errors.js';
export { type ExitCode } from './errors.js';
export { type ErrorId } from './errors.js';
export { nodeRuntime } from './runtime.js';
export { type Runtime } from './runtime.js';
