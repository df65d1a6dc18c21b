import type { Runtime } from '../../runtime.js';

/** Names a run: UTC time to the second and four random characters, e.g. `20261121-044512-7kq2`. */
export function runId({ now, random }: Pick<Runtime, 'now' | 'random'>): string {
  const [date = '', time = ''] = new Date(now()).toISOString().split('T');
  const tail = Math.floor(random() * 36 ** 4).toString(36);
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}-${tail.padStart(4, '0')}`;
}
