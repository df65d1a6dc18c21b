import { incorrectUsage, Refusal, stillPending } from '../refusal.js';
import { success, type Answer } from '../response.js';
import { isExpired, useExport, type Export } from '../store/exports.js';
import { storedPage } from '../store/stored-page.js';
import { decodeCursor, encodeCursor } from './cursor.js';
import type { Service } from '../service.js';
import type { Variants } from '../variants.js';

/** Endpoints 4 and 7. The same cursor always begins the same page. */
export async function useCursor(
  kind: Export['kind'],
  text: string,
  service: Service,
): Promise<Answer> {
  const { store, clock, variants } = service;
  const time = clock.now();
  const cursor = decodeCursor(text, store.cursorSecret);
  const opened = cursor && useExport(store, cursor.export, time);
  if (!cursor || opened?.kind !== kind) throw incorrectUsage();
  if (isExpired(opened, time)) throw expiredCursor(variants);
  if (opened.pending > 0) throw stillPending();
  const { records, next } = await storedPage(service, opened, cursor);
  const following = next && encodeCursor({ export: opened.id, ...next }, store.cursorSecret);
  return success({ records, next_cursor: following && JSON.stringify(following) });
}

/** The answer to a cursor that is out of date. */
export const expiredCursor = ({ expiredCursor }: Variants): Refusal => expired[expiredCursor]();

const expired = {
  code: incorrectUsage,
  stringCode: () => new Refusal(200, 'Incorrect Usage', '3'),
  text: () => new Refusal(200, 'invalid cursor', undefined),
};
