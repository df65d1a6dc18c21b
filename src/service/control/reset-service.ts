import type { Service } from '../service.js';
import { done } from './control-route.js';
import { replaceData } from './replace-data.js';

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
