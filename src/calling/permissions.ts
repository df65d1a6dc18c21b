import type { DeviceCapabilities } from './device.js';
import type { Environment } from './environment.js';
import type { Fault } from './response.js';

/** Asks for the microphone where that may still help. */
export async function hasMicrophone(device: DeviceCapabilities): Promise<boolean> {
  const answer = device.microphone();
  return answer === 'granted' || (answer === 'prompt' && (await device.requestMicrophone()));
}

/** Android 13 and newer show no incoming call without a permission, for which an app has to ask. */
export async function checkNotifications(env: Environment): Promise<Fault | undefined> {
  const { device, platform } = env;
  if (platform !== 'android' || device.osVersion() < 13 || device.notificationsEnabled())
    return undefined;
  const isGranted = await device.requestNotificationPermission();
  return isGranted ? undefined : { name: 'NOTIFICATION_PERMISSION' };
}
