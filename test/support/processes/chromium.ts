import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const executablePath = '/usr/bin/chromium';
export const hasChromium = existsSync(executablePath);
if (!hasChromium) process.stderr.write('SKIPPED: no /usr/bin/chromium; pages are not looked at\n');

const args = [
  '--no-sandbox',
  '--headless',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Debian's Chromium, which asks nothing of the network; `more`: other switches of it. */
export const launchChromium = (...more: readonly string[]): Promise<Browser> =>
  chromium.launch({ executablePath, args: [...args, ...more] });
