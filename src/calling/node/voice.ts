import process from 'node:process';
import { systemClock, type MediaAdapter } from '../environment.js';
import { resample, type Sound } from './wav.js';
import {
  webrtc,
  type WebrtcOptions,
  type MediaTrack,
  type PeerConnectionClass,
  type TrackStream,
} from '../webrtc.js';

export interface NodeVoiceOptions extends Pick<WebrtcOptions, 'iceServers'> {
  /** What this side says, from the answer on; silence behind it, and by default. */
  readonly play?: Sound;
  /** Takes what the other side says, 10 ms at a time. */
  readonly onVoice?: (sound: Sound) => void;
}

/** Of the package @roamhq/wrtc, what is used here. */
interface Wrtc {
  readonly RTCPeerConnection: PeerConnectionClass;
  readonly MediaStream: new (tracks: MediaTrack[]) => TrackStream;
  readonly nonstandard: {
    readonly RTCAudioSource: new () => AudioSource;
    readonly RTCAudioSink: new (track: MediaTrack) => AudioSink;
  };
}

interface AudioData {
  readonly samples: Int16Array;
  readonly sampleRate: number;
  readonly bitsPerSample: number;
  readonly channelCount: number;
  readonly numberOfFrames: number;
}

interface AudioSource {
  createTrack(): MediaTrack;
  onData(data: AudioData): void;
}

interface AudioSink {
  ondata: ((data: AudioData) => void) | null;
  stop(): void;
}

const rate = 48_000;
const pace = 10;
const samplesAtOnce = (rate / 1000) * pace;

/** Voice by WebRTC in Node, by the package @roamhq/wrtc. Throws an Error when that is not installed. */
export async function nodeVoice(options: NodeVoiceOptions = {}): Promise<MediaAdapter> {
  const wrtc = await load();
  return {
    open: async (media) => {
      const ends: (() => void)[] = [];
      const adapter = webrtc({
        RTCPeerConnection: wrtc.RTCPeerConnection,
        iceServers: options.iceServers ?? [],
        openMicrophone: () => {
          const { stream, end } = playSound(wrtc, options.play);
          ends.push(end);
          return Promise.resolve(stream);
        },
        onVoice: (track) => ends.push(recordTrack(wrtc, track, options.onVoice)),
      });
      const session = await adapter.open(media);
      const close = () => {
        for (const end of ends.splice(0)) end();
        session.close();
      };
      return { connected: session.connected, close };
    },
  };
}

async function load(): Promise<Wrtc> {
  try {
    const { default: wrtc } = (await import('@roamhq/wrtc')) as unknown as { default: Wrtc };
    process.off('exit', exitWithoutCleanup).on('exit', exitWithoutCleanup);
    return wrtc;
  } catch (cause) {
    throw new Error('Voice in Node needs the package @roamhq/wrtc: npm install @roamhq/wrtc', {
      cause,
    });
  }
}

/**
 * Where a source of sound was made, Node crashes when it takes itself down at the end (node-webrtc, issue
 * 636). Within this event, `exit` ends the process without that, and keeps its exit code.
 */
const exitWithoutCleanup = () => process.exit();

/** A stream of the sound, which passes as it would be spoken. */
function playSound(wrtc: Wrtc, play: Sound | undefined): { stream: TrackStream; end: () => void } {
  const samples = play === undefined ? new Int16Array(0) : resample(play, rate);
  const source = new wrtc.nonstandard.RTCAudioSource();
  const stream = new wrtc.MediaStream([source.createTrack()]);
  const began = systemClock.now();
  let said = 0;
  let stop: (() => void) | undefined;
  const speakOn = () => {
    // A late timer is made up for: the sound keeps its pace.
    for (; said * pace <= systemClock.now() - began; said += 1)
      source.onData(pieceOf(samples, said * samplesAtOnce));
    stop = systemClock.after(pace, speakOn);
  };
  speakOn();
  return { stream, end: () => stop?.() };
}

function pieceOf(samples: Int16Array, from: number): AudioData {
  const piece = new Int16Array(samplesAtOnce);
  piece.set(samples.subarray(from, from + samplesAtOnce));
  return {
    samples: piece,
    sampleRate: rate,
    bitsPerSample: 16,
    channelCount: 1,
    numberOfFrames: samplesAtOnce,
  };
}

/** Returns what ends it. */
function recordTrack(
  wrtc: Wrtc,
  track: MediaTrack,
  onVoice: NodeVoiceOptions['onVoice'],
): () => void {
  const sink = new wrtc.nonstandard.RTCAudioSink(track);
  sink.ondata = ({ samples, sampleRate, channelCount }) =>
    onVoice?.({
      rate: sampleRate,
      samples: samples.filter((_, index) => index % channelCount === 0),
    });
  return () => sink.stop();
}
