import { requestError } from '../response.js';
import { done, badRequest, type ControlHandler } from './control-route.js';
import type { ServiceContext } from '../service.js';

export const listSnapshots: ControlHandler = (_, { snapshots }) =>
  JSON.stringify({ snapshots: snapshots.list() });

/** `PUT /_local/snapshots/<name>` keeps the data as it is now; an older one of this name goes. */
export const saveSnapshot: ControlHandler = async ({ rest }, { snapshots, turns }) => {
  const name = validSnapshotName(rest);
  await turns.take(() => snapshots.save(name));
  return done;
};

/** `POST /_local/snapshots/<name>/restore` makes the data what it was then. */
export const restoreSnapshotRoute: ControlHandler = async ({ rest }, service) => {
  const [, name] = /^(.*)\/restore$/.exec(rest) ?? [];
  if (name === undefined)
    throw requestError(404, 'a snapshot can be restored: POST …/<name>/restore');
  if (!(await service.turns.take(() => restoreSnapshot(service, name)))) throw unknown(name);
  return done;
};

/** False: there is none of this name. Throws the Refusal 400 for what is no name, 409 for a file that cannot be read. */
export function restoreSnapshot(service: ServiceContext, name: string): boolean {
  const checked = validSnapshotName(name);
  try {
    const isRestored = replaceData(service, () => service.snapshots.restore(checked));
    if (isRestored) service.lag.clear();
    return isRestored;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!/^(EFORMAT|SQLITE_(NOTADB|CORRUPT|CANTOPEN))/.test(code)) throw error;
    throw requestError(
      409,
      `the snapshot ${name} cannot be restored: ${message}; nothing has changed`,
    );
  }
}

export const deleteSnapshot: ControlHandler = ({ rest }, { snapshots }) => {
  if (!snapshots.remove(validSnapshotName(rest))) throw unknown(rest);
  return done;
};

const unknown = (name: string) => requestError(404, `there is no snapshot ${name}`);

/** It becomes a file's name. */
export function validSnapshotName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name;
  throw badRequest('name', `"${name}" is not 1 to 64 letters, digits, - and _`);
}

/** Back to the seed: data, calls and registrations, faults, requests seen and the clock. Snapshots stay. */
export async function resetService(service: ServiceContext): Promise<string> {
  const { store, faults, requests, clock, lag, turns } = service;
  faults.clear();
  requests.clear();
  clock.release();
  await turns.take(() => {
    lag.clear();
    replaceData(service, () => store.clear());
    return service.plantSeed();
  });
  return done;
}

/** Changes all data at once, which nobody may work with meanwhile. */
const replaceData = <Result>({ calls }: ServiceContext, change: () => Result): Result =>
  calls ? calls.restart(change) : change();
