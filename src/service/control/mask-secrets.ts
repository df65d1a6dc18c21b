import type { IncomingHttpHeaders } from 'node:http';

const mask = '***';
const secretName = /passcode|password|authorization|cookie|secret|token|api-?key/i;
/** A shorter passcode could occur in other values by chance. */
const shortestPasscode = 8;

/** Returns headers with the values of those that look like credentials masked, under any prefix. */
export function maskedHeaders(
  headers: IncomingHttpHeaders,
  passcode: string,
): Readonly<IncomingHttpHeaders> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secretName.test(name)
        ? mask
        : typeof value === 'string'
          ? maskSecrets(value, passcode)
          : value,
    ]),
  );
}

/** Masks the passcode, and members and URL parameters that look like one, in a body or URL. */
export function maskSecrets(text: string, passcode: string): string {
  const masked = passcode.length >= shortestPasscode ? text.replaceAll(passcode, () => mask) : text;
  if (!/passcode|password/i.test(masked)) return masked;
  return masked
    .replaceAll(/("[^"\\]*(?:passcode|password)[^"\\]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi, `$1"${mask}"`)
    .replaceAll(/([?&][^=&#]*(?:passcode|password)[^=&#]*=)[^&#\s"]*/gi, `$1${mask}`);
}
