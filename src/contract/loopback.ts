/** Whether a host, as `URL.hostname` spells it, can only be this machine: plain http is allowed to it. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
