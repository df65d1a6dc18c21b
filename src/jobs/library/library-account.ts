import { exportOf } from './account.js';
import { LibraryWorld, type RuntimeOf } from './library-context.js';
import { lookUpUser, lookUpUsers } from './look-up-users.js';
import { startVerify, startWrite } from './start-run.js';
import type {
  DemergeOptions,
  JobOptions,
  SubscribeOptions,
  UploadOptions,
  WriteOptions,
} from '../job-options.js';
import type { Account, ConnectOptions, Source } from './api.js';

/** An account to work with. Nothing is sent yet; each job is loaded when it is used. */
export function accountOf(options: ConnectOptions, runtimeOf: RuntimeOf): Account {
  const library = new LibraryWorld(options, runtimeOf);
  const close = () => library.close();
  const write =
    <Options extends WriteOptions>(load: Parameters<typeof startWrite<Options>>[1]) =>
    (source: Source, options?: Options & JobOptions) =>
      startWrite(library, load, { source, options: { ...(options as Options & JobOptions) } });
  return {
    upload: write<UploadOptions>(async () => (await import('../write/upload.js')).upload),
    subscribe: write<SubscribeOptions>(
      async () => (await import('../write/subscribe.js')).subscribe,
    ),
    demerge: write<DemergeOptions>(async () => (await import('../write/demerge.js')).demerge),
    exportProfiles: (query) =>
      exportOf(library, query, async (request, world, hooks) => {
        const { exportProfiles } = await import('../export/export-profiles.js');
        return exportProfiles({ ...query, ...request }, world, hooks);
      }),
    exportEvents: (query) =>
      exportOf(library, query, async (request, world, hooks) => {
        const { exportEvents } = await import('../export/export-events.js');
        return exportEvents({ ...query, ...request }, world, hooks);
      }),
    verify: (source, options = {}) => startVerify(library, source, options),
    getProfile: (user, options = {}) => lookUpUser(library, user, options),
    getProfiles: (source, options = {}) => lookUpUsers(library, source, options),
    close,
    [Symbol.asyncDispose]: close,
  };
}
