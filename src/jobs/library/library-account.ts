import { exportOf } from './export-of.js';
import type {
  DemergeOptions,
  JobOptions,
  SubscribeOptions,
  UploadOptions,
  WriteOptions,
} from '../job-options.js';
import type { Account, ConnectOptions, Source } from './library.js';
import { LibraryWorld, type RuntimeOf } from './library-world.js';
import { lookUpUser, lookUpUsers } from './look-up-users.js';
import { startVerify, startWrite } from './start-run.js';

/** An account to work with. Nothing is sent yet; each job is loaded when it is used. */
export function accountOf(options: ConnectOptions, runtimeOf: RuntimeOf): Account {
  const library = new LibraryWorld(options, runtimeOf);
  const close = () => library.close();
  const write =
    <Options extends WriteOptions>(load: Parameters<typeof startWrite<Options>>[1]) =>
    (source: Source, options?: Options & JobOptions) =>
      startWrite(library, load, { source, options: { ...(options as Options & JobOptions) } });
  return {
    upload: write<UploadOptions>(async () => (await import('../upload-job.js')).upload),
    subscribe: write<SubscribeOptions>(async () => (await import('../subscribe-job.js')).subscribe),
    demerge: write<DemergeOptions>(async () => (await import('../demerge-job.js')).demerge),
    exportProfiles: (query) =>
      exportOf(library, query, async (request, world, hooks) => {
        const { exportProfiles } = await import('../export-profiles-job.js');
        return exportProfiles({ ...query, ...request }, world, hooks);
      }),
    exportEvents: (query) =>
      exportOf(library, query, async (request, world, hooks) => {
        const { exportEvents } = await import('../export-events-job.js');
        return exportEvents({ ...query, ...request }, world, hooks);
      }),
    verify: (source, options = {}) => startVerify(library, source, options),
    getProfile: (user, options = {}) => lookUpUser(library, user, options),
    getProfiles: (source, options = {}) => lookUpUsers(library, source, options),
    close,
    [Symbol.asyncDispose]: close,
  };
}
