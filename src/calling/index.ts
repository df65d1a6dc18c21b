// Exports of `engagectl/calling`. Nothing here or below imports from Node.

import { SignedCallClient } from './client.js';
import type { SignedCallEnv } from './environment.js';

/** Creates an isolated client, for example one of several devices in one process. */
export const createSignedCall = (env: SignedCallEnv): SignedCall => new SignedCallClient(env);

/** Client shared by an app; call `SignedCall.use(env)` first. */
export const SignedCall: SignedCall = new SignedCallClient({ url: '', core: undefined });
export type SignedCall = SignedCallClient;
// oxlint-disable-next-line import/no-default-export -- apps of the specification use the default import
export default SignedCall;

export {
  CallDirection,
  CallEvent,
  type CallDetails,
  type MissedCallActions,
  type Platform,
} from './protocol.js';
export { type CallProperties } from './call-request.js';
export {
  devicePresets,
  type DeviceCapabilities,
  type MissedCall,
  type Permission,
} from './device.js';
export {
  type CallStats,
  type Clock,
  type ClientTimes,
  type SignedCallEnv,
  noMedia,
  type MediaAdapter,
  type MediaOptions,
  type MediaSession,
  type Socket,
  type SocketClass,
} from './environment.js';
export { LogLevel } from './logger.js';
export { ErrorName, type SignedCallError, type SignedCallResponse } from './errors.js';
export {
  type InitFinding,
  type InitRule,
  type Branding,
  type InitProperties,
  type PushPrimer,
  lintInitProperties,
} from './init-properties.js';
export {
  type CallEventResult,
  type ConnectionResult,
  type NetworkQuality,
  type NetworkQualityResult,
  type IncomingCall,
  type ListenerName,
  type MissedCallActionClickResult,
} from './listeners.js';
export { type SignedCallState } from './active-call.js';
export { validateCuid, type CuidFinding, type CuidRule } from './cuid.js';
export { webrtc, type WebrtcOptions, type PeerConnectionClass } from './webrtc.js';
