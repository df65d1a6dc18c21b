import { provenText, type AckData } from './protocol.js';
import type { Environment } from './environment.js';
import type { CallFailure } from './errors.js';
import { failureOfAnswer, type FrameSocket } from './socket.js';

/** Nonces of a socket whose router has proved that it has the API key. */
export interface RouterChallenge {
  readonly clientNonce: string;
  readonly routerNonce: string;
}

/**
 * Makes the router prove that it has the API key before anything but a random number is sent. A program that took
 * the port of a stopped router cannot.
 */
export async function challengeRouter(
  link: FrameSocket,
  apiKey: string,
  { nonce, url }: Pick<Environment, 'nonce' | 'url'>,
): Promise<RouterChallenge | CallFailure> {
  const clientNonce = nonce();
  const answer = await link.request('hello', { nonce: clientNonce });
  const failure = failureOfAnswer(answer);
  if (failure !== undefined) return failure;
  const { data } = answer as { readonly data?: Partial<AckData['hello']> };
  const routerNonce: unknown = data?.nonce;
  if (
    typeof routerNonce === 'string' &&
    data?.proof === keyProof(apiKey, provenText.router(clientNonce, routerNonce))
  )
    return { clientNonce, routerNonce };
  return {
    name: 'AUTH_FAILURE',
    detail: `The program that answers at ${url} does not have this API key; the key was not sent`,
  };
}

/** Returns the proof of the API key for `auth`. */
export const clientProof = (
  apiKey: string,
  identity: { readonly accountId: string; readonly cuid: string; readonly deviceId: string },
  { clientNonce, routerNonce }: RouterChallenge,
): string => keyProof(apiKey, provenText.client(identity, clientNonce, routerNonce));

/**
 * Returns HMAC-SHA-256 in hexadecimal digits. Implemented here because React Native and plain http pages have no
 * WebCrypto; the input is short, so speed does not matter.
 */
export function keyProof(key: string, text: string): string {
  const bytes = utf8(key);
  const block = [...(bytes.length > blockBytes ? sha256(bytes) : bytes)];
  while (block.length < blockBytes) block.push(0);
  const inner = sha256([...block.map((byte) => byte ^ 0x36), ...utf8(text)]);
  const outer = sha256([...block.map((byte) => byte ^ 0x5c), ...inner]);
  return outer.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const blockBytes = 64;

/** Encodes UTF-8 without TextEncoder, which React Native may lack. Lone surrogates become U+FFFD. */
function utf8(text: string): number[] {
  const whole = text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
  return encodeURIComponent(whole)
    .split(/%(..)|(?:)/)
    .flatMap((part) => (part ? [part.length === 2 ? parseInt(part, 16) : part.charCodeAt(0)] : []));
}

/** Returns the 32 bytes of SHA-256 (FIPS 180-4). */
function sha256(message: readonly number[]): number[] {
  const { roots, constants } = tables();
  const padded = [...message, 0x80];
  while (padded.length % blockBytes !== 56) padded.push(0);
  padded.push(0, 0, 0, 0, ...bytesOf(message.length * 8));
  const hash = Int32Array.from(roots);
  for (let at = 0; at < padded.length; at += blockBytes) {
    // The variables a to h of the standard, in order.
    const state = Int32Array.from(hash);
    const words = scheduleOf(padded, at);
    for (let round = 0; round < 64; round += 1) {
      const [a, e] = [state[0]!, state[4]!];
      const s1 = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25);
      const choice = (e & state[5]!) ^ (~e & state[6]!);
      const t1 = state[7]! + s1 + choice + constants[round]! + words[round]!;
      const s0 = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22);
      const majority = (a & state[1]!) ^ (a & state[2]!) ^ (state[1]! & state[2]!);
      state.copyWithin(1, 0, 7);
      state[0] = t1 + s0 + majority;
      state[4] = state[4]! + t1;
    }
    for (const [index, word] of state.entries()) hash[index] = hash[index]! + word;
  }
  return [...hash].flatMap(bytesOf);
}

function scheduleOf(bytes: readonly number[], from: number): Int32Array {
  const words = new Int32Array(64);
  for (let byte = 0; byte < blockBytes; byte += 1)
    words[byte >> 2] = (words[byte >> 2]! << 8) | bytes[from + byte]!;
  for (let index = 16; index < 64; index += 1) {
    const [before, last] = [words[index - 15]!, words[index - 2]!];
    const s0 = rotateRight(before, 7) ^ rotateRight(before, 18) ^ (before >>> 3);
    const s1 = rotateRight(last, 17) ^ rotateRight(last, 19) ^ (last >>> 10);
    words[index] = words[index - 16]! + s0 + words[index - 7]! + s1;
  }
  return words;
}

const rotateRight = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

const bytesOf = (word: number): number[] => [24, 16, 8, 0].map((shift) => (word >>> shift) & 255);

/** Returns the constants of the standard: fractions of the square and cube roots of the first primes. */
function tables(): { readonly roots: readonly number[]; readonly constants: readonly number[] } {
  return (known ??= { roots: fractions(8, 1 / 2), constants: fractions(64, 1 / 3) });
}
let known: ReturnType<typeof tables> | undefined;

function fractions(count: number, power: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number += 1) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor += 1)
      if (number % divisor === 0) isPrime = false;
    const root = number ** power;
    if (isPrime) found.push(((root - Math.floor(root)) * 2 ** 32) | 0);
  }
  return found;
}
