import { refused } from '../response.js';
import { done, wrong, type Control } from './control-route.js';
import type { Service } from '../service.js';

export const listSnapshots: Control = (_, { snapshots }) =>
  JSON.stringify({ snapshots: snapshots.list() });

/** `PUT /_local/snapshots/<name>` keeps the data as it is now; an older one of this name goes. */
export const saveSnapshot: Control = async ({ rest }, { snapshots, turns }) => {
  const name = checkedName(rest);
  await turns.take(() => snapshots.save(name));
  return done;
};

/** `POST /_local/snapshots/<name>/restore` makes the data what it was then. */
export const changeSnapshot: Control = async ({ rest }, service) => {
  const [, name] = /^(.*)\/restore$/.exec(rest) ?? [];
  if (name === undefined) throw refused(404, 'a snapshot can be restored: POST …/<name>/restore');
  if (!(await service.turns.take(() => restoreSnapshot(service, name)))) throw unknown(name);
  return done;
};

/** False: there is none of this name. Throws the Refusal 400 for what is no name, 409 for a file that cannot be read. */
export function restoreSnapshot(service: Service, name: string): boolean {
  const checked = checkedName(name);
  try {
    const isRestored = replaceData(service, () => service.snapshots.restore(checked));
    if (isRestored) service.lag.clear();
    return isRestored;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!/^(EFORMAT|SQLITE_(NOTADB|CORRUPT|CANTOPEN))/.test(code)) throw error;
    throw refused(409, `the snapshot ${name} cannot be restored: ${message}; nothing has changed`);
  }
}

export const deleteSnapshot: Control = ({ rest }, { snapshots }) => {
  if (!snapshots.remove(checkedName(rest))) throw unknown(rest);
  return done;
};

const unknown = (name: string) => refused(404, `there is no snapshot ${name}`);

/** It becomes a file's name. */
export function checkedName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name;
  throw wrong('name', `"${name}" is not 1 to 64 letters, digits, - and _`);
}

/** Back to the seed: data, calls and registrations, faults, requests seen and the clock. Snapshots stay. */
export async function resetService(service: Service): Promise<string> {
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
const replaceData = <Result>({ calls }: Service, change: () => Result): Result =>
  calls ? calls.restart(change) : change();
