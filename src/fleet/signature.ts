import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { EngagectlError } from '../errors.js';

/** Kinds of signed content. A signature of one kind is not valid for another. */
type SignedKind = 'run' | 'shard' | 'result';

/** The account, as submitter and workers know it. */
interface KeyOwner {
  readonly accountId: string;
  /** Host of the service; `local` for the embedded one. */
  readonly host: string;
  readonly passcode: string;
}

/**
 * Signs and verifies the content of queue and work directory. The key is derived (HKDF-SHA256) from the
 * account's passcode, which submitter and workers share and others who can write there do not know.
 */
export class FleetKey {
  readonly accountId: string;
  readonly host: string;
  readonly #key: Uint8Array;

  constructor({ accountId, host, passcode }: KeyOwner) {
    this.accountId = accountId;
    this.host = host;
    const account = canonicalJson([accountId, host]);
    this.#key = new Uint8Array(hkdfSync('sha256', passcode, account, 'engagectl fleet 1', 32));
  }

  /**
   * Returns the HMAC-SHA256 in hexadecimal over the canonical JSON of the content, its kind and the
   * account.
   */
  sign(kind: SignedKind, content: object): string {
    return this.#mac(kind, content).toString('hex');
  }

  verify(kind: SignedKind, content: object, signature: unknown): boolean {
    if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature)) return false;
    return timingSafeEqual(this.#mac(kind, content), Buffer.from(signature, 'hex'));
  }

  #mac(kind: SignedKind, content: object): Buffer {
    const { accountId, host } = this;
    const text = canonicalJson({ kind, accountId, host, content });
    return createHmac('sha256', this.#key).update(text).digest();
  }
}

/** Canonical JSON: members sorted by name, undefined ones omitted. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

interface Refusal {
  readonly why: string;
  readonly fix: string;
  readonly file?: string;
}

/** Error for content of the queue or the work directory that must not be acted on. */
export const untrusted = (message: string, refusal: Refusal): EngagectlError =>
  new EngagectlError('E-UNTRUSTED', message, refusal);
