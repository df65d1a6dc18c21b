import {
  type Stats,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  closeSync,
  constants,
  statSync,
} from 'node:fs';
import { EngagectlError } from '../errors.js';
import { quoteForShell } from '../wording.js';
import path from 'node:path';
import type { Runtime } from '../runtime.js';

const { O_NONBLOCK, O_RDONLY } = constants;

/** The process's user, and whether group-writable directories are trusted. */
export type TrustRuntime = Pick<Runtime, 'uid' | 'env'>;

/**
 * Whether to accept group-writable files, as on a volume that Kubernetes made writable for a group
 * (fsGroup).
 */
export const trustsGroup = ({ env }: Pick<Runtime, 'env'>): boolean =>
  env['ENGAGECTL_TRUST_GROUP'] === '1';

/**
 * Refuses a file or directory that somebody else may have written: it must belong to the user or root,
 * and neither group nor others may write to it. Its content decides which command runs, where a passcode
 * goes and what is removed. Missing ones pass, and so does everything on Windows, where access lists
 * protect a user's folders. Throws E-CONFIG-FILE.
 */
export function refuseUntrusted(file: string, runtime: TrustRuntime): void {
  if (runtime.uid === undefined) return;
  // Whoever can replace a link decides where it leads.
  const link = statOr(() => lstatSync(file));
  if (!link) return;
  refuseOwner(file, link, runtime);
  const found = link.isSymbolicLink() ? statOr(() => statSync(file)) : link;
  if (found) refuseOthers(file, found, runtime);
}

/** Undefined for a missing or inaccessible file, which fails when it is used. */
function statOr(stat: () => Stats): Stats | undefined {
  try {
    return stat();
  } catch {
    return undefined;
  }
}

/** The same check for an open file, whatever its name refers to now. */
export function refuseOthers(file: string, found: Owned, runtime: TrustRuntime): void {
  if (runtime.uid === undefined) return;
  refuseOwner(file, found, runtime);
  refuseWriters(file, found, runtime);
}

/** Checks a directory and its parent like `refuseUntrusted`. Returns the directory. */
export function trustedFolder(folder: string, runtime: TrustRuntime): string {
  refuseUntrusted(path.dirname(folder), runtime);
  refuseUntrusted(folder, runtime);
  return folder;
}

/** Rejects a file that belongs to another user who is not root: its owner can read what is written to it. Throws E-CONFIG-FILE. */
export function refuseOtherOwner(
  file: string,
  { uid: owner }: Pick<Owned, 'uid'>,
  { runtime, why, fix }: { runtime: TrustRuntime; why: string; fix: string },
): void {
  if (isOwn(owner, runtime)) return;
  throw ownerError(file, owner, { why, fix });
}

/**
 * Reads a file without following a link, or waiting for a pipe. `check` throws for a descriptor of another file than is
 * wanted: whoever may write to the folder can give its name to one at any time.
 */
export function readChecked(file: string, check: (descriptor: number) => void): Buffer {
  const descriptor = openSync(file, O_RDONLY | O_NONBLOCK | (constants.O_NOFOLLOW ?? 0));
  try {
    check(descriptor);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a file that nobody else may have written; see `refuseUntrusted`. Does not follow a link. */
export const readTrusted = (file: string, runtime: TrustRuntime): Buffer =>
  readChecked(file, (descriptor) => refuseOthers(file, fstatSync(descriptor), runtime));

/** A symbolic link of another user on the way to a file. */
interface ForeignLink {
  readonly link: string;
  readonly owner: number;
}

/**
 * Follows the symbolic links on the way to a file, its own name included, up to one of another user: that link's owner
 * decides where the file lies. Returns the path without links, which a link that is planted later does not change.
 * `file` is absolute.
 */
export function followOwnLinks(
  file: string,
  runtime: Pick<Runtime, 'uid'>,
): { readonly path: string; readonly foreign?: ForeignLink } {
  const { root } = path.parse(file);
  let at = root;
  let rest = partsOf(file.slice(root.length));
  for (let links = 0; rest.length > 0 && links < mostLinks;) {
    const [name = '', ...more] = rest;
    const next = path.join(at, name);
    const found = statOr(() => lstatSync(next));
    if (!found) break;
    rest = more;
    if (!found.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (!isOwn(found.uid, runtime))
      return { path: next, foreign: { link: next, owner: found.uid } };
    const target = readlinkSync(next);
    if (path.isAbsolute(target)) at = root;
    rest = [...partsOf(target), ...more];
    links += 1;
  }
  return { path: path.join(at, ...rest) };
}

/** As many links as Linux follows. */
const mostLinks = 40;

const partsOf = (file: string): readonly string[] =>
  file.split(path.sep).filter((part) => part !== '');

interface Owned {
  readonly uid: number;
  readonly mode: number;
}

const why = 'anyone who can write there decides what is sent, and to which address';

/** Whether an owner is the process's user or root. Always true on Windows. */
export const isOwn = (owner: number, { uid }: Pick<Runtime, 'uid'>): boolean =>
  uid === undefined || owner === uid || owner === 0;

const ownerError = (
  file: string,
  owner: number,
  details: { readonly why: string; readonly fix: string },
): EngagectlError =>
  new EngagectlError('E-CONFIG-FILE', `${file} belongs to another user (uid ${owner})`, {
    ...details,
    file,
  });

function refuseOwner(file: string, { uid: owner }: Owned, runtime: TrustRuntime): void {
  if (isOwn(owner, runtime)) return;
  throw ownerError(file, owner, {
    why,
    fix: 'run engagectl as that user; or use a directory of your own: ENGAGECTL_CONFIG_DIR, ENGAGECTL_STATE_DIR, --data (serve) or --work-dir (fleet)',
  });
}

function refuseWriters(file: string, { mode }: Owned, runtime: TrustRuntime): void {
  const [byGroup, byOthers] = [(mode & 0o020) !== 0, (mode & 0o002) !== 0];
  if (!byOthers && (!byGroup || trustsGroup(runtime))) return;
  const who = byOthers ? 'everybody' : 'its group';
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  const tighten = `look at what is in it, then: chmod go-w ${quoteForShell(file)}`;
  throw new EngagectlError('E-CONFIG-FILE', `${file} can be written by ${who} (mode ${octal})`, {
    why,
    fix: byOthers
      ? tighten
      : `${tighten}; where its group is trusted (fsGroup of Kubernetes): ENGAGECTL_TRUST_GROUP=1`,
    file,
  });
}
