import { expect, test } from 'vitest';
import { isUnencrypted } from '../../src/app/doctor/index.ts';

test('only an address of another network without TLS counts as unencrypted', () => {
  const closed = [
    ...['10.0.0.1', '127.0.0.1', '192.168.1.1', '169.254.1.1', '172.16.0.1', '172.20.1.2', '172.31.0.1'],
    ...['[::1]', '[fd00::1]', '[fe80::1]', 'db:5432', 'a.internal', 'a.localhost', 'a.data.svc.cluster.local'],
  ];
  expect(closed.filter((host) => isUnencrypted(`postgres://u:p@${host}/w`))).toEqual([]);
  expect(isUnencrypted('postgres:///w?host=/var/run/postgresql')).toBe(false);
  const open = [
    ...['11.0.0.1', '192.169.1.1', '172.15.0.1', '172.32.0.1', '203.0.113.7:5432'],
    ...['[2001::1]', '[2001:db8::1]:6379', 'db.example.com', 'internal.example.com', '10.example.com'],
  ];
  expect(open.filter((host) => !isUnencrypted(`postgres://u:p@${host}/w`))).toEqual([]);
  const tls = [
    ...['postgres://a.b/s?sslmode=require', 'postgresql://a.b/s?sslmode=verify-full', 'postgres://a.b/s?ssl=no-verify'],
    ...['mysql://a.b/s?ssl=1', 'mariadb://a.b/s?ssl=true', 'rediss://a.b'],
  ];
  expect(tls.filter(isUnencrypted)).toEqual([]);
  const plain = [
    ...['postgres://a.b/s?sslmode=allow', 'postgresql://a.b/s?sslmode=disable', 'redis://a.b?ssl=true'],
    ...['mysql://a.b/s?sslmode=require', 'mysql://a.b/s?ssl=false'],
  ];
  expect(plain.filter((address) => !isUnencrypted(address))).toEqual([]);
});
