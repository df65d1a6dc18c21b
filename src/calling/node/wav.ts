/** Mono sound. */
export interface Sound {
  /** Samples per second. */
  readonly rate: number;
  readonly samples: Int16Array;
}

const headerBytes = 44;
/** Sample rates of sound; at 1 Hz, a short file would be converted to gigabytes. */
const [minRate, maxRate] = [1000, 384_000];

/** Parses a WAV file of 16-bit samples; keeps the first channel. Throws an Error for other files. */
export function readWav(bytes: Uint8Array): Sound {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || textAt(view, 0) !== 'RIFF' || textAt(view, 8) !== 'WAVE')
    throw new Error('not a WAV file');
  let format: { readonly channels: number; readonly rate: number } | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const length = view.getUint32(at + 4, true);
    const body = at + 8;
    if (textAt(view, at) === 'fmt ') format = formatAt(view, body);
    if (textAt(view, at) === 'data' && format !== undefined) {
      const end = Math.min(body + length, bytes.length);
      return { rate: format.rate, samples: samplesOf(view, body, end, format.channels) };
    }
    // Chunks start at even offsets.
    at = body + length + (length % 2);
  }
  throw new Error('a WAV file without sound');
}

/** Returns a WAV file of 16-bit mono samples. */
export function writeWav({ rate, samples }: Sound): Uint8Array {
  const bytes = new Uint8Array(headerBytes + samples.length * 2);
  const view = new DataView(bytes.buffer);
  writeText(bytes, 0, 'RIFF');
  view.setUint32(4, bytes.length - 8, true);
  writeText(bytes, 8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  writeText(bytes, 36, 'data');
  view.setUint32(40, samples.length * 2, true);
  for (const [index, sample] of samples.entries())
    view.setInt16(headerBytes + index * 2, sample, true);
  return bytes;
}

/** Returns the samples at another rate, by linear interpolation. */
export function resample({ samples, rate: from }: Sound, rate: number): Int16Array {
  if (from === rate) return samples;
  const length = Math.floor((samples.length * rate) / from);
  return Int16Array.from({ length }, (_, index) => {
    const place = (index * from) / rate;
    const before = samples[Math.floor(place)] ?? 0;
    const behind = samples[Math.floor(place) + 1] ?? before;
    return before + (behind - before) * (place % 1);
  });
}

function formatAt(view: DataView, at: number): { channels: number; rate: number } {
  if (at + 16 > view.byteLength) throw new Error('a WAV file that ends early');
  const kind = view.getUint16(at, true);
  const channels = view.getUint16(at + 2, true);
  const bits = view.getUint16(at + 14, true);
  // 0xfffe: the sample format is in an extension, and is PCM in practice.
  if ((kind !== 1 && kind !== 0xfffe) || bits !== 16 || channels === 0)
    throw new Error('not a WAV file of 16-bit samples');
  const rate = view.getUint32(at + 4, true);
  if (rate < minRate || rate > maxRate)
    throw new Error(`a WAV file of ${rate} samples per second, which is no voice`);
  return { channels, rate };
}

function samplesOf(view: DataView, start: number, end: number, channels: number): Int16Array {
  const samples = new Int16Array(Math.floor((end - start) / 2 / channels));
  for (let index = 0; index < samples.length; index += 1)
    samples[index] = view.getInt16(start + index * 2 * channels, true);
  return samples;
}

const textAt = (view: DataView, at: number): string =>
  String.fromCharCode(...[0, 1, 2, 3].map((offset) => view.getUint8(at + offset)));

function writeText(bytes: Uint8Array, at: number, text: string): void {
  for (let index = 0; index < text.length; index += 1) bytes[at + index] = text.charCodeAt(index);
}
