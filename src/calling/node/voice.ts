import process from 'node:process';
import { inspect } from 'node:util';
import { systemClock, type MediaAdapter } from '../environment.js';
import { resample, type Sound } from './wav.js';
import {
  webrtc,
  type WebrtcOptions,
  type MediaTrack,
  type PeerConnectionClass,
  type TrackStream,
} from '../webrtc.js';

export interface NodeVoiceOptions extends Pick<WebrtcOptions, 'iceServers' | 'iceTransportPolicy'> {
  /** Sound to send, from the answer on, followed by silence. Default: silence. */
  readonly play?: Sound;
  /** Receives the sound of the other side in pieces of 10 ms. */
  readonly onVoice?: (sound: Sound) => void;
}

/** Subset of the package @roamhq/wrtc. */
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
const pieceMs = 10;
const pieceSamples = (rate / 1000) * pieceMs;
const mostLateMs = 1000;

/** Creates a media adapter for Node with the package @roamhq/wrtc. Throws an Error if it is not installed. */
export async function nodeVoice(options: NodeVoiceOptions = {}): Promise<MediaAdapter> {
  const wrtc = await load();
  return {
    open: async (media) => {
      const ends: (() => void)[] = [];
      const adapter = webrtc({
        RTCPeerConnection: wrtc.RTCPeerConnection,
        ...(options.iceServers && { iceServers: options.iceServers }),
        ...(options.iceTransportPolicy && { iceTransportPolicy: options.iceTransportPolicy }),
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
      return { ...session, close };
    },
  };
}

async function load(): Promise<Wrtc> {
  try {
    const { default: wrtc } = (await import('@roamhq/wrtc')) as unknown as { default: Wrtc };
    process.off('exit', exitWithoutCleanup).on('exit', exitWithoutCleanup);
    const monitor = 'uncaughtExceptionMonitor';
    process.off(monitor, printUncaught).on(monitor, printUncaught);
    return wrtc;
  } catch (cause) {
    throw new Error('Voice in Node requires the package @roamhq/wrtc: npm install @roamhq/wrtc', {
      cause,
    });
  }
}

/**
 * Node crashes during its cleanup if a sound source was created (node-webrtc, issue 636). Calling `exit` inside
 * the `exit` event skips the cleanup and keeps the exit code.
 */
const exitWithoutCleanup = () => process.exit();

/** Node prints an error that nobody handles only after the `exit` event, which `exitWithoutCleanup` ends. */
const printUncaught = (error: unknown) => {
  if (process.listenerCount('uncaughtException') > 0) return;
  process.stderr.write(`${inspect(error)}\n`);
};

/** Returns a stream that plays the sound in real time, and a function that stops it. */
function playSound(wrtc: Wrtc, play: Sound | undefined): { stream: TrackStream; end: () => void } {
  const samples = play === undefined ? new Int16Array(0) : resample(play, rate);
  const source = new wrtc.nonstandard.RTCAudioSource();
  const stream = new wrtc.MediaStream([source.createTrack()]);
  let began = systemClock.now();
  let played = 0;
  let stop: (() => void) | undefined;
  const playNext = () => {
    // Goes on where it was after the clock jumped, or the process was stopped.
    const lateMs = systemClock.now() - began - played * pieceMs;
    if (Math.abs(lateMs) > mostLateMs) began += lateMs;
    // Catches up after a late timer.
    for (; played * pieceMs <= systemClock.now() - began; played += 1)
      source.onData(pieceOf(samples, played * pieceSamples));
    stop = systemClock.after(pieceMs, playNext);
  };
  playNext();
  return { stream, end: () => stop?.() };
}

function pieceOf(samples: Int16Array, from: number): AudioData {
  const piece = new Int16Array(pieceSamples);
  piece.set(samples.subarray(from, from + pieceSamples));
  return {
    samples: piece,
    sampleRate: rate,
    bitsPerSample: 16,
    channelCount: 1,
    numberOfFrames: pieceSamples,
  };
}

/** Passes received sound to `onVoice`; returns a function that stops it. */
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
