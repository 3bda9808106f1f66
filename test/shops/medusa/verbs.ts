import { type Api, openApi, type Row } from './api.ts';
import type { Goods } from './goods.ts';

export type Purchase = {
  email: string;
  /** A customer with a password is registered, or logs in where `isKnown`. */
  password?: string;
  isKnown?: boolean;
  items: Record<string, number>;
  promotion?: string;
};

const address = {
  first_name: 'Ada',
  last_name: 'Lovelace',
  address_1: 'Ring 1',
  city: 'Wien',
  postal_code: '1010',
  country_code: 'at',
  phone: '+43 1 234',
};

/** What people do in the shop and its administration. Orders, parcels and returns are named by their ids. */
export function openVerbs(url: string, admin: Api, goods: Goods) {
  const key = { 'x-publishable-api-key': goods.publishableKey };
  const orderOf = async (id: string): Promise<Row> =>
    (await admin.get(`/admin/orders/${id}?fields=*items,*payment_collections.payments`)).order;
  const itemsOf = async (order: string, items: Record<string, number>) => {
    const { items: lines } = await orderOf(order);
    return Object.entries(items).map(([sku, quantity]) => ({
      id: lines.find((line: Row) => line.variant_sku === sku).id,
      quantity,
    }));
  };
  const customerOf = async (email: string): Promise<string> =>
    (await admin.get(`/admin/customers?email=${encodeURIComponent(email)}`)).customers[0].id;
  const payments = async (order: string): Promise<Row[]> =>
    (await orderOf(order)).payment_collections.flatMap((one: Row) => one.payments ?? []);

  return {
    /** Goes through the checkout. */
    async order({ email, password, isKnown, items, promotion }: Purchase): Promise<string> {
      const store = openApi(url, {
        ...key,
        ...(password && (await logIn(url, key, email, password, isKnown === true))),
      });
      const { cart } = await store.post('/store/carts', { region_id: goods.regionId, email });
      for (const [sku, quantity] of Object.entries(items))
        await store.post(`/store/carts/${cart.id}/line-items`, { variant_id: goods.variants[sku], quantity });
      await store.post(`/store/carts/${cart.id}`, { email, shipping_address: address, billing_address: address });
      if (promotion !== undefined) await store.post(`/store/carts/${cart.id}/promotions`, { promo_codes: [promotion] });
      await store.post(`/store/carts/${cart.id}/shipping-methods`, { option_id: goods.shippingOptionId });
      const { payment_collection: collection } = await store.post('/store/payment-collections', { cart_id: cart.id });
      await store.post(`/store/payment-collections/${collection.id}/payment-sessions`, {
        provider_id: 'pp_system_default',
      });
      const { order } = await store.post(`/store/carts/${cart.id}/complete`);
      return order.id;
    },
    async capture(order: string) {
      for (const { id } of await payments(order)) await admin.post(`/admin/payments/${id}/capture`);
    },
    async refund(order: string, amount: number) {
      const [payment] = await payments(order);
      await admin.post(`/admin/payments/${payment?.id}/refund`, { amount });
    },
    /** Packs a parcel. */
    async pack(order: string, items: Record<string, number>): Promise<string> {
      const known = new Set(
        ((await admin.get(`/admin/orders/${order}?fields=*fulfillments`)).order.fulfillments ?? []).map(
          ({ id }: Row) => id,
        ),
      );
      const body = { items: await itemsOf(order, items), location_id: goods.locationId };
      const { order: packed } = await admin.post(`/admin/orders/${order}/fulfillments?fields=*fulfillments`, body);
      return packed.fulfillments.find(({ id }: Row) => !known.has(id)).id;
    },
    async ship(order: string, parcel: string, items: Record<string, number>, tracking: string) {
      const labels = [
        { tracking_number: tracking, tracking_url: 'https://post.example.com', label_url: 'https://post.example.com' },
      ];
      const body = { items: await itemsOf(order, items), ...(tracking && { labels }) };
      await admin.post(`/admin/orders/${order}/fulfillments/${parcel}/shipments`, body);
    },
    deliver: (order: string, parcel: string) =>
      admin.post(`/admin/orders/${order}/fulfillments/${parcel}/mark-as-delivered`),
    cancelParcel: (order: string, parcel: string) => admin.post(`/admin/orders/${order}/fulfillments/${parcel}/cancel`),
    async requestReturn(order: string, items: Record<string, number>): Promise<string> {
      const { return: made } = await admin.post('/admin/returns', { order_id: order, location_id: goods.locationId });
      await admin.post(`/admin/returns/${made.id}/request-items`, { items: await itemsOf(order, items) });
      await admin.post(`/admin/returns/${made.id}/request`);
      return made.id;
    },
    async receiveReturn(order: string, id: string, items: Record<string, number>) {
      await admin.post(`/admin/returns/${id}/receive`);
      await admin.post(`/admin/returns/${id}/receive-items`, { items: await itemsOf(order, items) });
      await admin.post(`/admin/returns/${id}/receive/confirm`);
    },
    /** Changes the pieces of an order after payment; 0 takes a line out. */
    async edit(order: string, { add = {}, set = {} }: { add?: Record<string, number>; set?: Record<string, number> }) {
      await admin.post('/admin/order-edits', { order_id: order });
      const items = Object.entries(add).map(([sku, quantity]) => ({ variant_id: goods.variants[sku], quantity }));
      if (items.length > 0) await admin.post(`/admin/order-edits/${order}/items`, { items });
      for (const { id, quantity } of await itemsOf(order, set))
        await admin.post(`/admin/order-edits/${order}/items/item/${id}`, { quantity });
      await admin.post(`/admin/order-edits/${order}/confirm`);
    },
    cancel: (order: string) => admin.post(`/admin/orders/${order}/cancel`),
    changeAddress: (order: string, changes: Record<string, string>) =>
      admin.post(`/admin/orders/${order}`, { billing_address: { ...address, ...changes } }),
    changeEmail: (order: string, email: string) => admin.post(`/admin/orders/${order}`, { email }),
    async joinGroup(email: string, group: string) {
      await admin.post(`/admin/customer-groups/${goods.groups[group]}/customers`, { add: [await customerOf(email)] });
    },
    addPromotion: (code: string, percent: number) =>
      admin.post('/admin/promotions', {
        code,
        type: 'standard',
        status: 'active',
        application_method: {
          type: 'percentage',
          target_type: 'order',
          allocation: 'across',
          value: percent,
          currency_code: 'eur',
        },
      }),
  };
}

async function logIn(url: string, key: Record<string, string>, email: string, password: string, isKnown: boolean) {
  const visitor = openApi(url, key);
  const authorized = async (path: string) => ({
    authorization: `Bearer ${(await visitor.post(path, { email, password })).token}`,
  });
  if (!isKnown) {
    const registered = await authorized('/auth/customer/emailpass/register');
    await openApi(url, { ...key, ...registered }).post('/store/customers', {
      email,
      first_name: 'Ada',
      last_name: 'Lovelace',
    });
  }
  return authorized('/auth/customer/emailpass');
}
