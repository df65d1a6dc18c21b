// What `engagectl/calling` exports. Nothing here or below imports from Node.
import { SignedCallClient } from './signed-call-client.js';
import type { SignedCallEnv } from './environment.js';

/** A client of its own: several devices in one process, say. */
export const createSignedCall = (env: SignedCallEnv): SignedCall => new SignedCallClient(env);

/** The client that an app shares; `SignedCall.use(env)` comes first. */
export const SignedCall: SignedCall = new SignedCallClient({ url: '', core: undefined });
export type SignedCall = SignedCallClient;
// oxlint-disable-next-line import/no-default-export -- the specification's apps import it so
export default SignedCall;

export { CallDirection, CallEvent } from './call-event.js';
export type { CallProperties } from './check-call.js';
export type { Clock } from './client-clock.js';
export { devicePresets, type DeviceCapabilities, type MissedCall } from './device.js';
export type { ClientTimes, SignedCallEnv } from './environment.js';
export { ErrorName } from './error-table.js';
export type { InitFinding, InitRule } from './init-finding.js';
export type { Branding, InitProperties, PushPrimer } from './init-properties.js';
export { lintInitProperties } from './lint-init-properties.js';
export type {
  CallEventResult,
  IncomingCall,
  ListenerName,
  MissedCallActionClickResult,
} from './listeners.js';
export type { SignedCallState } from './local-call.js';
export { LogLevel } from './logger.js';
export { noMedia, type MediaAdapter, type MediaOptions, type MediaSession } from './media.js';
export type { CallDetails, MissedCallActions, Platform } from './protocol.js';
export type { SignedCallError, SignedCallResponse } from './response.js';
export type { Socket, SocketClass } from './socket-class.js';
export { validateCuid, type CuidFinding, type CuidRule } from './validate-cuid.js';
export { webrtc, type WebrtcOptions } from './webrtc.js';
export type { PeerConnectionClass } from './peer-connection.js';
