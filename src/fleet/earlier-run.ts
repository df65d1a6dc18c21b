import { readdirSync, statSync } from 'node:fs';
import { EngagectlError } from '../errors.js';
import { WorkFolder, type FleetRun } from './fleet-run.js';

/**
 * Refuses what another run in the work folder sends, too: records that do harm when sent twice, cut
 * into other shards or sent with other options. Throws E-ALREADY-SENT.
 */
export function refuseSentBefore(run: FleetRun, workDir: string): void {
  const isFolder = statSync(workDir, { throwIfNoEntry: false })?.isDirectory() === true;
  const names = isFolder ? readdirSync(workDir) : [];
  for (const name of names) {
    const folder = new WorkFolder(workDir, name);
    if (name === run.run || !folder.exists || !isSame(folder.read(), run)) continue;
    throw new EngagectlError('E-ALREADY-SENT', `run ${name} has the same content`, {
      why: `its records do harm when sent twice, and it is in ${workDir}`,
      fix: `engagectl fleet status ${name} tells how far it is; --again sends all of it knowingly`,
      file: folder.path,
    });
  }
}

function isSame(one: FleetRun, other: FleetRun): boolean {
  return contentOf(one) === contentOf(other);
}

const contentOf = ({ command, accountId, host, files }: FleetRun): string =>
  JSON.stringify([command, accountId, host, files.map(({ digest }) => digest)]);
