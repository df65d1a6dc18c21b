import type { Answer } from './answer.js';
import { decodeCursor, encodeCursor } from './cursors.js';
import { eventPages } from './event-pages.js';
import { isExpired, useExport, type Export } from './exports.js';
import type { Variants } from './options.js';
import { pageAt } from './page.js';
import { profilePages } from './profile-pages.js';
import { incorrectUsage, Refusal, stillPending } from './refusal.js';
import type { Service } from './service.js';

/** Endpoints 4 and 7. The same cursor always begins the same page. */
export function readPage(kind: Export['kind'], cursor: string, service: Service): Answer {
  const { store, cursorSecret, now, variants } = service;
  const time = now();
  const position = decodeCursor(cursor, cursorSecret);
  const opened = position && useExport(store, position.export, time);
  if (!position || opened?.kind !== kind) throw incorrectUsage();
  if (isExpired(opened, time)) throw expiredCursor(variants.expiredCursor);
  if (opened.pending > 0) throw stillPending();
  const source = kind === 'events' ? eventPages(service, opened) : profilePages(service, opened);
  const page = pageAt(source, position, opened.batch);
  return {
    httpStatus: 200,
    status: 'success',
    members: {},
    ...(page.isEmpty ? {} : { records: page.records }),
    nextCursor: page.next && encodeCursor(page.next, cursorSecret),
  };
}

function expiredCursor(answer: Variants['expiredCursor']): Refusal {
  if (answer === 'code') return incorrectUsage();
  if (answer === 'stringCode') return new Refusal(200, 'Incorrect Usage', '3');
  return new Refusal(200, 'invalid cursor', undefined);
}
