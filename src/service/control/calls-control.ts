import { recordsSince } from '../calls/call-records.js';
import { numberOf, type Control } from './control-route.js';

/** `GET /_local/calls?since=`: calls placed from this time (milliseconds since 1970) on, oldest first. */
export const listCalls: Control = ({ query }, { store }) => {
  const since = numberOf(query, 'since', { fallback: 0 });
  return `{"calls":[${[...(recordsSince(store, since) ?? [])].join(',')}]}`;
};

/** `GET /_local/calls/account`: what a client of the calling system needs; null where no calls are routed. */
export const showCallingAccount: Control = (_, { calls }) => {
  if (!calls) return '{"account":null}';
  const { accountId, apiKey } = calls.router.rules;
  return JSON.stringify({ account: { accountId, apiKey } });
};
