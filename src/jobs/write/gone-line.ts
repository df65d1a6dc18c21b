import type { KeyName } from '../../bulk/memory/names-file.js';

/** Whose records they are that a bare list holds. */
const users: ReadonlySet<string> = new Set(['identity', 'objectId', 'FBID', 'GPID']);

/** A line for somebody the input does not hold: of users a bare list, of addresses type and value. */
export function goneLine({ space, key }: KeyName, isFirst: boolean): string {
  if (users.has(space)) return `${cell(key)}\n`;
  return `${isFirst ? 'type,value\n' : ''}${space},${cell(key)}\n`;
}

const cell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
