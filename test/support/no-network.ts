import nock from 'nock';
import { afterAll, beforeAll } from 'vitest';

// No test may reach a network: nock guards node:http and fetch; undici is only ever pointed at
// loopback, which test/support/test-environment.ts sees to.
beforeAll(() => {
  nock.disableNetConnect();
  nock.enableNetConnect(/^(127\.0\.0\.1|localhost|\[?::1\]?)(:\d+)?$/);
});
afterAll(() => nock.enableNetConnect());
