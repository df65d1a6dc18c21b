import { describe, expect, test } from 'vitest';
import { validateBaseUrl } from '../../src/config/validation.js';
import { EngagectlError } from '../../src/errors.js';
import { makeWorld } from '../support/test-environment.js';

describe('D a valid base URL', () => {
  test.each([
    ['https://eu1.api.example.com', 'https://eu1.api.example.com'],
    ['https://eu1.api.example.com/', 'https://eu1.api.example.com'],
    ['HTTPS://EU1.api.example.com:8443', 'https://eu1.api.example.com:8443'],
    ['http://127.0.0.1:8787', 'http://127.0.0.1:8787'],
    ['http://localhost:8787/', 'http://localhost:8787'],
    ['http://LOCALHOST', 'http://localhost'],
    ['http://[::1]:9000', 'http://[::1]:9000'],
    ['http://127.1', 'http://127.0.0.1'],
    ['http://2130706433', 'http://127.0.0.1'],
    ['http://0x7f.1', 'http://127.0.0.1'],
    ['http://127.255.255.254', 'http://127.255.255.254'],
  ])('is accepted: %s', (text, origin) => {
    expect(validateBaseUrl(text, '--base-url')).toBe(origin);
  });
});

describe('D an invalid base URL', () => {
  test.each([
    ['http off loopback', 'http://eu1.api.example.com', 'use https'],
    ['a name that begins like loopback', 'http://127.0.0.1.nip.io', 'use https'],
    ['a name that ends like localhost', 'http://evil.localhost', 'use https'],
    ['localhost with a dot', 'http://localhost.', 'use https'],
    ['every address of this machine', 'http://0.0.0.0', 'use https'],
    ['a mapped loopback address', 'http://[::ffff:127.0.0.1]', 'use https'],
    ['an address one beyond loopback', 'http://128.0.0.1', 'use https'],
    ['localhost as the user name', 'http://localhost@evil.example', 'not contain a user name'],
    ['a user and a password', 'https://user:hunter2@api.example.com', 'not contain a user name'],
    ['an empty user', 'https://@api.example.com', 'not contain a user name'],
    ['no scheme', 'eu1.api.example.com', 'begin with https://'],
    ['another scheme', 'ftp://api.example.com', 'begin with https://'],
    ['a scheme without slashes', 'https:api.example.com', 'begin with https://'],
    ['a backslash host', 'https:\\\\api.example.com', 'begin with https://'],
    ['a backslash', 'https://localhost\\.evil.example', 'backslash'],
    ['a newline', 'https://api.example\n.com', 'control character'],
    ['a path', 'https://api.example.com/1', 'after the host'],
    ['a query', 'https://api.example.com/?x=1', 'after the host'],
    ['an empty query', 'https://api.example.com?', 'after the host'],
    ['a fragment', 'https://api.example.com#x', 'after the host'],
    ['a port that is none', 'https://api.example.com:99999', 'not a valid URL'],
    ['nothing', '', 'begin with https://'],
  ])('is refused with the reason: %s', (_what, text, reason) => {
    const error = refusal(text);
    expect(error.id).toBe('E-BASE-URL');
    expect(error.exitCode).toBe(2);
    expect(error.details.why).toContain(reason);
    expect(error.message).toContain('--base-url');
    expect(JSON.stringify([error.message, error.details])).not.toContain('hunter2');
  });
});

test.each([
  ['ws://calls.example.com', 'http is allowed to this machine only'],
  ['wss://ann:hunter2@calls.example.com', 'not contain a user name'],
  ['ftp://localhost', 'begin with https://'],
])('--call-url %s: refuses to send the key', async (url, reason) => {
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'CALLS', ENGAGECTL_CALL_API_KEY: 'call-secret' };
  const args = ['call', 'listen', '--cuid', 'ann_1', '--region', 'eu1', '--call-url', url];
  const { code, stderr } = await makeWorld({ env }).run(args);
  expect(code).toBe(2);
  expect(stderr).toContain(reason);
  expect(stderr).not.toMatch(/hunter2|call-secret/);
});

function refusal(text: string): EngagectlError {
  try {
    validateBaseUrl(text, '--base-url');
  } catch (error) {
    if (error instanceof EngagectlError) return error;
    throw error;
  }
  throw new Error(`${text} was taken`);
}
