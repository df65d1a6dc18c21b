import { undiciVersion } from '../../client/client.js';
import { sqliteVersion } from '../../files/file-lock.js';

/** What a report of a fault names besides Node: the libraries that a fault may come from. */
export const libraryVersions = async () => ({ undici: undiciVersion, ...(await sqliteVersion()) });
