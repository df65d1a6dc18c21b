import type { Exchange } from '../router.js';
import { done } from './control-route.js';

/** Needs no credentials: who watches a container has none. */
export function answerHealth({ response }: Exchange): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' }).end(done);
  return Promise.resolve();
}
