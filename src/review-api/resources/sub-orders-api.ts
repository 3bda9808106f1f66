import { type CallOptions, type Send, withPrivate } from '../http/call.ts';
import { reading } from '../http/decode.ts';
import { newId, record } from '../http/shape.ts';
import { operationsById, optionPairs, requireId, sentAmount } from './resource.ts';

/** Fields of a new sub-order (docs/interface.md, "Sub-orders"). Dates are ISO 8601. */
export type SubOrderBody = {
  /** The service's product id. */
  product_id: number;
  /** Decimal text in whole units of the currency: "12.50". */
  price: string;
  delivery_started_at?: string | undefined;
  delivered_at?: string | undefined;
  /** An open set: `paid`, `delivery_started`, `delivery_finished` were seen. */
  status?: string | undefined;
  /** Shipping invoice number. */
  invoice?: string | undefined;
  delivery_service?: string | undefined;
  /** Option name to value. The service splits `<key>:<value>`: a name with a colon comes back split wrongly. */
  product_options?: Readonly<Record<string, string>> | undefined;
};

/**
 * Fields to change. `null` is sent as an empty value. The spec shows no way to remove all options. `null` is sent as
 * one empty `product_options[]`; read the order again to see whether the service applied it.
 */
export type SubOrderPatch = {
  [Field in keyof SubOrderBody]?: SubOrderBody[Field] | (Field extends Clearable ? null : never) | undefined;
};

type Clearable = 'product_options' | 'status' | 'delivery_started_at' | 'delivered_at' | 'invoice' | 'delivery_service';

/** Sub-orders (docs/interface.md, "Sub-orders"): one purchased product each. They are read with their order. */
export function subOrdersApi(anySend: Send) {
  const send = withPrivate(anySend, ['invoice', 'delivery_service']);
  const shape = record({ id: newId });
  const pathOf = (orderId: number) => `/v1/orders/${requireId(orderId, 'order id')}/sub_orders`;
  const of = (orderId: number) => operationsById(send, { path: pathOf(orderId), shape, params });
  return {
    /**
     * Adds a sub-order. Each request adds one, so the client never repeats it after a lost response.
     *
     * @throws UnknownOutcomeError when the response is lost: read the order to find out.
     * @throws NotFoundError if there is no such order.
     * @example const { id } = await api.subOrders.create(12, { product_id: 3, price: '12.50', status: 'paid' });
     */
    async create(orderId: number, body: SubOrderBody, options: CallOptions = {}): Promise<{ id: number }> {
      const path = pathOf(orderId);
      const call = { method: 'POST', path, params: params(body), repeatable: false, ...options } as const;
      return send(call, reading(shape));
    },

    /** Changes these fields by PUT, the only method in the interface. @throws NotFoundError */
    update: async (orderId: number, subOrderId: number, patch: SubOrderPatch, options?: CallOptions): Promise<void> =>
      of(orderId).put(subOrderId, patch, options),

    /** Deletes a sub-order. If it does not exist, that is a success. @returns whether the service had it. */
    remove: async (orderId: number, subOrderId: number, options?: CallOptions): Promise<boolean> =>
      of(orderId).remove(subOrderId, options),
  };
}

function params(fields: SubOrderPatch) {
  const { price, product_options: options } = fields;
  return {
    ...fields,
    price: price === undefined ? undefined : sentAmount(price, 'price'),
    product_options: options === null ? [''] : optionPairs(options),
  };
}
