import type { Service } from '../service.js';

/** Changes all data at once, which nobody may work with meanwhile. */
export const replaceData = <Result>({ calls }: Service, change: () => Result): Result =>
  calls ? calls.restart(change) : change();
