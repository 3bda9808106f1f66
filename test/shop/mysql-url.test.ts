import { expect, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { connectionOptions } from '../../src/shop/mysql/mysql-url.ts';
import { dialectOf } from '../../src/shop/open-database.ts';

test('user, password and database may hold every character, percent-encoded', () => {
  expect(connectionOptions('mysql://sh%40p:p%2Fw%3A%25@[::1]/my%20shop')).toEqual({
    host: '::1',
    port: 3306,
    user: 'sh@p',
    password: 'p/w:%',
    database: 'my shop',
  });
  expect(connectionOptions('mysql://u:100%@h/d').password).toBe('100%');
  expect(connectionOptions('mariadb://u@h:3307/d?socket=/run/mysqld/mysqld.sock')).toMatchObject({
    port: 3307,
    socketPath: '/run/mysqld/mysqld.sock',
  });
});

test('ssl=true checks certificate and host name, ssl=no-verify checks nothing', () => {
  const ssl = (value: string) => connectionOptions(`mysql://u@h/d?ssl=${value}`).ssl;
  expect(ssl('true')).toEqual({ rejectUnauthorized: true, verifyIdentity: true });
  expect(ssl('no-verify')).toEqual({ rejectUnauthorized: false, verifyIdentity: false });
  expect(ssl('false')).toBeUndefined();
});

test.each(['sslmode=require', 'ssl=maybe', 'charset=latin1'])(
  'the parameter %s is refused by name, without the password',
  (query) => {
    const refusal = () => connectionOptions(`mysql://u:geheim@h/d?${query}`);
    expect(refusal).toThrow(UsageError);
    expect(refusal).toThrow(new RegExp(`parameter ${query.split('=')[0]},`));
    expect(refusal).not.toThrow(/geheim/);
  },
);

test('an address without a database is refused with an example', () => {
  expect(() => connectionOptions('mysql://u:geheim@h')).toThrow(/^SHOP_DATABASE_URL names no database$/);
});

test('the scheme names the kind of database', () => {
  const of = (scheme: string) => dialectOf(`${scheme}://u:geheim@h/d`);
  expect(['postgres', 'postgresql', 'mysql', 'MariaDB'].map(of)).toEqual(['postgres', 'postgres', 'mysql', 'mysql']);
});
