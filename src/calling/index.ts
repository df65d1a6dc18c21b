// What `engagectl/calling` exports. Nothing here or below imports from Node.

import { SignedCallClient } from './client.js';
import type { SignedCallEnv } from './environment.js';

/** A client of its own: several devices in one process, say. */
export const createSignedCall = (env: SignedCallEnv): SignedCall => new SignedCallClient(env);

/** The client that an app shares; `SignedCall.use(env)` comes first. */
export const SignedCall: SignedCall = new SignedCallClient({ url: '', core: undefined });
export type SignedCall = SignedCallClient;
// oxlint-disable-next-line import/no-default-export -- the specification's apps import it so
export default SignedCall;

export { CallDirection } from './call-event.js';
export { CallEvent } from './call-event.js';
export { type CallProperties } from './call-request.js';
export { type Clock } from './client-clock.js';
export { devicePresets } from './device.js';
export { type DeviceCapabilities } from './device.js';
export { type MissedCall } from './device.js';
export { type ClientTimes } from './environment.js';
export { type SignedCallEnv } from './environment.js';
export { ErrorName } from './errors.js';
export { type InitFinding } from './init-finding.js';
export { type InitRule } from './init-finding.js';
export { type Branding } from './init-properties.js';
export { type InitProperties } from './init-properties.js';
export { type PushPrimer } from './init-properties.js';
export { lintInitProperties } from './lint-init-properties.js';
export { type CallEventResult } from './listeners.js';
export { type IncomingCall } from './listeners.js';
export { type ListenerName } from './listeners.js';
export { type MissedCallActionClickResult } from './listeners.js';
export { type SignedCallState } from './local-call.js';
export { LogLevel } from './logger.js';
export { noMedia } from './media.js';
export { type MediaAdapter } from './media.js';
export { type MediaOptions } from './media.js';
export { type MediaSession } from './media.js';
export { type CallDetails } from './protocol.js';
export { type MissedCallActions } from './protocol.js';
export { type Platform } from './protocol.js';
export { type SignedCallError } from './response.js';
export { type SignedCallResponse } from './response.js';
export { type Socket } from './socket-class.js';
export { type SocketClass } from './socket-class.js';
export { validateCuid } from './cuid.js';
export { type CuidFinding } from './cuid.js';
export { type CuidRule } from './cuid.js';
export { webrtc } from './webrtc.js';
export { type WebrtcOptions } from './webrtc.js';
export { type PeerConnectionClass } from './peer-connection.js';
