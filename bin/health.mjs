// node bin/health.mjs: the health check of the Docker image. Exit 0 when the `serve` of this container answers, and
// in a container that runs another command, which is no service to be asked.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import process from 'node:process';

const words = readFileSync(process.argv[2] ?? '/proc/1/cmdline', 'utf8').split('\0');
if (words.includes('serve')) ask();

function ask() {
  const isTls = words.some((word) => word.startsWith('--tls'));
  const { get } = isTls ? https : http;
  const host = valueOf('--host') ?? '127.0.0.1';
  const name = ['0.0.0.0', '::'].includes(host)
    ? '127.0.0.1'
    : host.includes(':')
      ? `[${host}]`
      : host;
  const url = `${isTls ? 'https' : 'http'}://${name}:${valueOf('--port') ?? 8787}/_local/health`;
  // The service is in this container, so its certificate needs no verification.
  get(url, { rejectUnauthorized: false, timeout: 2000 }, ({ statusCode }) =>
    process.exit(statusCode === 200 ? 0 : 1),
  )
    .on('timeout', () => process.exit(1))
    .on('error', () => process.exit(1));
}

function valueOf(flag) {
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return at < 0 ? undefined : (words[at].split('=')[1] ?? words[at + 1]);
}
