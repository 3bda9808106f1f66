import { sql } from 'kysely';
import { packagePath } from '../src/base/package-path.ts';
import type { OrderDeps } from '../src/orders/order-deps.ts';
import { readOrders } from '../src/orders/plan/read-orders.ts';
import { ordersByCreation } from '../src/orders/select/orders-by-day.ts';
import { openShop } from '../src/shop/index.ts';
import { openWarehouse } from '../src/warehouse/index.ts';
import { orderLinks } from '../src/warehouse/orders/order-links.ts';
import { usualRights } from '../test/harness/sync-orders.ts';
import { connect } from './stage.ts';

/**
 * Writes each order of the shop that was not pushed yet into service and warehouse, as a push without contact would
 * have left it. A push over HTTP takes some milliseconds an order, this takes a tenth of one.
 *
 * @returns how many orders it wrote.
 */
export async function pretendPushed(urls: {
  shopUrl: string;
  warehouseUrl: string;
  serviceUrl: string;
}): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const { db } = opened.use(await openWarehouse({ url: urls.warehouseUrl, connections: 4 }));
  const shop = openShop({ url: urls.shopUrl, sqlDir: packagePath('sql', 'shop'), connections: 2 });
  opened.defer(() => shop.close());
  const service = await connect(opened, urls.serviceUrl);
  let count = 0;
  for await (const raws of ordersByCreation(shop, { start: undefined, end: undefined })) {
    const known = await orderLinks(
      db,
      raws.map(({ order }) => order.code ?? ''),
    );
    const read = await readOrders(
      // The codes of no two of these orders are alike, so no order is looked up.
      { db } as OrderDeps,
      raws.filter(({ order }) => !known.has(order.code ?? '') && order.deleted_at == null),
      {
        rights: { ...usualRights, trigger: 'backfill', contactMaxAgeDays: 0 },
        readAt: new Date(),
        now: () => new Date(),
      },
    );
    const orders = read.flatMap(({ order }) => order ?? []);
    const rows = orders.map(({ body, fingerprint, order, lines }) => {
      const sent = { ...body, user_email: undefined, user_phone: undefined };
      const fields = Object.keys(JSON.parse(JSON.stringify(sent)));
      return { body: sent, lines, fingerprint, fields, at: order.createdAt };
    });
    const { rows: links } = await service.query(intoService, [JSON.stringify(rows)]);
    await sql`
      with given as (
        select * from jsonb_to_recordset(${JSON.stringify(links)}::jsonb) as g (
          order_code text, order_id bigint, fingerprint text, fields jsonb, ordered_at timestamptz, lines jsonb)
      ), made as (
        insert into sync.order_links (order_code, order_id, fingerprint, contact, sent_fields, ordered_at, pushed_at)
        select order_code, order_id, fingerprint, 'withheld', array(select jsonb_array_elements_text(fields)), ordered_at, now()
        from given
      )
      insert into sync.sub_order_links (order_code, line_code, sub_order_id, content, is_ours, product_id, status, delivered_at)
      select g.order_code, l."lineCode", l.id, l.content, true, (l.content ->> 'product_id')::bigint, l.content ->> 'status',
        (l.content ->> 'delivered_at')::timestamptz
      from given g, jsonb_to_recordset(g.lines) as l ("lineCode" text, id bigint, content jsonb)`.execute(db);
    count += rows.length;
  }
  await sql`vacuum analyze sync.order_links, sync.sub_order_links`.execute(db);
  await service.query('vacuum analyze reference_service.orders, reference_service.sub_orders');
  return count;
}

/** The rows of the service, with the ids that it gave them. */
const intoService = `
  with given as (
    select * from jsonb_to_recordset($1::jsonb) as g (
      body jsonb, lines jsonb, fingerprint text, fields jsonb, at timestamptz)
  ), made as (
    insert into reference_service.orders
      (code, user_code, user_name, user_grade_id, store_name, order_device, mileage, total_price, created_at, updated_at)
    select b.*, now() from given g, jsonb_to_record(g.body) as b (code text, user_code text, user_name text, user_grade_id bigint,
      store_name text, order_device text, mileage integer, total_price numeric, created_at timestamptz)
    returning id, code
  ), lines as (
    insert into reference_service.sub_orders (order_id, product_id, product_options, price, status, delivery_started_at,
      delivered_at, invoice, delivery_service, created_at, updated_at)
    select m.id, l.product_id, coalesce(l.product_options, '{}'), l.price, coalesce(l.status, 'paid'), l.delivery_started_at,
      l.delivered_at, l.invoice, coalesce(l.delivery_service, ''), now(), now()
    from given g join made m on m.code = g.body ->> 'code',
      rows from (jsonb_to_recordset(g.lines) as (content jsonb)) as c (content),
      jsonb_to_record(c.content) as l (product_id bigint, product_options jsonb, price numeric, status text,
        delivery_started_at timestamptz, delivered_at timestamptz, invoice text, delivery_service text)
    returning id, order_id, product_id, price
  )
  select g.body ->> 'code' as order_code, m.id as order_id, g.fingerprint, g.fields,
    g.at as ordered_at, (
      select coalesce(jsonb_agg(jsonb_build_object('lineCode', c."lineCode", 'content', c.content, 'id', (
        select l.id from lines l where l.order_id = m.id and l.product_id = (c.content ->> 'product_id')::bigint
          and l.price = (c.content ->> 'price')::numeric limit 1))), '[]')
      from jsonb_to_recordset(g.lines) as c ("lineCode" text, content jsonb)
    ) as lines
  from given g join made m on m.code = g.body ->> 'code'`;
