import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hasChromium, launchChromium } from '../../support/processes/chromium.js';
import { runRouter } from '../calls/raw-client.js';
import { eventRecord, headers, profileRecord, run, type Running } from '../running.js';

// The page at `/` in a real browser. Its screenshots are kept in the folder ENGAGECTL_SCREENSHOTS.

const screenshots = process.env['ENGAGECTL_SCREENSHOTS'];
const day = 1_700_000_000;
const hostile = `<img src=x onerror="document.title='owned'">`;

/** Logs two softphones in, has the one call the other by keys alone, and waits until it rings. */
async function callByKeys(ann: Page, bob: Page, prepare?: (page: Page) => Promise<void>) {
  for (const [cuid, page] of Object.entries({ ann_1: ann, bob_1: bob })) {
    await page.getByRole('button', { name: 'Calls' }).click();
    await page.getByLabel('Your cuid').fill(cuid);
    await prepare?.(page);
    await page.keyboard.press('Enter');
    await page.getByText(`${cuid}: no call`).waitFor();
  }
  await ann.keyboard.type('bob_1');
  await ann.keyboard.press('Tab');
  await ann.keyboard.type('Order 25');
  await ann.keyboard.press('Enter');
  await bob.getByText('bob_1: is called by ann_1 about Order 25').waitFor();
}

async function filled() {
  const service = await run();
  const users = Array.from({ length: 120 }, (_, n) =>
    profileRecord(`user-${String(n).padStart(3, '0')}`),
  );
  await service.upload(
    profileRecord('ann', {
      Name: 'Ann',
      Email: 'ann@example.test',
      Phone: '+4712345678',
      City: 'Oslo',
      Note: hostile,
      'MSG-email': false,
    }),
    profileRecord('bob', { Phone: '+4787654321' }),
    ...users,
    ...[0, 1, 1, 3].map((n) => eventRecord('ann', 'Buy', day + n * 86_400, { n, note: hostile })),
    eventRecord('bob', 'View', day),
  );
  await service.subscribe({ type: 'phone', value: '+4787654321', status: 'Unsubscribe' });
  return service;
}

describe.skipIf(!hasChromium)('the page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium(
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
    );
  });
  afterAll(() => browser.close());

  /** The page of the service, with whatever it asked of others and complained about. */
  async function open(
    service: Running,
    {
      width = 1100,
      colorScheme = 'light',
      linked = true,
    }: { width?: number; colorScheme?: 'light' | 'dark'; linked?: boolean } = {},
  ) {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    onTestFinished(() => page.close());
    const strange: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !request.url().startsWith('data:'))
        strange.push(request.url());
    });
    page.on('console', (message) => strange.push(message.text()));
    page.on('pageerror', (error) => strange.push(error.message));
    const account = `#account=${headers['X-Service-Account-Id']}&passcode=${headers['X-Service-Passcode']}`;
    await page.clock.install();
    await page.goto(`${service.url}/${linked ? account : ''}`);
    return { page, strange };
  }
  const shoot = async (page: Page, name: string) => {
    if (screenshots === undefined) return;
    mkdirSync(screenshots, { recursive: true });
    await page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: true });
  };
  /** Views that are live ask anew each second. */
  const nextSecond = (page: Page) => page.clock.runFor(1000);
  const isWide = (page: Page) => page.evaluate('document.documentElement.scrollWidth > innerWidth');

  it('asks for the passcode, refuses a wrong one, and stores none where another page could read it', async () => {
    const service = await filled();
    const { page } = await open(service, { linked: false });
    await page.getByLabel('Account').fill('TEST-ACCOUNT');
    await page.getByLabel('Passcode').fill('wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('Passcode Invalid').waitFor();
    await page.getByLabel('Passcode').fill('test-passcode');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'ann' }).waitFor();
    const linked = await open(service);
    await linked.page.getByRole('button', { name: 'ann' }).waitFor();
    expect(linked.page.url()).toBe(`${service.url}/`);
    const kept = 'JSON.stringify([sessionStorage, localStorage, history.state, document.cookie])';
    for (const one of [page, linked.page]) {
      expect(await one.evaluate(kept)).not.toContain('test-passcode');
      await one.reload();
      await one.getByLabel('Passcode').waitFor();
    }
  });

  it('lists and finds users, and shows how they can be reached', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    const rows = page.locator('#user-rows tr');
    await expect.poll(() => rows.count()).toBe(50);
    await page.getByRole('button', { name: 'More users' }).click();
    await expect.poll(() => rows.count()).toBe(100);
    await page.keyboard.press('/');
    await page.keyboard.type('ann');
    await expect.poll(() => rows.count()).toBe(1);
    expect(
      await rows
        .getByRole('img')
        .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label'))),
    ).toEqual(['reachable', 'reachable', 'unreachable']);
    await page.getByRole('button', { name: 'ann' }).click();
    await page
      .getByRole('img', { name: 'Email: unreachable; address Subscribed, user Unsubscribed' })
      .waitFor();
    await page.getByText(hostile).first().waitFor();
    await shoot(page, 'users');
    expect(await page.title()).toBe('engagectl: the local service');
    expect(strange).toEqual([]);
  });

  it('draws events over time, of one name or of all', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    await page.getByRole('button', { name: 'Events' }).click();
    await page.getByText('5 events, 2023-11-14 to 2023-11-17 (UTC), at most 2 a day').waitFor();
    // Days that are still being counted when another event is chosen are not drawn.
    const counting: Route[] = [];
    await page.route(/days\?event=Buy$/, (route) => void counting.push(route));
    await page.locator('#event-name').selectOption('Buy');
    await expect.poll(() => page.locator('#event-rows tr').count()).toBe(4);
    await page.locator('#event-name').selectOption('View');
    await page.getByText('1 events, 2023-11-14 to 2023-11-14').waitFor();
    await expect.poll(() => counting.length).toBe(1);
    const late = page.waitForResponse(/days\?event=Buy$/);
    await counting[0]!.continue();
    await (await late).finished();
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await page.locator('figcaption').innerText()).toContain('1 events,');
    expect(await page.locator('#event-rows tr').count()).toBe(1);
    await page.locator('#event-name').selectOption('');
    await expect.poll(() => page.locator('#event-rows tr').count()).toBe(5);
    // The bars are drawn after the rows.
    await expect.poll(() => page.locator('rect.bar').count()).toBe(4);
    await shoot(page, 'events');
    expect(strange).toEqual([]);
  });

  it('shows requests and their content as they arrive', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    await page.getByRole('button', { name: 'Requests' }).click();
    for (let n = 0; n < 30; n++) await service.call('GET', `/1/profile.json?identity=${n}`);
    await service.call('GET', '/1/profile.json?identity=late');
    await nextSecond(page);
    await page.getByRole('button', { name: 'GET /1/profile.json?identity=late' }).waitFor();
    await page.getByRole('button', { name: 'POST /1/subscribe' }).click();
    await page.getByText('"value": "+4787654321"').waitFor();
    // However long the list above it is.
    const bottom = () =>
      page.evaluate("document.getElementById('body').getBoundingClientRect().bottom");
    await expect.poll(bottom).toBeLessThan(801);
    await shoot(page, 'requests');
    await page.getByRole('button', { name: 'Clear the list' }).click();
    await page.getByText('No requests yet.').waitFor();
    expect(strange).toEqual([]);
  });

  it('explains each request: result, reason, warnings, headers and answer', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    await page.getByRole('button', { name: 'Requests' }).click();
    await service.call('DELETE', '/_local/requests');
    await service.upload(profileRecord('zoe', { 'MSG-email': 'false' }));
    await service.upload(profileRecord('zoe'), profileRecord('eve', { Email: 'x' }));
    await service.call('POST', '/1/upload', { d: {} });
    await nextSecond(page);
    const rows = page.locator('#request-rows tr');
    const columns = (at: number) => rows.nth(at).locator('td:nth-child(3), td:nth-child(4)');
    await page.getByText('200 partial').waitFor();
    // The latest is first; those of filling the service are below.
    expect(await columns(0).allInnerTexts()).toEqual([
      '400 fail',
      expect.stringContaining('array'),
    ]);
    expect((await columns(1).allInnerTexts())[0]).toBe('200 partial');
    expect(await columns(2).allInnerTexts()).toEqual([
      '200 success',
      expect.stringMatching(/^warning: .*MSG-email/),
    ]);
    const colorOf = (at: number) =>
      page.evaluate(
        `getComputedStyle(document.querySelectorAll('#request-rows tr')[${at}].cells[2]).color`,
      );
    expect(new Set([await colorOf(0), await colorOf(1), await colorOf(2)]).size).toBe(3);
    await rows.nth(1).getByRole('button').click();
    const shown = page.locator('#body');
    await shown.getByText('"unprocessed"').waitFor();
    const text = await shown.innerText();
    expect(text).toContain('content-type: application/json');
    expect(text).toContain('x-service-passcode: ***');
    expect(text).toContain('"code": 515');
    await shoot(page, 'request');
    expect(strange).toEqual([]);
  });

  it('changes settings while the service runs', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    await page.getByRole('button', { name: 'Settings' }).click();
    const form = page.locator('#setting');
    await expect.poll(() => form.getByLabel('Uploads in flight').inputValue()).not.toBe('');
    await form.getByLabel('Fail rate').fill('1');
    await form.getByLabel('Seed of failures').fill('7');
    await form.getByLabel('Strict mode').check();
    await form.getByLabel('keyStyle').selectOption('folded');
    await form.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Applied until the next reset or restart.').waitFor();
    expect([500, 503]).toContain((await service.upload(profileRecord('ann'))).http);
    const { text } = await service.call('GET', '/_local/settings');
    expect(JSON.parse(text)).toMatchObject({
      failRate: 1,
      failSeed: 7,
      strict: true,
      variants: { keyStyle: 'folded', flags: 'recorded' },
    });
    await form.getByLabel('Fail rate').fill('0');
    await form.getByRole('button', { name: 'Apply' }).click();
    await expect.poll(async () => (await service.upload(profileRecord('ann'))).http).toBe(200);
    await shoot(page, 'settings');
    expect(strange).toEqual([]);
  });

  it('shows open cursors until they expire', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    await page.getByRole('button', { name: 'Cursors' }).click();
    await page.getByText('No open cursors.').waitFor();
    await service.open('profiles', 'View', 20231114, 20231114, '?batch_size=10');
    await service.open('events', 'Buy', 20231114, 20231117, '?batch_size=230');
    await nextSecond(page);
    const rows = page.locator('#cursor-rows tr');
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    const [from, to] = ['2023-11-14 00:00:00', '2023-11-18 00:00:00'];
    await expect
      .poll(() => rows.first().locator('td').allInnerTexts())
      .toEqual([time, 'events, Buy', from, to, '230', time, time]);
    await page.getByRole('cell', { name: 'all at once' }).waitFor();
    await shoot(page, 'cursors');
    // Those of events live four hours, those of profiles four days.
    await service.call('PUT', '/_local/clock', { advanceSeconds: 5 * 3600 });
    await nextSecond(page);
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole('cell', { name: 'profiles, View' }).waitFor();
    expect(strange).toEqual([]);
  });

  it('sets a fault, shows how often it happened, and deletes it', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    await page.getByRole('button', { name: 'Faults' }).click();
    await page.getByLabel('Action').selectOption('answer 429');
    await page.locator('[name=endpoint]').selectOption('upload');
    await page.getByLabel('Match').fill('ann');
    await page.getByLabel('Times').fill('1');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByText('"match":"ann"').waitFor();
    expect((await service.upload(profileRecord('ann'))).http).toBe(429);
    expect((await service.upload(profileRecord('ann'))).http).toBe(200);
    await nextSecond(page);
    const rule = page.locator('#fault-rows tr');
    await expect
      .poll(() => rule.locator('td').allInnerTexts())
      .toEqual([expect.any(String), '2', '1', 'Delete']);
    await page.getByLabel('Action').selectOption('expire-cursor');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByText('rule.action: expire-cursor needs a cursor').waitFor();
    await shoot(page, 'faults');
    await rule.getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => rule.count()).toBe(0);
    // A refused rule is a 400, which the browser notes.
    expect(strange.filter((text) => !text.includes('400'))).toEqual([]);
  });

  it('saves and restores snapshots', async () => {
    const service = await filled();
    const { page, strange } = await open(service);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Snapshots' }).click();
    await page.getByLabel('Name').fill('before');
    await page.getByRole('button', { name: 'Save snapshot' }).click();
    await page.getByText('Saved before.').waitFor();
    await service.upload(profileRecord('zoe'));
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('Restored before.').waitFor();
    expect(await service.profile('identity', 'zoe')).toBeUndefined();
    await shoot(page, 'snapshots');
    await page.getByRole('button', { name: 'Reset to the seed' }).click();
    await page.getByText('Reset to the seed.', { exact: true }).waitFor();
    expect(await service.profile('identity', 'ann')).toBeUndefined();
    expect(strange).toEqual([]);
  });

  it('never deletes another snapshot than the one of the row', async () => {
    const { page } = await open(await filled());
    await page.getByRole('button', { name: 'Snapshots' }).click();
    await page.getByLabel('Name').fill('before');
    // A file that somebody copied into the folder has any name.
    const snapshots = [{ name: 'before#2', at: 0, bytes: 1 }];
    const listed = async (route: Route) => route.fulfill({ json: { snapshots } });
    await page.route('**/_local/snapshots', listed, { times: 1 });
    await page.getByRole('button', { name: 'Save snapshot' }).click();
    const copied = page.getByRole('row', { name: 'before#2' });
    await copied.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('before#2', { exact: false }).last().waitFor();
    await page.getByRole('button', { name: 'Users' }).click();
    await page.getByRole('button', { name: 'Snapshots' }).click();
    await page.getByRole('cell', { name: 'before', exact: true }).waitFor();
  });

  it('has a softphone: two users register, call, answer and hang up', async () => {
    const service = await runRouter();
    const ann = await open(service, { width: 360, colorScheme: 'dark' });
    // A browser is one device; the other user has another.
    const bob = await open(service);
    await callByKeys(ann.page, bob.page, async (page) => page.getByLabel('Voice').check());
    await bob.page.getByRole('button', { name: 'Calls: it rings' }).waitFor();
    await bob.page.getByRole('button', { name: 'Take' }).click();
    await bob.page.getByText('Incoming: CallInProgress').waitFor();
    await ann.page.getByText('ann_1: is in a call with bob_1 about Order 25').waitFor();
    await shoot(ann.page, 'softphone-360-dark');
    await shoot(bob.page, 'softphone');
    expect(await isWide(ann.page)).toBe(false);
    await ann.page.keyboard.press('Enter');
    await bob.page.getByText('Incoming: Ended').waitFor();
    await nextSecond(ann.page);
    await ann.page.getByRole('cell', { name: 'over, over, hangup' }).waitFor();
    await bob.page.getByRole('button', { name: 'Log out' }).click();
    await ann.page.getByLabel('Call', { exact: true }).fill('bob_1');
    await ann.page.getByLabel('About').fill('again');
    await ann.page.keyboard.press('Enter');
    await ann.page.getByText('Outgoing: DeclinedDueToLoggedOutCuid').waitFor();
    expect([ann.strange, bob.strange]).toEqual([[], []]);
  });

  it('has a softphone that gets its tokens from the service where the router requires them', async () => {
    const service = await runRouter({ tokenKey: 'a key of thirty-two bytes or more' });
    const [ann, bob] = [await open(service), await open(service)];
    await callByKeys(ann.page, bob.page);
    expect([ann.strange, bob.strange]).toEqual([[], []]);
  });

  it('fits 360 px in dark mode, and works by keyboard', async () => {
    const service = await filled();
    const { page, strange } = await open(service, { width: 360, colorScheme: 'dark' });
    await page.getByRole('button', { name: 'ann' }).click();
    await page.getByRole('img', { name: /^SMS: reachable/ }).waitFor();
    await shoot(page, 'users-360-dark');
    expect(await isWide(page)).toBe(false);
    await page.getByRole('button', { name: 'Users', exact: true }).focus();
    for (const name of [
      'Events',
      'Requests',
      'Cursors',
      'Faults',
      'Settings',
      'Snapshots',
      'Calls',
    ]) {
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name }).waitFor();
      expect(await isWide(page), name).toBe(false);
      await shoot(page, `${name.toLowerCase()}-360-dark`);
    }
    expect(strange).toEqual([]);
  });
});

it('is served under a policy that loads nothing from other origins', async () => {
  const service = await run();
  const answer = await fetch(service.url);
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await answer.text()).not.toMatch(/https?:/);
});
