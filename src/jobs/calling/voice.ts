import path from 'node:path';
import { lstatSync } from 'node:fs';
import { readWav, resample, writeWav, type Sound } from '../../calling/node/wav.js';
import type { NodeVoiceOptions } from '../../calling/node/voice.js';
import { EngagectlError } from '../../errors.js';
import { AtomicFile } from '../../files/atomic-write.js';
import { fileReadError, fileWriteError } from '../../files/file-errors.js';
import { refuseForeignLink } from '../../files/path-checks.js';
import { readWhole } from '../../files/read-file.js';
import type { MediaAdapter } from '../../calling/environment.js';
import type { JobContext } from '../job-context.js';
import type { Runtime } from '../../runtime.js';

interface VoiceOptions {
  /** WAV file to play to the other side. */
  readonly play?: string;
  /** WAV file to record the other side to. */
  readonly record?: string;
}

/** Voice of a phone. `close` publishes the recording. */
export interface Voice {
  /** Undefined if calls have no voice. */
  readonly media: MediaAdapter | undefined;
  close(): Promise<void>;
}

/**
 * Opens the voice of a phone. Throws E-USAGE without the voice package, E-FILE-READ, E-FORMAT,
 * E-FILE-WRITE, E-OUTPUT-EXISTS.
 */
export async function openVoice(
  { play, record }: VoiceOptions,
  { runtime: { cwd, uid, signal } }: Pick<JobContext, 'runtime'>,
): Promise<Voice> {
  if (play === undefined && record === undefined) {
    return { media: undefined, close: () => Promise.resolve() };
  }
  const sound = play === undefined ? undefined : await soundOf(play, { cwd, signal });
  const recording = record === undefined ? undefined : Recording.open(record, { cwd, uid });
  const media = await voiceOf({
    ...(sound && { play: sound }),
    ...(recording && { onVoice: (samples) => recording.add(samples) }),
  }).catch((error: unknown) => {
    recording?.discard();
    throw error;
  });
  return { media, close: async () => recording?.close() };
}

/** Sends a tone in a call, and measures the tone of the other side. */
export interface ToneVoice {
  readonly media: MediaAdapter;
  /** Resolves when enough of the other side has been heard to measure it. */
  readonly heard: Promise<void>;
  /** Frequency in Hz of the last second; undefined if less was heard. */
  frequency(): number | undefined;
}

/** Amplitude of a tone that is sent, and below which nothing counts as heard. */
const toneAmplitude = 8000;
const silence = 500;
/** Longer than any test; each side sends its tone from the answer on. */
const toneSeconds = 60;
/** The first third of a second may still be swinging in. */
const heardSeconds = 1.3;

/** Creates the voice of a tone. Throws E-USAGE without the voice package. */
export async function toneVoice(hertz: number): Promise<ToneVoice> {
  const samples = Int16Array.from(
    { length: recordedRate * toneSeconds },
    (_, at) => toneAmplitude * Math.sin((2 * Math.PI * hertz * at) / recordedRate),
  );
  let all: number[] = [];
  let report: (() => void) | undefined;
  const heard = new Promise<void>((resolve) => (report = resolve));
  const onVoice = (sound: Sound): void => {
    if (all.length === 0 && sound.samples.every((sample) => Math.abs(sample) < silence)) return;
    if (all.length > recordedRate * heardSeconds) return report?.();
    all = all.concat(...resample(sound, recordedRate));
  };
  const media = await voiceOf({ play: { rate: recordedRate, samples }, onVoice });
  return { media, heard, frequency: () => frequencyOf(all.slice(-recordedRate)) };
}

/** Counts the rising zero crossings of a second of sound. */
function frequencyOf(samples: readonly number[]): number | undefined {
  const rises = samples.flatMap((sample, at) => {
    const before = samples[at - 1] ?? 0;
    return before < 0 && sample >= 0 ? [at - sample / (sample - before)] : [];
  });
  if (samples.length < recordedRate || rises.length < 2) return undefined;
  return (recordedRate * (rises.length - 1)) / (rises.at(-1)! - rises[0]!);
}

/** Throws E-USAGE without the voice package. */
async function voiceOf(options: NodeVoiceOptions): Promise<MediaAdapter> {
  const { nodeVoice } = await import('../../calling/node/voice.js');
  return nodeVoice(options).catch((cause: unknown) => {
    throw new EngagectlError('E-USAGE', 'voice requires the package @roamhq/wrtc', {
      why: (cause as Error).message,
      fix: 'npm install @roamhq/wrtc, or call without voice',
      cause,
    });
  });
}

async function soundOf(
  file: string,
  { cwd, signal }: Pick<JobContext['runtime'], 'cwd' | 'signal'>,
): Promise<Sound> {
  const bytes = await readWhole(path.resolve(cwd, file), signal, longestSound).catch(
    (cause: unknown) => {
      if (cause instanceof EngagectlError) throw cause;
      throw fileReadError(file, 'name a readable WAV file', cause);
    },
  );
  try {
    return readWav(bytes);
  } catch (cause) {
    throw new EngagectlError('E-FORMAT', `${file}: ${(cause as Error).message}`, {
      why: 'expected a WAV file with 16-bit samples',
      fix: 'convert it, for example: ffmpeg -i in.mp3 -ac 1 -sample_fmt s16 out.wav',
      file,
    });
  }
}

/** Maximum bytes of a sound: hours, and no device that never ends. */
const longestSound = 1 << 30;

const sizeAt = 4;
const dataSizeAt = 40;

/** A WAV file that is written during the call and published at its end. */
class Recording {
  readonly #temporary: AtomicFile;
  readonly #name: string;
  #bytes = 0;
  #failure: unknown;

  /** Throws E-OUTPUT-EXISTS; E-FILE-WRITE, also for a path through a link of another user than `uid`. */
  static open(name: string, { cwd, uid }: Pick<Runtime, 'cwd' | 'uid'>): Recording {
    const target = path.resolve(cwd, name);
    const place = { name, what: 'the recording', option: '--record <file.wav>' };
    refuseForeignLink(target, place, { uid });
    try {
      // A symbolic link counts as existing, whatever its target.
      if (!lstatSync(target, { throwIfNoEntry: false })) {
        return new Recording(name, new AtomicFile(target));
      }
    } catch (error) {
      throw notWritten(name, error);
    }
    throw existsAlready(name, {
      why: 'a recording does not replace existing files',
      fix: 'remove it, or choose another --record',
    });
  }

  private constructor(name: string, temporary: AtomicFile) {
    this.#name = name;
    this.#temporary = temporary;
  }

  /** Appends sound. The first piece includes the header. */
  add(sound: Sound): void {
    if (this.#failure !== undefined) return;
    // WebRTC changes the sample rate after the first pieces.
    const samples = resample(sound, recordedRate);
    const piece =
      this.#bytes > 0
        ? Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)
        : Buffer.from(writeWav({ rate: recordedRate, samples }));
    try {
      this.#temporary.write(piece);
      this.#bytes += piece.length;
    } catch (error) {
      this.#failure = error; // thrown by `close`, so that the call continues
    }
  }

  /** Throws E-FILE-WRITE, and E-OUTPUT-EXISTS if the name was taken during the call, as by the other phone. */
  close(): void {
    if (this.#bytes === 0) this.add({ rate: recordedRate, samples: new Int16Array(0) });
    try {
      if (this.#failure !== undefined) throw this.#failure;
      this.#temporary.write(sizeField(this.#bytes - 8), sizeAt);
      this.#temporary.write(sizeField(this.#bytes - dataSizeAt - 4), dataSizeAt);
      this.#temporary.commit({ overwrite: false, keepIfTaken: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw notWritten(this.#name, error);
      throw existsAlready(this.#name, {
        why: 'it was created during the call',
        fix: `the recording is in ${this.#temporary.path}: rename that file`,
      });
    }
  }

  discard(): void {
    this.#temporary.discard();
  }
}

function sizeField(size: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(size);
  return bytes;
}

const recordedRate = 48_000;

const existsAlready = (
  file: string,
  advice: { readonly why: string; readonly fix: string },
): EngagectlError =>
  new EngagectlError('E-OUTPUT-EXISTS', `${file} already exists`, { ...advice, file });

const notWritten = (file: string, cause: unknown): EngagectlError =>
  fileWriteError({ file, done: 'written', option: () => '--record' }, cause);
