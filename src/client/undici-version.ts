import manifest from 'undici/package.json' with { type: 'json' };

/** Of the HTTP client that is used. */
export const undiciVersion: string = manifest.version;
