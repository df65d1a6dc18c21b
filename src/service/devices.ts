import { createHash } from 'node:crypto';

/** A device as `platformInfo` and an event's profile show it. */
interface Device {
  readonly platform: string;
  readonly os_version: string;
  readonly app_version: string;
  readonly make: string;
  readonly model: string;
}

const devices: readonly Device[] = [
  { platform: 'Android', os_version: '14', app_version: '5.2.1', make: 'Fairphone', model: '5' },
  { platform: 'Android', os_version: '12', app_version: '5.0.0', make: 'Nokia', model: 'G22' },
  { platform: 'iOS', os_version: '17.4', app_version: '5.2.0', make: 'Apple', model: 'iPhone15,2' },
  { platform: 'Web', os_version: '10', app_version: '124', make: 'Firefox', model: 'Desktop' },
];

/**
 * No upload tells what an objectId's device is, and no app reports it here: the service makes one
 * up that is always the same for an objectId. `app` adds the app fields (endpoints 3 and 6).
 */
export function deviceFields(objectId: string, app: boolean): Readonly<Record<string, string>> {
  const index = createHash('sha256').update(objectId).digest().readUInt32BE() % devices.length;
  const { platform, ...appFields } = devices[index] as Device;
  return { objectId, platform, ...(app ? appFields : {}) };
}
