import {
  CallDirection,
  isTerminal,
  type AckData,
  type ClientFrames,
  type RouterFrames,
} from './protocol.js';
import { faultOfAnswer, type FrameAnswer } from './socket.js';
import { ensureMicrophone, type Environment } from './environment.js';
import type { ActiveCall } from './active-call.js';
import type { RouterConnection } from './connection.js';
import type { CallFault } from './errors.js';

/** A call requested by the app and not yet answered by the router. */
interface Attempt {
  readonly request: ClientFrames['call'];
  isCancelled: boolean;
  /** Events received before the frame is sent belong to an earlier attempt, possibly with the same arguments. */
  isSent: boolean;
  /** Id from an event that arrived before the router's answer. */
  callId: string | undefined;
}

interface PlacementOptions {
  readonly env: Environment;
  readonly cuid: string;
  readonly activeCall: () => ActiveCall;
  readonly connection: () => RouterConnection;
}

/** Places calls, one at a time. */
export class CallPlacement {
  readonly #options: PlacementOptions;
  #attempt: Attempt | undefined;
  /** Attempt without an answer, reported as failed to the app; the call may exist at the router. */
  #abandoned: ClientFrames['call'] | undefined;
  #abandonedId: string | undefined;

  constructor(options: PlacementOptions) {
    this.#options = options;
  }

  get isPlacing(): boolean {
    return this.#attempt !== undefined;
  }

  /** Places a call; returns undefined on success. */
  async place(request: ClientFrames['call']): Promise<CallFault | undefined> {
    const attempt: Attempt = { request, isCancelled: false, isSent: false, callId: undefined };
    this.#attempt = attempt;
    try {
      return (await this.#prepare(attempt)) ?? (await this.#send(attempt));
    } finally {
      this.#attempt = undefined;
    }
  }

  /** Cancels an attempt that has not been sent to the router yet. */
  cancel(): void {
    if (this.#attempt !== undefined) this.#attempt.isCancelled = true;
  }

  /**
   * Returns whether to report an event of an outgoing call that is not the current call. The call of the
   * pending attempt becomes the current call; an abandoned call is hung up and not reported; a call of an
   * earlier session is only reported.
   */
  acceptsEvent(frame: RouterFrames['event']): boolean {
    if (frame.callId === this.#abandonedId) return false;
    const attempt = this.#attempt;
    if (attempt?.isSent && attempt.callId === undefined && isOf(attempt.request, frame)) {
      attempt.callId = frame.callId;
      if (!isTerminal(frame.event)) this.#begin(frame.details);
      return true;
    }
    if (this.#abandoned !== undefined && isOf(this.#abandoned, frame)) {
      this.#abandoned = undefined;
      this.#abandonedId = frame.callId;
      void this.#options.connection().post('hangup', { callId: frame.callId });
      return false;
    }
    return true;
  }

  /** Checks the microphone, the connection and its latency. */
  async #prepare(attempt: Attempt): Promise<CallFault | undefined> {
    const { env, connection } = this.#options;
    if (!(await ensureMicrophone(env.device))) return { name: 'MIC_DENIED' };
    if (!connection().isUp) return { name: 'NO_NETWORK' };
    const { kind } = await connection().request('probe', {}, env.times.latency);
    if (kind === 'timeout') return { name: 'BAD_NETWORK' };
    if (kind === 'lost') return { name: 'NO_NETWORK' };
    if (this.#options.activeCall().call !== undefined) return { name: 'CALL_IN_PROGRESS' };
    if (!attempt.isCancelled) return undefined;
    return { name: 'CALL_FAILED', detail: 'It was hung up before it was placed' };
  }

  async #send(attempt: Attempt): Promise<CallFault | undefined> {
    const { env, connection } = this.#options;
    attempt.isSent = true;
    const answer = await connection().request('call', attempt.request, env.times.placement);
    if (attempt.callId !== undefined) return undefined;
    if (answer.kind === 'timeout' || answer.kind === 'lost') this.#abandoned = attempt.request;
    if (answer.kind === 'timeout') return { name: 'RECEIVER_NETWORK_LOST' };
    const fault = faultOfAnswer(answer);
    if (fault === undefined) this.#placed(attempt.request, answer);
    return fault;
  }

  #placed({ to, context, ...images }: ClientFrames['call'], answer: FrameAnswer): void {
    this.#abandoned = undefined;
    const { callId } = (answer as { readonly data: AckData['call'] }).data;
    const callerCuid = this.#options.cuid;
    const call = { callId, callerCuid, calleeCuid: to, callContext: context, ...images };
    this.#begin({ ...call, channel: 'Socket' });
  }

  #begin(details: RouterFrames['event']['details']): void {
    this.#options.activeCall().begin(details, CallDirection.Outgoing);
  }
}

const isOf = (request: ClientFrames['call'], { details }: RouterFrames['event']): boolean =>
  details.calleeCuid === request.to && details.callContext === request.context;
