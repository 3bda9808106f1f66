import { expect, test } from 'vitest';
import { runCli } from '../harness/cli.ts';

/** Nothing listens there: what is refused is refused before anything is opened. */
const environment = {
  SHOP_DATABASE_URL: 'postgres://shop@127.0.0.1:5/shop',
  WAREHOUSE_DATABASE_URL: 'postgres://warehouse@127.0.0.1:5/warehouse',
  REVIEW_API_BASE_URL: 'http://127.0.0.1:5',
  REVIEW_API_CLIENT_ID: 'id',
  REVIEW_API_CLIENT_SECRET: 'secret',
};

test.each(['backfill orders --with-email', 'backfill reviews', 'verify orders', 'verify reviews'])(
  '%s with an empty day, as of a variable that is not set, is refused',
  async (command) => {
    for (const day of ['--from', '--to']) {
      const end = await runCli([...command.split(' '), day, ''], environment);
      expect(end).toMatchObject({ status: 2, stderr: expect.stringContaining(`${day} is "", expected a day`) });
    }
  },
);

test.each(['explain order', 'preview order', 'forget order', 'forget user U --order', 'forget user'])(
  '%s with a blank code is refused',
  async (command) => {
    const what = command === 'forget user' ? 'The user_code is empty' : 'The order code is empty, expected one order';
    for (const code of ['', ' ']) {
      const end = await runCli([...command.split(' '), code], environment);
      expect(end).toMatchObject({ status: 2, stderr: expect.stringContaining(what) });
    }
  },
);

test('demo --keep is refused with --json: it prints addresses, and no document', async () => {
  const { status, stdout } = await runCli(['demo', '--keep', '--json'], environment);
  expect([status, JSON.parse(stdout)]).toMatchObject([2, { error: { code: 'usage' } }]);
});
