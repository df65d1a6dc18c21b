import { requestError } from '../response.js';
import { done, badRequest, type ControlHandler } from './control-route.js';
import type { ServiceContext } from '../service.js';

export const listSnapshots: ControlHandler = (_, { snapshots }) =>
  JSON.stringify({ snapshots: snapshots.list() });

/** Handles `PUT /_local/snapshots/<name>`: saves the data, replacing a snapshot of this name. */
export const saveSnapshot: ControlHandler = async ({ rest }, { snapshots, mutex }) => {
  const name = validSnapshotName(rest);
  await mutex.run(() => snapshots.save(name));
  return done;
};

/** Handles `POST /_local/snapshots/<name>/restore`: replaces the data with that of a snapshot. */
export const restoreSnapshotRoute: ControlHandler = async ({ rest }, service) => {
  const [, name] = /^(.*)\/restore$/.exec(rest) ?? [];
  if (name === undefined)
    throw requestError(404, 'Not found: to restore a snapshot, POST …/<name>/restore');
  if (!(await service.mutex.run(() => restoreSnapshot(service, name)))) throw unknown(name);
  return done;
};

/** Resolves with false if the snapshot does not exist. Rejects with RequestError 400 for an invalid name, 409 for an unreadable file. */
export async function restoreSnapshot(service: ServiceContext, name: string): Promise<boolean> {
  const checked = validSnapshotName(name);
  try {
    const isRestored = await replaceData(service, () => service.snapshots.restore(checked));
    if (isRestored) service.lag.clear();
    return isRestored;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!/^(EFORMAT|SQLITE_(NOTADB|CORRUPT|CANTOPEN))/.test(code)) throw error;
    throw requestError(409, `cannot restore the snapshot ${name}: ${message}; nothing has changed`);
  }
}

export const deleteSnapshot: ControlHandler = ({ rest }, { snapshots }) => {
  if (!snapshots.remove(validSnapshotName(rest))) throw unknown(rest);
  return done;
};

const unknown = (name: string) => requestError(404, `snapshot ${name} does not exist`);

/** Returns the name, which becomes a file name; throws RequestError 400 if it is invalid. */
export function validSnapshotName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name;
  throw badRequest('name', `"${name}" is not 1 to 64 letters, digits, - and _`);
}

/** Resets data, calls, registrations, faults, settings, the request log and the clock to the start. Keeps snapshots. */
export async function resetService(service: ServiceContext): Promise<string> {
  const { store, faults, settings, requests, clock, lag, mutex } = service;
  faults.clear();
  requests.clear();
  settings.reset();
  clock.release();
  service.calls?.steering.clear();
  await mutex.run(async () => {
    lag.clear();
    await replaceData(service, () => store.clear());
    return service.loadSeed();
  });
  return done;
}

/** Replaces all data; restarts the calling system, which caches some of it. */
const replaceData = <Result>(
  { calls }: ServiceContext,
  change: () => Promise<Result>,
): Promise<Result> => (calls ? calls.restart(change) : change());
