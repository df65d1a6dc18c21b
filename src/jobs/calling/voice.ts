import path from 'node:path';
import { lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { readWav, resample, writeWav, type Sound } from '../../calling/node/wav.js';
import { EngagectlError } from '../../errors.js';
import { FileDraft } from '../../files/atomic-write.js';
import { fileErrorReason, fileWriteError } from '../../files/file-errors.js';
import type { MediaAdapter } from '../../calling/environment.js';
import type { JobContext } from '../job-context.js';

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
  { runtime: { cwd } }: Pick<JobContext, 'runtime'>,
): Promise<Voice> {
  if (play === undefined && record === undefined) {
    return { media: undefined, close: () => Promise.resolve() };
  }
  const sound = play === undefined ? undefined : await soundOf(play, cwd);
  const { nodeVoice } = await import('../../calling/node/voice.js');
  const recording = record === undefined ? undefined : Recording.open(record, cwd);
  const media = await nodeVoice({
    ...(sound && { play: sound }),
    ...(recording && { onVoice: (samples) => recording.add(samples) }),
  }).catch(async (cause: unknown) => {
    recording?.discard();
    throw new EngagectlError('E-USAGE', 'voice requires the package @roamhq/wrtc', {
      why: (cause as Error).message,
      fix: 'npm install @roamhq/wrtc, or omit --play and --record',
      cause,
    });
  });
  return { media, close: async () => recording?.close() };
}

async function soundOf(file: string, cwd: string): Promise<Sound> {
  const bytes = await readFile(path.resolve(cwd, file)).catch((cause: unknown) => {
    throw new EngagectlError('E-FILE-READ', `${file} cannot be read`, {
      why: fileErrorReason(cause),
      fix: 'name a readable WAV file',
      file,
      cause,
    });
  });
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

const sizeAt = 4;
const dataSizeAt = 40;

/** A WAV file that is written during the call and published at its end. */
class Recording {
  readonly #draft: FileDraft;
  readonly #name: string;
  #bytes = 0;
  #failure: unknown;

  static open(name: string, cwd: string): Recording {
    const target = path.resolve(cwd, name);
    try {
      // A symbolic link counts as existing, whatever its target.
      if (!lstatSync(target, { throwIfNoEntry: false })) {
        return new Recording(name, new FileDraft(target));
      }
    } catch (error) {
      throw notWritten(name, error);
    }
    throw new EngagectlError('E-OUTPUT-EXISTS', `${name} already exists`, {
      why: 'a recording does not replace existing files',
      fix: 'remove it, or choose another --record',
      file: name,
    });
  }

  private constructor(name: string, draft: FileDraft) {
    this.#name = name;
    this.#draft = draft;
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
      this.#draft.write(piece);
      this.#bytes += piece.length;
    } catch (error) {
      this.#failure = error; // thrown by `close`, so that the call continues
    }
  }

  /** Throws E-FILE-WRITE. */
  close(): void {
    if (this.#bytes === 0) this.add({ rate: recordedRate, samples: new Int16Array(0) });
    try {
      if (this.#failure !== undefined) throw this.#failure;
      this.#draft.write(sizeField(this.#bytes - 8), sizeAt);
      this.#draft.write(sizeField(this.#bytes - dataSizeAt - 4), dataSizeAt);
      this.#draft.commit();
    } catch (error) {
      throw notWritten(this.#name, error);
    }
  }

  discard(): void {
    this.#draft.discard();
  }
}

function sizeField(size: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(size);
  return bytes;
}

const recordedRate = 48_000;

const notWritten = (file: string, cause: unknown): EngagectlError =>
  fileWriteError({ file, done: 'written', option: () => '--record' }, cause);
