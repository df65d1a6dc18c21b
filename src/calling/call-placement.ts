import {
  CallDirection,
  isTerminal,
  type AckData,
  type CallDetails,
  type ClientFrames,
  type RouterFrames,
} from './protocol.js';
import { failureOfAnswer } from './socket.js';
import type { Environment } from './environment.js';
import type { ActiveCall } from './active-call.js';
import type { RouterConnection } from './connection.js';
import type { CallFailure } from './errors.js';

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
  #pending: Promise<unknown> = Promise.resolve();
  /** Attempt without an answer, reported as failed to the app; the call may exist at the router. */
  #abandoned: ClientFrames['call'] | undefined;
  #abandonedId: string | undefined;

  constructor(options: PlacementOptions) {
    this.#options = options;
  }

  get isPlacing(): boolean {
    return this.#attempt !== undefined;
  }

  /** Resolves when no call is being placed. */
  get pending(): Promise<unknown> {
    return this.#pending;
  }

  /** Places a call; returns undefined on success. */
  place(request: ClientFrames['call']): Promise<CallFailure | undefined> {
    const attempt: Attempt = { request, isCancelled: false, isSent: false, callId: undefined };
    this.#attempt = attempt;
    const placed = this.#place(attempt).finally(() => {
      this.#attempt = undefined;
    });
    this.#pending = placed.catch(() => undefined);
    return placed;
  }

  async #place(attempt: Attempt): Promise<CallFailure | undefined> {
    return (await this.#prepare(attempt)) ?? (await this.#send(attempt));
  }

  /** Cancels a pending attempt: it is not sent, or hung up as soon as its id is known. */
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
      if (!isTerminal(frame.event)) this.#begin(attempt, frame.details);
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

  /** Checks the microphone, the connection and its latency, and waits for replayed frames. */
  async #prepare(attempt: Attempt): Promise<CallFailure | undefined> {
    const { env, connection } = this.#options;
    if (!(await env.device.ensureMicrophone())) return { name: 'MIC_DENIED' };
    if (!connection().isUp) return { name: 'NO_NETWORK' };
    const { kind } = await connection().request('probe', {}, env.times.latency);
    if (kind === 'timeout') return { name: 'BAD_NETWORK' };
    if (kind === 'lost') return { name: 'NO_NETWORK' };
    // The answer may overtake replayed frames, of which one may be the end of a call with the same arguments.
    await this.#upBefore(env.clock.now() + env.times.latency);
    if (this.#options.activeCall().call !== undefined) return { name: 'CALL_IN_PROGRESS' };
    return attempt.isCancelled ? hungUp : undefined;
  }

  /**
   * Sends the request. If the socket is lost before the answer, the frames replayed after a reconnect show whether
   * the router has the call; otherwise the request is sent again. Both only within the placement timeout.
   */
  async #send(attempt: Attempt): Promise<CallFailure | undefined> {
    const { env, connection } = this.#options;
    const deadline = env.clock.now() + env.times.placement;
    for (;;) {
      attempt.isSent = true;
      const left = Math.max(0, deadline - env.clock.now());
      const answer = await connection().request('call', attempt.request, left);
      if (attempt.callId !== undefined) return undefined;
      if (answer.kind === 'ok') return this.#placed(attempt, answer.data);
      if (answer.kind === 'refused') return failureOfAnswer(answer);
      if (answer.kind === 'lost') {
        await this.#upBefore(deadline);
        if (attempt.callId !== undefined) return undefined;
        if (connection().isUp && attempt.isCancelled) return hungUp;
        if (!connection().isClosed && env.clock.now() < deadline) continue;
      }
      this.#abandoned = attempt.request;
      return { name: answer.kind === 'lost' ? 'NO_NETWORK' : 'RECEIVER_NETWORK_LOST' };
    }
  }

  /** Resolves when the client is connected again, at the latest at the deadline. */
  #upBefore(deadline: number): Promise<void> {
    const { env, connection } = this.#options;
    return new Promise((resolve) => {
      const stop = env.clock.after(Math.max(0, deadline - env.clock.now()), resolve);
      void connection().whenUp().finally(stop).then(resolve);
    });
  }

  #placed(attempt: Attempt, data: unknown): CallFailure | undefined {
    const { to, context, ...images } = attempt.request;
    if (!isPlacement(data)) {
      this.#abandoned = attempt.request; // the router may have placed it
      return { name: 'NO_NETWORK', detail: 'The router answered call without a callId' };
    }
    this.#abandoned = undefined;
    const { callId } = data;
    const callerCuid = this.#options.cuid;
    const call = { callId, callerCuid, calleeCuid: to, callContext: context, ...images };
    this.#begin(attempt, { ...call, channel: 'Socket' });
    return undefined;
  }

  #begin({ isCancelled }: Attempt, details: CallDetails): void {
    this.#options.activeCall().begin(details, CallDirection.Outgoing);
    if (isCancelled) this.#options.activeCall().hangup();
  }
}

/** Whether an answer to `call` has the id of the call. */
const isPlacement = (data: unknown): data is AckData['call'] =>
  typeof (Object(data) as Partial<AckData['call']>).callId === 'string';

const hungUp: CallFailure = { name: 'CALL_FAILED', detail: 'It was hung up before it was placed' };

const isOf = (request: ClientFrames['call'], { details }: RouterFrames['event']): boolean =>
  details.calleeCuid === request.to && details.callContext === request.context;
