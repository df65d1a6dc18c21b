import path from 'node:path';
import { open, readFile, rename, rm, type FileHandle } from 'node:fs/promises';
import { readWav, resampled, writeWav, type Sound } from '../../calling/node/wav.js';
import { EngagectlError } from '../../errors.js';
import { whyOf, fileError } from '../../files/file-errors.js';
import type { MediaAdapter } from '../../calling/environment.js';
import type { World } from '../job-context.js';

interface VoiceOptions {
  /** WAV file that is said to the other side. */
  readonly play?: string;
  /** WAV file of what the other side says. */
  readonly record?: string;
}

/** The voice of a phone. Who opens, closes: then the recording is in its place. */
export interface Voice {
  /** Undefined: calls have no voice. */
  readonly media: MediaAdapter | undefined;
  close(): Promise<void>;
}

/** Throws E-USAGE without the package for voice, E-FILE-READ, E-FORMAT, E-FILE-WRITE, E-OUTPUT-EXISTS. */
export async function openVoice(
  { play, record }: VoiceOptions,
  { runtime: { cwd } }: Pick<World, 'runtime'>,
): Promise<Voice> {
  if (play === undefined && record === undefined) {
    return { media: undefined, close: () => Promise.resolve() };
  }
  const sound = play === undefined ? undefined : await soundOf(play, cwd);
  const { nodeVoice } = await import('../../calling/node/voice.js');
  const recording = record === undefined ? undefined : await Recording.open(record, cwd);
  const media = await nodeVoice({
    ...(sound && { play: sound }),
    ...(recording && { onVoice: (heard) => recording.add(heard) }),
  }).catch(async (cause: unknown) => {
    await recording?.discard();
    throw new EngagectlError('E-USAGE', 'there is no voice without the package @roamhq/wrtc', {
      why: (cause as Error).message,
      fix: 'npm install @roamhq/wrtc, or leave out --play and --record',
      cause,
    });
  });
  return { media, close: async () => recording?.close() };
}

async function soundOf(file: string, cwd: string): Promise<Sound> {
  const bytes = await readFile(path.resolve(cwd, file)).catch((cause: unknown) => {
    throw new EngagectlError('E-FILE-READ', `${file} could not be read`, {
      why: whyOf(cause),
      fix: 'name a readable WAV file',
      file,
      cause,
    });
  });
  try {
    return readWav(bytes);
  } catch (cause) {
    throw new EngagectlError('E-FORMAT', `${file}: ${(cause as Error).message}`, {
      why: 'a WAV file of 16-bit samples is needed',
      fix: 'convert it, for example by ffmpeg -i in.mp3 -ac 1 -sample_fmt s16 out.wav',
      file,
    });
  }
}

const sizeAt = 4;
const dataSizeAt = 40;

/** A WAV file that grows while somebody speaks; under its name when it is whole. */
class Recording {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #name: string;
  /** Written one after the other. */
  #written: Promise<void> = Promise.resolve();
  #bytes = 0;
  #failure: unknown;

  private constructor(name: string, file: FileHandle, filePath: string) {
    this.#name = name;
    this.#file = file;
    this.#path = filePath;
  }

  static async open(name: string, cwd: string): Promise<Recording> {
    const target = path.resolve(cwd, name);
    try {
      await (await open(target, 'r')).close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw notWritten(name, error);
      const file = await open(`${target}.partial`, 'w', 0o600).catch((cause: unknown) => {
        throw notWritten(name, cause);
      });
      return new Recording(name, file, target);
    }
    throw new EngagectlError('E-OUTPUT-EXISTS', `${name} already exists`, {
      why: 'a recording replaces no file',
      fix: 'remove it, or choose another --record',
      file: name,
    });
  }

  /** Takes a piece of sound; of the first one is the header. */
  add(sound: Sound): void {
    // WebRTC begins with another rate than it goes on with.
    const samples = resampled(sound, recordedRate);
    const piece =
      this.#bytes > 0
        ? Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)
        : Buffer.from(writeWav({ rate: recordedRate, samples }));
    this.#bytes += piece.length;
    this.#written = this.#written
      .then(async () => void (await this.#file.write(piece)))
      .catch((error: unknown) => void (this.#failure ??= error));
  }

  async close(): Promise<void> {
    await this.#written;
    try {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#bytes === 0) this.add({ rate: recordedRate, samples: new Int16Array(0) });
      await this.#written;
      await this.#writeSize(sizeAt, this.#bytes - 8);
      await this.#writeSize(dataSizeAt, this.#bytes - dataSizeAt - 4);
      await this.#file.sync();
      await this.#file.close();
      await rename(`${this.#path}.partial`, this.#path);
    } catch (error) {
      await this.#file.close().catch(() => undefined);
      throw notWritten(this.#name, error);
    }
  }

  async discard(): Promise<void> {
    await this.#file.close();
    await rm(`${this.#path}.partial`, { force: true });
  }

  async #writeSize(at: number, size: number): Promise<void> {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(size);
    await this.#file.write(bytes, 0, 4, at);
  }
}

const recordedRate = 48_000;

const notWritten = (file: string, cause: unknown): EngagectlError =>
  fileError({ file, done: 'written', option: () => '--record' }, cause);
