import type { MediaOptions } from './media.js';
import type { IceCandidate, PeerConnection, SessionDescription } from './peer-connection.js';

/** What the sides tell each other: how they speak, and where they can be reached. */
type Signal = { readonly description: SessionDescription } | { readonly candidate: IceCandidate };

/** The two sides agree how to speak to each other: the initiator offers, the receiver answers. */
export class Negotiation {
  readonly #peer: PeerConnection;
  readonly #media: MediaOptions;
  readonly #fail: (error: unknown) => void;
  /** Signals are worked off one after the other. */
  #turn: Promise<void> = Promise.resolve();
  /** Where the other side can be reached, learnt before how it speaks. */
  #early: IceCandidate[] | undefined = [];

  constructor(peer: PeerConnection, media: MediaOptions, fail: (error: unknown) => void) {
    this.#peer = peer;
    this.#media = media;
    this.#fail = fail;
  }

  begin(): void {
    this.#peer.addEventListener('icecandidate', ({ candidate: found }) => {
      if (found === null) return;
      const { candidate, sdpMid, sdpMLineIndex } = found;
      this.#send({ candidate: { candidate, sdpMid, sdpMLineIndex } });
    });
    if (this.#media.role === 'initiator') this.#inTurn(() => this.#offer());
    this.#media.onSignal((payload) => this.#inTurn(() => this.#hear(payload as Signal)));
  }

  #inTurn(work: () => Promise<void>): void {
    this.#turn = this.#turn.then(work).catch(this.#fail);
  }

  #send(signal: Signal): void {
    this.#media.sendSignal(signal);
  }

  async #offer(): Promise<void> {
    await this.#say(await this.#peer.createOffer());
  }

  async #say(description: SessionDescription): Promise<void> {
    await this.#peer.setLocalDescription(description);
    const { type, sdp = '' } = description;
    this.#send({ description: { type, sdp } });
  }

  async #hear(signal: Signal): Promise<void> {
    if ('candidate' in signal) {
      if (this.#early === undefined) await this.#peer.addIceCandidate(signal.candidate);
      else this.#early.push(signal.candidate);
      return;
    }
    await this.#peer.setRemoteDescription(signal.description);
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const candidate of early) await this.#peer.addIceCandidate(candidate);
    if (signal.description.type === 'offer') await this.#say(await this.#peer.createAnswer());
  }
}
