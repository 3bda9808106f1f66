import type { FastifyInstance } from 'fastify';
import { Failure, notFound } from './failure.ts';
import { type Params, readInput } from './input.ts';
import { type ProductKey, productId } from './products.ts';
import { idOf, paramsOf } from './request.ts';
import type { Service } from './service.ts';
import { assignments, type Fields, set } from './sql.ts';

const path = '/v1/orders/:order_id/sub_orders';

/** Sub-orders (docs/interface.md, "Sub-orders"): each POST adds one more, whatever is already there. */
export function subOrders(app: FastifyInstance, { store, now }: Service): void {
  app.post(path, async (request, reply) => {
    const orderId = idOf(request, 'order_id');
    const { product, fields } = readFields(paramsOf(request), true);
    const body = await store.transaction(async (rows) => {
      const [order] = await rows('select 1 from reference_service.orders where id = $1 for key share', [orderId]);
      if (!order) throw notFound(`order ${orderId}`);
      const all: Fields = {
        order_id: orderId,
        product_id: await productId(rows, product, now()),
        ...fields,
        created_at: now(),
        updated_at: now(),
      };
      const columns = Object.keys(all);
      const [row] = await rows<{ body: unknown }>(
        `insert into reference_service.sub_orders as s (${columns.join(', ')})
         values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
         returning reference_service.sub_order_json(s) as body`,
        Object.values(all),
      );
      return row?.body;
    });
    const location = `/v1/orders/${orderId}/sub_orders`;
    return reply.status(201).header('location', location).send(body);
  });

  for (const method of ['PUT', 'PATCH'] as const) {
    app.route({
      method,
      url: `${path}/:id`,
      async handler(request, reply) {
        const [orderId, id] = [idOf(request, 'order_id'), idOf(request)];
        const { product, fields } = readFields(paramsOf(request), false);
        await store.transaction(async (rows) => {
          set(fields, 'product_id', (await productId(rows, product, now())) ?? undefined);
          const { sql, values } = assignments({ ...fields, updated_at: now() }, 2);
          const [row] = await rows(
            `update reference_service.sub_orders set ${sql} where order_id = $1 and id = $2 returning id`,
            [orderId, id, ...values],
          );
          if (!row) throw notFound(`sub-order ${id}`);
        });
        return reply.status(204).header('location', `/v1/orders/${orderId}/sub_orders/${id}`).send();
      },
    });
  }

  app.delete(`${path}/:id`, async (request, reply) => {
    const [orderId, id] = [idOf(request, 'order_id'), idOf(request)];
    const [row] = await store.rows(
      'delete from reference_service.sub_orders where order_id = $1 and id = $2 returning id',
      [orderId, id],
    );
    if (!row) throw notFound(`sub-order ${id}`);
    return reply.status(204).send();
  });
}

function readFields(params: Params, isNew: boolean): { product: ProductKey; fields: Fields } {
  const input = readInput(params);
  // The spec names the id alone; some deployments take the shop's code too.
  const product = { id: input.number('product_id'), code: input.text('product_code') };
  if (isNew && product.id == null && product.code == null) throw new Failure(422, 'product_id: expected a value');
  const fields: Fields = {};
  set(fields, 'price', input.text('price') ?? undefined);
  set(fields, 'status', input.text('status') ?? undefined);
  set(fields, 'delivery_started_at', input.toTheSecond('delivery_started_at'));
  set(fields, 'delivered_at', input.toTheSecond('delivered_at'));
  set(fields, 'invoice', input.text('invoice'));
  const service = input.text('delivery_service');
  set(fields, 'delivery_service', service === null ? '' : service);
  const options = input.options('product_options');
  set(fields, 'product_options', options && JSON.stringify(options));
  return { product, fields };
}
