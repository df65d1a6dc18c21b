import type { MediaOptions } from './media.js';
import type { IceCandidate, PeerConnection, SessionDescription } from './peer-connection.js';

/** What the sides tell each other: how they speak, and where they can be reached. */
type Signal = { readonly description: SessionDescription } | { readonly candidate: IceCandidate };

/** The two sides agree how to speak to each other: the initiator offers, the receiver answers. */
export function negotiate(
  peer: PeerConnection,
  { role, sendSignal, onSignal }: MediaOptions,
  fail: (error: unknown) => void,
): void {
  /** Signals are worked off one after the other. */
  let turn: Promise<void> = Promise.resolve();
  /** Where the other side can be reached, learnt before how it speaks. */
  let early: IceCandidate[] | undefined = [];
  const inTurn = (work: () => Promise<void>): void => {
    turn = turn.then(work).catch(fail);
  };
  const say = async (description: SessionDescription): Promise<void> => {
    await peer.setLocalDescription(description);
    const { type, sdp = '' } = description;
    sendSignal({ description: { type, sdp } });
  };
  const hear = async (signal: Signal): Promise<void> => {
    if ('candidate' in signal) {
      if (early) early.push(signal.candidate);
      else await peer.addIceCandidate(signal.candidate);
      return;
    }
    await peer.setRemoteDescription(signal.description);
    for (const candidate of early ?? []) await peer.addIceCandidate(candidate);
    early = undefined;
    if (signal.description.type === 'offer') await say(await peer.createAnswer());
  };
  peer.addEventListener('icecandidate', ({ candidate: found }) => {
    if (found === null) return;
    const { candidate, sdpMid, sdpMLineIndex } = found;
    sendSignal({ candidate: { candidate, sdpMid, sdpMLineIndex } });
  });
  if (role === 'initiator') inTurn(async () => say(await peer.createOffer()));
  onSignal((payload) => inTurn(async () => hear(payload as Signal)));
}
