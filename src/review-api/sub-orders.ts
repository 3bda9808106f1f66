import { asInteger, asObject, nothing, parseJson } from './answer.ts';
import type { Send } from './call.ts';
import { requireAmount, requireId } from './check.ts';
import { optionPairs } from './encode.ts';

/** Fields of a new sub-order (spec, 'Sub-orders'). Dates are ISO 8601. */
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
  /** Option name to value. The service splits `<key>:<value>`: a name with a colon comes back otherwise. */
  product_options?: Readonly<Record<string, string>> | undefined;
};

/** What should change. `null` is sent as an empty value; no options at all cannot be said. */
export type SubOrderPatch = {
  [Field in keyof SubOrderBody]?: SubOrderBody[Field] | (Field extends Emptiable ? null : never) | undefined;
};

type Emptiable = 'delivery_started_at' | 'delivered_at' | 'invoice' | 'delivery_service';

export type SubOrders = ReturnType<typeof subOrders>;

/** Sub-orders (spec, 'Sub-orders'): one purchased product each. They are read with their order. */
export function subOrders(send: Send) {
  return {
    /**
     * Adds a sub-order (spec, 'Add a sub-order'), anew each time, so it is never repeated blindly. Beyond the id the
     * answer is not specified: what came is kept.
     *
     * @throws UnknownOutcomeError when the answer is lost.
     * @throws NotFoundError where there is no such order.
     */
    async create(orderId: number, body: SubOrderBody): Promise<{ id: number }> {
      return send({ method: 'POST', path: pathOf(orderId), params: params(body), repeatable: false }, (answer) => {
        const made = asObject(parseJson(answer), 'a sub-order');
        return { ...made, id: asInteger(made.id, 'id') };
      });
    },

    /** Changes the fields given, by PUT, the only way shown (spec, 'Change a sub-order'). @throws NotFoundError */
    async update(orderId: number, subOrderId: number, patch: SubOrderPatch): Promise<void> {
      return send({ method: 'PUT', path: pathOf(orderId, subOrderId), params: params(patch) }, nothing);
    },

    /** Deletes it (spec, 'Delete a sub-order'). One that is gone already is success. */
    async remove(orderId: number, subOrderId: number): Promise<void> {
      return send({ method: 'DELETE', path: pathOf(orderId, subOrderId), absentIsFine: true }, nothing);
    },
  };
}

function pathOf(orderId: number, subOrderId?: number): string {
  const collection = `/v1/orders/${requireId(orderId, 'order id')}/sub_orders`;
  return subOrderId === undefined ? collection : `${collection}/${requireId(subOrderId, 'sub-order id')}`;
}

function params({ product_options, ...fields }: SubOrderPatch) {
  if (fields.price !== undefined) requireAmount(fields.price, 'price');
  if (fields.product_id !== undefined) requireId(fields.product_id, 'product id');
  return { ...fields, product_options: optionPairs(product_options) };
}
