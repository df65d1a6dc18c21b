import { spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeCertificate } from '../../src/service/test-certificate.js';
import { makeWorld } from '../support/test-environment.js';

const now = Date.parse('2026-11-24T12:34:56.789Z');
const names = ['engage.test', '10.0.0.255', '2001:db8::1', '::ffff:10.1.2.3', 'fe80::a:1%eth0'];

it('is valid for loopback and the given names and addresses, and for no others', () => {
  const certificate = new X509Certificate(makeCertificate(names, now).cert);
  expect(certificate.checkHost('localhost')).toBe('localhost');
  expect(certificate.checkHost('engage.test')).toBe('engage.test');
  expect(certificate.checkHost('other.test')).toBeUndefined();
  for (const address of ['127.0.0.1', '::1', '10.0.0.255', '2001:db8::1', '::ffff:a01:203'])
    expect(certificate.checkIP(address)).toBe(address);
  expect(certificate.checkIP('fe80::a:1')).toBe('fe80::a:1');
  expect(certificate.checkIP('10.0.0.1')).toBeUndefined();
});

it('holds many names', () => {
  const many = Array.from({ length: 300 }, (_, n) => `host-${n}.example.test`);
  const certificate = new X509Certificate(makeCertificate(many, now).cert);
  expect(certificate.checkHost('host-299.example.test')).toBe('host-299.example.test');
});

it('is signed by its own key, not a certificate authority, and valid for a year from now', () => {
  const { cert, key } = makeCertificate([], now);
  const certificate = new X509Certificate(cert);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(certificate.ca).toBe(false);
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect([certificate.validFrom, certificate.validTo]).toEqual([
    'Nov 24 12:34:56 2026 GMT',
    'Nov 24 12:34:56 2027 GMT',
  ]);
  const { cert: another } = makeCertificate([], now);
  expect(new X509Certificate(another).serialNumber).not.toBe(certificate.serialNumber);
});

it('passes the strict checks of OpenSSL', () => {
  const world = makeWorld();
  const file = world.path('certificate.pem');
  writeFileSync(file, makeCertificate(names, Date.now()).cert);
  const purpose = ['-purpose', 'sslserver', '-verify_hostname', 'engage.test'];
  const { stdout, stderr } = spawnSync(
    'openssl',
    ['verify', '-x509_strict', ...purpose, '-CAfile', file, file],
    { encoding: 'utf8' },
  );
  expect([stdout, stderr]).toEqual([`${file}: OK\n`, '']);
});
