import type { Control } from './control-route.js';

/** `GET /_local/calls/account`: what a client of the calling system needs; null where no calls are routed. */
export const showCallingAccount: Control = (_, { calls }) => {
  if (!calls) return '{"account":null}';
  const { accountId, apiKey } = calls.router.rules;
  return JSON.stringify({ account: { accountId, apiKey } });
};
