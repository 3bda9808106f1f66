import { UsageError } from '../../base/errors.ts';
import { countTraces, maskTraces, type User, type UserTraces } from '../../warehouse/forget-user.ts';
import { openWarehouse } from '../../warehouse/index.ts';
import type { Command, Context, Report } from '../command.ts';
import { table } from '../ui/table.ts';

type Options = { order: string[]; apply?: true };

export const forgetCommand: Command = {
  define(commander, run) {
    commander
      .command('user <code>')
      .description('the customer with this user_code; shows what would be masked, unless --apply is given')
      .option('--order <code>', 'an order of the customer (repeatable): its lines and dead letters, too', add, [])
      .option('--apply', 'mask it')
      .action((code: string, options: Options) => run((context) => forgetUser(context, code, options)));
  },
};

const add = (order: string, before: string[]) => [...before, order];

async function forgetUser(context: Context, code: string, { order: orders, apply }: Options): Promise<Report> {
  if (code.trim() === '') throw new UsageError('The user_code is empty, expected the login of one customer');
  const warehouse = await openWarehouse({ url: context.config().warehouseDatabaseUrl, connections: 1 });
  try {
    const user: User = { code, orders };
    const traces = await (apply ? maskTraces : countTraces)(warehouse.db, user);
    return { text: draw(traces, apply === true), json: { applied: apply === true, ...traces, notReached } };
  } finally {
    await warehouse.close();
  }
}

const notReached = [
  'the shop: while orders.sql shows the customer, orders are sent to the review service as before',
  'the review service: while it holds the reviews, the next reading brings them back; ' +
    'have them deleted there first, then run this again',
  'orders that no review and no dead letter names: the links hold no customer; name them with --order',
  'Parquet files: they show no member, only order_key and the length of the text; ' +
    'the next export parquet into the same folder rewrites the months of these reviews, ' +
    'copies of the files elsewhere stay',
  'backups of the warehouse, copies that BI tools made, and logs of other systems',
];

function draw(traces: UserTraces, isApplied: boolean): string {
  const rows: [string, number, string][] = [
    ['warehouse.reviews', traces.reviews, 'author, text, media, options and order; score, dates and product stay'],
    ['sync.dead_letters', traces.deadLetters, 'the record and the reason; the dead letter is closed'],
    ['sync.webhook_inbox', traces.webhooks, 'the body; it is not applied'],
    ['sync.sub_order_links', traces.orderLines, 'chosen options and parcel number; the links stay'],
    [
      'sync.order_links',
      traces.contacts,
      'hash of the order as last sent; contact is withheld from now on; the links stay',
    ],
  ];
  return [
    isApplied ? 'Masked:' : 'Would be masked (nothing was changed; add --apply):',
    table(
      ['table', 'rows', 'what'],
      rows.map(([place, count, what]) => [place, String(count), what]),
    ),
    `Not reached:\n${notReached.map((line) => `- ${line}`).join('\n')}`,
  ].join('\n\n');
}
