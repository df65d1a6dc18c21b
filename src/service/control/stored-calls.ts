import { recordsSince } from '../calls/call-records.js';
import { numberOf, type Control } from './control-route.js';

/** `GET /_local/calls?since=`: calls placed from this time (milliseconds since 1970) on, oldest first. */
export const listCalls: Control = ({ query }, { store }) => {
  const since = numberOf(query, 'since', { fallback: 0 });
  return `{"calls":[${[...(recordsSince(store, since) ?? [])].join(',')}]}`;
};
