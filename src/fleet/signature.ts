import path from 'node:path';
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { EngagectlError } from '../errors.js';
import { resultName } from './shard-folder.js';
import {
  placeOf,
  readOwn,
  shardsOf,
  untrusted,
  type FleetRun,
  type RunAccount,
  type ShardJob,
  type ShardResult,
  type WorkDirectory,
} from './fleet-run.js';
import type { Shard } from '../jobs/job-options.js';

/** Kinds of signed content. A signature of one kind is not valid for another. */
type SignedKind = 'run' | 'shard' | 'result' | 'events';

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

/** A run signed by its account, so its content can be trusted. Signs and verifies its jobs and results. */
export class SignedRun {
  readonly run: FleetRun;
  readonly folder: WorkDirectory;
  /** Covers the whole run: argv, inputs, account, location. Jobs and results are signed with it. */
  readonly signature: string;
  readonly key: FleetKey;

  /** For a run that was verified, or created by this process. */
  constructor(run: FleetRun, { folder, key }: { folder: WorkDirectory; key: FleetKey }) {
    this.run = run;
    this.folder = folder;
    this.signature = key.sign('run', run);
    this.key = key;
  }

  /**
   * Reads a run and verifies its signature and location. `keyOf` derives the key of the account that the
   * file names. Throws E-FILE-READ if this machine does not see the directory; E-RUN-VERSION,
   * E-UNTRUSTED.
   */
  static async read(
    folder: WorkDirectory,
    keyOf: (account: RunAccount) => Promise<FleetKey>,
  ): Promise<SignedRun> {
    const { signature, ...run } = folder.unverified(); // read once, so that what was verified is what is used
    const key = await keyOf(run);
    if (!key.verify('run', run, signature)) {
      throw folder.notSigned(
        'somebody else wrote or changed it, or the passcode is another one than at fleet submit',
      );
    }
    const place = path.join(run.workDir, run.run);
    if (place !== folder.path && placeOf(place) !== placeOf(folder.path)) {
      throw untrusted(`the run in ${folder.path} was submitted to ${run.workDir}`, {
        why: 'a copy in another place could send its records once more',
        fix: 'put it back where it was submitted to',
        file: folder.path,
      });
    }
    return new SignedRun(run, { folder, key });
  }

  /** Whether `fleet.json` contains this run with this signature. */
  get isInPlace(): boolean {
    if (!this.folder.exists) return false;
    try {
      const { signature, ...run } = this.folder.unverified();
      return signature === this.signature && canonicalJson(run) === canonicalJson(this.run);
    } catch (error) {
      if (isOf(error, 'E-UNTRUSTED') || isOf(error, 'E-FILE-READ')) return false;
      throw error;
    }
  }

  job(shard: Shard): ShardJob {
    const job = this.#jobOf(shard);
    return { ...job, signature: this.key.sign('shard', { ...job, of: this.signature }) };
  }

  /** Whether a job belongs to this run and was signed by `fleet submit` or `fleet retry`. */
  isJob({ signature, shard, ...job }: ShardJob): boolean {
    const { run, workDir } = this.#jobOf(shard);
    const content = { run, workDir, shard, of: this.signature };
    const isOurs = job.run === run && job.workDir === workDir && shard.count === this.run.shards;
    return isOurs && this.key.verify('shard', content, signature);
  }

  #jobOf(shard: Shard): Omit<ShardJob, 'signature'> {
    const { index, count } = shard;
    return { run: this.run.run, workDir: this.run.workDir, shard: { index, count } };
  }

  /**
   * Reads the result of a shard. Throws E-FILE-READ, and E-UNTRUSTED if no worker of this account wrote
   * it.
   */
  result(shard: Shard): ShardResult | undefined {
    const epoch = this.#currentFolder(shard);
    if (epoch === undefined) return undefined;
    const file = path.join(epoch, resultName);
    if (!lstatSync(file, { throwIfNoEntry: false })) return undefined;
    const fix = 'remove it: fleet retry then finds by the journal what is left to do';
    const { signature, ...result } = readOwn(file, fix) as ShardResult & { signature?: unknown };
    if (this.key.verify('result', { result, of: this.signature, shard }, signature)) return result;
    throw untrusted(`${file} is not signed by this account's passcode`, {
      why: 'somebody else wrote or changed it, or the passcode was another one when the shard ended',
      fix: `engagectl fleet retry ${this.run.run}    (finds by its journal what is left to do)`,
      file,
    });
  }

  /** Returns undefined for an untrusted result, too. Throws E-FILE-READ. */
  trustedResult(shard: Shard): ShardResult | undefined {
    try {
      return this.result(shard);
    } catch (error) {
      if (isOf(error, 'E-UNTRUSTED')) return undefined;
      throw error;
    }
  }

  /** Returns the results of finished shards, in order. Throws E-FILE-READ, E-UNTRUSTED. */
  results(): ShardResult[] {
    return shardsOf(this.run).flatMap((shard) => this.result(shard) ?? []);
  }

  /** Writes the result of a shard to the folder of its owner. Keeps the names of files, not their paths. */
  setResult(shard: Shard, folder: string, outcome: ShardResult): ShardResult {
    const { rejectsFile, output, ...rest } = outcome;
    const result = { ...rest, rejectsFile: nameOf(rejectsFile), output: nameOf(output) };
    const signature = this.key.sign('result', { result, of: this.signature, shard });
    this.folder.put(path.join(folder, resultName), { ...result, signature });
    return result;
  }

  /**
   * Returns the path of a file named by a result. Throws E-UNTRUSTED for a link, or a file outside of
   * the shard's directory.
   */
  fileOf({ shard: index }: ShardResult, name: string): string {
    const shard = { index, count: this.run.shards };
    const folder = this.#currentFolder(shard) ?? this.folder.shard(shard).path;
    const file = path.join(folder, name);
    if (path.dirname(file) === folder && path.basename(file) === name) {
      this.folder.refuseLink(file);
      return file;
    }
    throw untrusted(`"${name}" is not the name of a file of shard ${index}`, {
      why: 'the files of a shard lie in its folder',
      fix: `engagectl fleet retry ${this.run.run}`,
    });
  }

  /** Throws E-UNTRUSTED for a link in its path. */
  #currentFolder(shard: Shard): string | undefined {
    this.folder.checkPath(shard);
    const { current } = this.folder.shard(shard);
    if (current !== undefined) this.folder.refuseLink(current);
    return current;
  }
}

const isOf = (error: unknown, id: EngagectlError['id']): error is EngagectlError =>
  error instanceof EngagectlError && error.id === id;

const nameOf = (file: string | null): string | null => (file === null ? null : path.basename(file));
