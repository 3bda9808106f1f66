import { UsageError } from '../../base/errors.ts';
import { shellWord } from '../../base/visible.ts';
import { findTraces, maskTraces, type Traces, type Whose } from '../../warehouse/forget.ts';
import { orderCode } from '../arguments.ts';
import type { Context, Define, Report } from '../command.ts';
import { blocks, bulleted, lines, table } from '../ui/table.ts';
import { inWarehouse } from '../with-app.ts';

type Options = { order?: string[]; apply?: true };

export const define: Define = (commander, run) => {
  commander
    .command('user <code>')
    .description('the customer with this user_code; shows what would be masked, unless --apply is given')
    .option('--order <code>', 'an order of the customer (repeatable): its reviews, lines and dead letters, too', add)
    .option('--apply', 'mask it')
    .action((userCode: string, { order: orders = [], apply }: Options) =>
      run((context) => forget(context, { userCode, orders }, apply === true), 'one'),
    );
  commander
    .command('order <code>')
    .description('the customer of one order, such as a guest; shows what would be masked, unless --apply is given')
    .option('--apply', 'mask it')
    .action((code: string, { apply }: Options) =>
      run((context) => forget(context, { orders: [code] }, apply === true), 'one'),
    );
};

const add = (order: string, before: string[] | undefined) => [...(before ?? []), order];

async function forget(context: Context, whose: Whose, isApplied: boolean): Promise<Report> {
  const { userCode, orders } = whose;
  if (userCode?.trim() === '') throw new UsageError('The user_code is empty, expected the login of one customer');
  orders.forEach(orderCode);
  return inWarehouse(context, async ({ db }) => {
    const records = await (isApplied ? maskTraces : findTraces)(db, whose);
    const counts = countsOf(records);
    const { unknown } = records;
    const isNothing = Object.values(counts).every((count) => count === 0);
    const head = lines(
      isNothing && unknown.length === 0 && 'No record here names this code; masked records name nobody.',
      userCode !== undefined && orders.length === 0 && ordersAreUnknown(userCode),
      unknown.length > 0 && nothingIsStoredOf(unknown),
    );
    return {
      text: blocks(head, draw(records, counts, isApplied)),
      json: { applied: isApplied, ...counts, records, notReached },
      incomplete: unknown.length > 0 || (isNothing && orders.length === 0),
    };
  });
}

/** The links have no customer, so a customer's orders cannot be found by them (promise 9). */
const ordersAreUnknown = (userCode: string) =>
  'Orders carry no customer here. Look up in the shop which orders are those of this customer, and give each with ' +
  `--order: review-sync forget user ${shellWord(userCode)} --order <code> --order <code>`;

const nothingIsStoredOf = (orders: readonly string[]) =>
  `Nothing is stored of ${orders.join(', ')}: is a code mistyped? If not, the next run pushes the order with the contact ` +
  'that the shop shows: have it removed in the shop first.';

const notReached = [
  'the shop: while orders.sql shows the customer, orders are sent as before, and a push stores the hash again',
  'the review service: the next reading brings its reviews and comments back; have them deleted there, then run this again',
  'orders that no review and no dead letter names: the links hold no customer; name them with --order',
  'reviews and comments without user_code, as those of guests: name their order with forget order',
  'comments on a review that is a dead letter: they go when it closes',
  'dead letters of webhooks: events name ids, no customer; discard one that holds more',
  'Parquet files: they show no member, only order_key and the length of the text; the next export parquet into the same ' +
    'folder rewrites the months of these reviews, copies elsewhere stay',
  'earlier versions of rows in the files of the database: vacuum and new writes overwrite them',
  'backups of the warehouse, its log of writes, copies that BI tools made, and logs of other systems',
];

const countsOf = (records: Traces) => ({
  reviews: records.reviews.length,
  comments: records.comments.length,
  deadLetters: records.deadLetters.length,
  orderLines: records.orderLines.reduce((sum, { lines }) => sum + lines, 0),
  contacts: records.contacts.length,
});

function draw(records: Traces, counts: ReturnType<typeof countsOf>, isApplied: boolean): string {
  const rows = [
    ['warehouse.reviews', counts.reviews, 'author, text, media, options and order; score, dates and product stay'],
    ['warehouse.reviews', counts.comments, 'the comments of the customer on reviews of others'],
    ['sync.dead_letters', counts.deadLetters, 'the record and the reason; the dead letter stays as open as it was'],
    ['sync.sub_order_links', counts.orderLines, 'chosen options and parcel number; the links stay'],
    ['sync.order_links', counts.contacts, 'hash of the order as last sent; no later push carries contact'],
  ];
  return blocks(
    isApplied ? 'Masked:' : 'Would be masked (nothing was changed; add --apply):',
    table(
      ['table', 'rows', 'what'],
      rows.map((row) => row.map(String)),
    ),
    bulleted('Records', namesOf(records)),
    bulleted('Not reached', notReached),
  );
}

/** The customer of these records, for a person to check before --apply. */
function namesOf({ reviews, comments, deadLetters, orderLines, contacts }: Traces): string[] {
  const orders = new Set([...orderLines.map(({ orderCode }) => orderCode), ...contacts]);
  return [
    ...reviews.map(
      ({ id, userCode, orderCode }) => `review ${id} of ${userCode ?? 'a guest'}, order ${orderCode ?? 'unknown'}`,
    ),
    ...comments.map((id) => `comment on review ${id}`),
    ...[...orders].sort().map((code) => `order ${code}`),
    ...deadLetters.map(({ id, kind, key }) => `dead letter ${id}: ${kind} ${key}`),
  ];
}
