import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService } from '../../src/testing.js';
import { hasChromium, launchChromium } from '../support/processes/chromium.js';
import { makeWorld, type World } from '../support/test-environment.js';

// The page of --report in a real browser. Its screenshots are kept in the folder ENGAGECTL_SCREENSHOTS.

const hostile = `</style><script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>`;

/** A run with 429s, a 503, and rejects whose text would like to be markup. */
async function reportOf(world: World) {
  const unprocessed = [1, 2, 3].map((n) => ({
    status: 'fail',
    code: 515,
    error: `${hostile} record number : ${n}`,
  }));
  await using service = await startService();
  const partial = { status: 'partial', processed: 7, unprocessed };
  for (const answer of [{ status: 429 }, { status: 503 }, { body: partial }])
    await service.fault({ times: 1, answer });
  const rows = Array.from({ length: 90 }, (_, n) => `user-${n},"${hostile}"\n`);
  writeFileSync(world.path('users.csv'), `identity,Note\n${rows.join('')}`);
  const argv = ['upload', 'users.csv', '--chunk-size', '10', '--report', 'run.html', '--json'];
  const { code, stdout } = await world.run(argv, { env: service.env });
  expect(code).toBe(3);
  return JSON.parse(stdout) as Record<string, number>;
}

/** The page, with whatever it asked for and complained about. */
async function show(browser: Browser, file: string, look: Parameters<Browser['newPage']>[0]) {
  const page = await browser.newPage(look);
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  const url = pathToFileURL(file).href;
  await page.goto(url);
  return { page, complaints, foreign: () => requests.filter((one) => one !== url) };
}

const cells = async (page: Page): Promise<Record<string, string>> => {
  const rows = await page.locator('tr:has(> th[scope=row])').all();
  const entries = await Promise.all(
    rows.map(async (row) => [
      (await row.locator('th').innerText()).trim(),
      (await row.locator('td').innerText()).trim(),
    ]),
  );
  return Object.fromEntries(entries) as Record<string, string>;
};

describe.skipIf(!hasChromium)('the report in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  it('shows the figures of --json and hostile text as text, and loads no resources', async () => {
    const world = makeWorld();
    const summary = await reportOf(world);
    const { page, complaints, foreign } = await show(browser, world.path('run.html'), {});
    expect(await page.title()).toBe('upload: done, with rejects');
    const shown = await cells(page);
    for (const name of ['read', 'accepted', 'rejected', 'unknown', 'requests', 'retries']) {
      expect([name, shown[name]]).toEqual([name, String(summary[name])]);
    }
    expect(await page.locator('script, img, iframe, link').count()).toBe(0);
    expect(await page.locator('.sample').first().innerText()).toContain(hostile);
    const drawings = await page.getByRole('img').all();
    const words = await Promise.all(drawings.map((drawing) => drawing.getAttribute('aria-label')));
    expect(words).toHaveLength(5);
    expect(words.join('\n')).toMatch(/87 accepted[^]*Time of a request: Half of[^]*429 answers: 1/);
    expect([complaints, foreign()]).toEqual([[], []]);
    await page.close();
  });

  it('shows the results of verify as charts with text', async () => {
    const world = makeWorld();
    const rows = Array.from({ length: 40 }, (_, n) => `user-${n},Oslo\n`);
    writeFileSync(world.path('users.csv'), `identity,City\n${rows.join('')}`);
    const local = ['users.csv', '--region', 'local'];
    await world.run(['upload', ...local, '--limit', '38']);
    const flags = ['--sample', '30', '--seed', '5', '--report', 'proof.html', '--json'];
    const { stderr } = await world.run(['verify', ...local, ...flags]);
    const summary = JSON.parse(stderr.split('\n').find((line) => line.includes('"proof"'))!) as {
      readonly proof: string;
      readonly same: number;
    };
    const { page, complaints, foreign } = await show(browser, world.path('proof.html'), {});
    expect(await page.locator('main').innerText()).toContain(summary.proof);
    const drawings = await page.getByRole('img').all();
    const words = await Promise.all(drawings.map((drawing) => drawing.getAttribute('aria-label')));
    expect(words.join('\n')).toContain(`${summary.same} as they were sent`);
    expect(words.join('\n')).toMatch(/Of every 1,000: \d+ are as they were sent, \d+ may differ/);
    const folder = process.env['ENGAGECTL_SCREENSHOTS'];
    if (folder) await page.screenshot({ path: path.join(folder, 'verify.png'), fullPage: true });
    expect([complaints, foreign()]).toEqual([[], []]);
    await page.close();
  });

  it('has two color schemes, and fits narrow and wide windows and paper', async () => {
    const world = makeWorld();
    await reportOf(world);
    const folder = process.env['ENGAGECTL_SCREENSHOTS'] ?? world.cwd;
    mkdirSync(folder, { recursive: true });
    const backgrounds = new Set<string>();
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [400, 1200]) {
        const look = { colorScheme, viewport: { width, height: 800 } };
        const { page } = await show(browser, world.path('run.html'), look);
        const screenshot = path.join(folder, `report-${colorScheme}-${width}.png`);
        await page.screenshot({ path: screenshot, fullPage: true });
        expect(readFileSync(screenshot).length).toBeGreaterThan(10_000);
        const [inside, background] = (await page.evaluate(
          '[document.documentElement.scrollWidth <= innerWidth, getComputedStyle(document.body).backgroundColor]',
        )) as [boolean, string];
        expect([width, inside]).toEqual([width, true]);
        backgrounds.add(background);
        if (width === 1200 && colorScheme === 'dark') {
          await page.emulateMedia({ media: 'print' });
          expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
            'rgb(255, 255, 255)',
          );
        }
        await page.close();
      }
    }
    expect(backgrounds.size).toBe(2);
  });
});
