import { expect, test } from 'vitest';
import { isUnencrypted } from '../../src/app/doctor/unencrypted.ts';
import { runCli } from '../harness/cli.ts';
import { openWorld } from '../harness/world.ts';

test.each([
  ['postgres://u:p@db.example.com/w', true],
  ['postgresql://u:p@203.0.113.7:5432/w?sslmode=disable', true],
  ['mysql://u:p@db.example.com/s?ssl=false', true],
  ['redis://[2001:db8::1]:6379', true],
  ['postgres://u:p@172.104.1.2/w', true],
  ['postgres://u:p@db.example.com/w?sslmode=require', false],
  ['postgres://u:p@db.example.com/w?sslmode=verify-full', false],
  ['mariadb://u:p@db.example.com/s?ssl=true', false],
  ['rediss://db.example.com', false],
  ['postgres://u:p@postgres:5432/w', false],
  ['postgres://u:p@127.0.0.1/w', false],
  ['postgres://u:p@[::1]/w', false],
  ['postgres://u:p@10.1.2.3/w', false],
  ['postgres://u:p@172.20.1.2/w', false],
  ['postgres://u:p@warehouse.data.svc.cluster.local/w', false],
  ['postgres:///w?host=/var/run/postgresql', false],
])('%s goes unencrypted to another network: %s', (address, isOpen) => {
  expect(isUnencrypted(address)).toBe(isOpen);
});

test('an address in a private network, without a domain or with TLS does not go unencrypted to another network, any other does', () => {
  const closed = [
    '10.0.0.1',
    '192.168.1.1',
    '169.254.1.1',
    '172.16.0.1',
    '172.31.0.1',
    '[fd00::1]',
    '[fe80::1]',
    'db',
    'a.internal',
    'a.localhost',
  ];
  expect(closed.filter((host) => isUnencrypted(`postgres://u:p@${host}/w`))).toEqual([]);
  const open = ['11.0.0.1', '192.169.1.1', '172.15.0.1', '172.32.0.1', '[2001::1]', 'internal.example.com'];
  expect(open.filter((host) => !isUnencrypted(`postgres://u:p@${host}/w`))).toEqual([]);
  const tls = ['mysql://a.b/s?ssl=1', 'postgres://a.b/s?ssl=no-verify', 'postgresql://a.b/s?sslmode=prefer'];
  expect(tls.filter(isUnencrypted)).toEqual([]);
  const plain = ['redis://a.b?ssl=true', 'mysql://a.b/s?sslmode=require', 'postgres://a.b/s?sslmode=allow'];
  expect(plain.filter((address) => !isUnencrypted(address))).toEqual([]);
});

test('doctor warns of a database in another network without TLS, and shows no password', async () => {
  await using world = await openWorld({ shop: 'empty' });
  const environment = { ...world.environment, SHOP_DATABASE_URL: 'postgres://reader:hush-hush@shop.invalid/shop' };
  const { stdout, stderr } = await runCli(['doctor', '--json'], environment);
  const { findings } = JSON.parse(stdout) as { findings: { what: string; level: string }[] };
  const warned = findings.filter(({ what }) => what.includes('without TLS'));
  expect(warned).toEqual([
    expect.objectContaining({ level: 'warning', what: expect.stringMatching(/^SHOP_DATABASE_URL/) }),
  ]);
  expect(stdout + stderr).not.toContain('hush-hush');
});
