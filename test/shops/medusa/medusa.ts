import { join } from 'node:path';
import { freePort } from '../../../src/sandbox/embedded-postgres/index.ts';
import { installShop } from '../install.ts';
import { outputOf, startServer } from '../processes.ts';
import { openLife, type Shop, type ShopLine, type ShopOrder, type Step, sum } from '../shop.ts';

const medusa = join(import.meta.dirname, 'node_modules', '@medusajs', 'cli', 'cli.js');
const user = { email: 'admin@example.com', password: 'secret-123' };

/**
 * Installs the real Medusa, makes its tables, starts it in a process of its own, without Redis, and fills it.
 *
 * @param readerUrl address for a user who may only read; asked for once the tables are there.
 */
export async function startMedusa(url: string, readerUrl: () => Promise<string>): Promise<[Shop, Step[]]> {
  const cwd = import.meta.dirname;
  const port = await freePort();
  await installShop(cwd);
  const environment = { DATABASE_URL: url, MEDUSA_DISABLE_TELEMETRY: 'true', NODE_ENV: 'production' };
  for (const args of [['db:migrate'], ['user', '-e', user.email, '-p', user.password]])
    await outputOf([medusa, ...args], { cwd, environment });
  const close = await startServer([medusa, 'start', '--host', '127.0.0.1', '--port', String(port)], {
    cwd,
    environment,
    ready: 'Server is ready',
    seconds: 600,
  });
  const address = `http://127.0.0.1:${port}`;
  const { token } = await openApi(address).post('/auth/user/emailpass', user);
  const admin = openApi(address, { authorization: `Bearer ${token}` });
  const shop = {
    preset: 'medusa',
    databaseUrl: await readerUrl(),
    products: async () => (await admin.get('/admin/products?limit=1000')).products.map(({ id }: Row) => id),
    orders: openOrders(admin),
    close,
  };
  return [shop, lifeInMedusa(openVerbs(address, admin, await stock(admin)))];
}

/** A life of orders, placed and changed through the store and admin API. The first step places the first order. */
function lifeInMedusa(verbs: ReturnType<typeof openVerbs>): Step[] {
  const { id, step, unseen, making } = openLife();
  const rest = { 'SHIRT-M': 1, MUG: 1, STICKER: 1 };
  const ada = { email: 'ada@example.com', password: 'secret-123' };

  return [
    making('ada', 'Ada, a registered customer, orders three shirts, a mug and a free sticker', () =>
      verbs.order({ ...ada, items: { 'SHIRT-M': 3, MUG: 1, STICKER: 1 } }),
    ),
    step('Ada’s payment is captured', () => verbs.capture(id('ada'))),
    making('first', 'two of three shirts are packed', () => verbs.pack(id('ada'), { 'SHIRT-M': 2 })),
    step('the first parcel leaves', () => verbs.ship(id('ada'), id('first'), { 'SHIRT-M': 2 }, 'T1')),
    making('second', 'the third shirt, the mug and the sticker are packed', () => verbs.pack(id('ada'), rest)),
    step('the first parcel arrives', () => verbs.deliver(id('ada'), id('first'))),
    step('the second parcel leaves without a tracking number', () => verbs.ship(id('ada'), id('second'), rest, '')),
    step('the second parcel arrives', () => verbs.deliver(id('ada'), id('second'))),
    making('return', 'Ada wants to return the mug', () => verbs.requestReturn(id('ada'), { MUG: 1 })),
    step('the mug comes back', () => verbs.receiveReturn(id('ada'), id('return'), { MUG: 1 })),
    step('the mug is paid back', () => verbs.refund(id('ada'), 10)),
    making('gus', 'Gus, a guest, orders two mugs and a shirt', () =>
      verbs.order({ email: 'gus@example.com', items: { MUG: 2, 'SHIRT-L': 1 } }),
    ),
    step('Gus’s payment is captured', () => verbs.capture(id('gus'))),
    making('cancelled', 'Gus’s parcel is packed', () => verbs.pack(id('gus'), { MUG: 1 })),
    step('its packing is cancelled', () => verbs.cancelParcel(id('gus'), id('cancelled'))),
    step('Gus’s order is edited after payment: a shirt more, a mug less', () =>
      verbs.edit(id('gus'), { add: { 'SHIRT-M': 1 }, set: { MUG: 1 } }),
    ),
    step('an edit takes a line out', () => verbs.edit(id('gus'), { set: { 'SHIRT-L': 0 } })),
    step('Gus’s address is edited in place', () => verbs.changeAddress(id('gus'), { last_name: 'King' })),
    step('the e-mail address of Gus’s order is edited', () => verbs.changeEmail(id('gus'), 'gus.king@example.com')),
    unseen('Ada joins a customer group', () => verbs.joinGroup(ada.email, 'Silver')),
    making('promotion', 'Ada orders four shirts and a mug with a promotion of 10 %', async () => {
      await verbs.addPromotion('TEN', 10);
      return verbs.order({ ...ada, isKnown: true, items: { 'SHIRT-M': 3, 'SHIRT-L': 1, MUG: 1 }, promotion: 'TEN' });
    }),
    step('one of the three shirts is taken out again', () => verbs.edit(id('promotion'), { set: { 'SHIRT-M': 2 } })),
    step('all of Gus’s order is cancelled', () => verbs.cancel(id('gus'))),
    step('an unpaid order is cancelled', () => verbs.cancel(id('promotion'))),
  ];
}

type Purchase = {
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
function openVerbs(url: string, admin: Api, goods: Goods) {
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
      const parcels = '?fields=*fulfillments';
      const { order: before } = await admin.get(`/admin/orders/${order}${parcels}`);
      const known = new Set((before.fulfillments ?? []).map(({ id }: Row) => id));
      const body = { items: await itemsOf(order, items), location_id: goods.locationId };
      const { order: packed } = await admin.post(`/admin/orders/${order}/fulfillments${parcels}`, body);
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

const fields = [
  'id,display_id,created_at,canceled_at,email,customer_id,total',
  '*items,*items.detail,*billing_address,*shipping_address,*summary',
  '*payment_collections.payments,*payment_collections.payments.captures,*payment_collections.payments.refunds',
  '*fulfillments,*fulfillments.items,*fulfillments.labels',
].join(',');

/** Asks Medusa's admin API for all orders. */
function openOrders(admin: Api): () => Promise<Map<string, ShopOrder>> {
  // Medusa's API takes returned pieces out of the total of a line. The highest total that it gave for as many pieces.
  const totals = new Map<string, number>();
  return async () => {
    const { orders } = await admin.get(`/admin/orders?limit=1000&fields=${fields}`);
    const { customers } = await admin.get('/admin/customers?limit=1000&fields=id,*groups');
    const groups = new Map<string, Row[]>(customers.map((one: Row) => [one.id, one.groups ?? []]));
    const priceOf = ({ id, quantity, total }: Row) => {
      const key = `${id} ${quantity}`;
      totals.set(key, Math.max(Number(total), totals.get(key) ?? 0));
      return cents(totals.get(key) ?? 0);
    };
    const shown = (order: Row) => orderOf(order, groups.get(order.customer_id) ?? [], priceOf);
    return new Map(orders.map((order: Row) => [String(order.display_id), shown(order)]));
  };
}

function orderOf(order: Row, groups: readonly Row[], priceOf: (item: Row) => number): ShopOrder {
  const { billing_address: billing, shipping_address: shipping } = order;
  const name = (address: Row | null) =>
    [address?.first_name, address?.last_name].filter(Boolean).join(' ') || undefined;
  return {
    placedAt: order.created_at,
    total: totalOf(order),
    user: order.customer_id ?? undefined,
    name: name(billing) ?? name(shipping),
    phone: billing?.phone || shipping?.phone || undefined,
    email: order.email || undefined,
    grade: groups[0]?.name,
    lines: order.items
      .filter(({ quantity }: Row) => quantity > 0)
      .map((item: Row) => lineOf(item, priceOf(item), order)),
  };
}

const cents = (amount: number) => Math.round(amount * 100) / 100;

const paymentsOf = (order: Row): Row[] => (order.payment_collections ?? []).flatMap((one: Row) => one.payments ?? []);
const amountOf = (order: Row, what: 'captures' | 'refunds') =>
  sum(paymentsOf(order).flatMap((one) => (one[what] ?? []).map(({ amount }: Row) => Number(amount))));

/** The price of the order. If some of it was paid back, at most what was paid and not paid back. */
function totalOf(order: Row): number {
  const [paid, refunded] = [amountOf(order, 'captures'), amountOf(order, 'refunds')];
  const total = Number(order.summary.current_order_total);
  if (order.canceled_at) return cents(Math.max(0, paid - refunded));
  return cents(refunded > 0 ? Math.max(0, Math.min(total, paid - refunded)) : total);
}

function lineOf(item: Row, price: number, order: Row): ShopLine {
  const { detail } = item;
  const quantity = Number(item.quantity);
  const parcels: Row[] = (order.fulfillments ?? [])
    .filter((one: Row) => !one.canceled_at && one.items.some((part: Row) => part.line_item_id === item.id))
    .toSorted((a: Row, b: Row) => ((a.shipped_at ?? '') < (b.shipped_at ?? '') ? -1 : 1));
  const gone = parcels.filter(({ shipped_at }) => shipped_at);
  const hasArrived = detail.delivered_quantity >= quantity;
  const status = () => {
    if (order.canceled_at) return 'cancelled';
    if (detail.return_received_quantity + detail.return_dismissed_quantity >= quantity) return 'returned';
    if (detail.return_requested_quantity > 0) return 'refund_requested';
    if (hasArrived) return 'delivery_finished';
    if (detail.shipped_quantity > 0 || detail.delivered_quantity > 0) return 'delivery_started';
    if (detail.fulfilled_quantity > 0) return 'delivery_preparing';
    return amountOf(order, 'captures') > 0 ? 'paid' : 'unpaid';
  };
  return {
    id: item.id,
    product: item.product_id,
    price,
    status: status(),
    hasLeft: gone.length > 0,
    hasArrived,
    invoice: gone.flatMap(({ labels }) => labels ?? []).find((one: Row) => one.tracking_number)?.tracking_number,
    carrier: undefined,
    options: item.variant_option_values ?? (item.variant_title ? { Variant: item.variant_title } : {}),
  };
}

type Goods = Awaited<ReturnType<typeof stock>>;
/**
 * Fills the shop through its admin API: one region with 20 % tax, a place to send from, shirts in two sizes, a mug, a
 * sticker for nothing and two customer groups. Prices are without tax.
 *
 * @returns what its orders need: ids, and the key with which a storefront speaks to the store API.
 */
async function stock(admin: Api) {
  const { sales_channels: channels } = await admin.get('/admin/sales-channels');
  const channel = channels[0].id;
  const { api_key: key } = await admin.post('/admin/api-keys', { title: 'storefront', type: 'publishable' });
  await admin.post(`/admin/api-keys/${key.id}/sales-channels`, { add: [channel] });
  const { stores } = await admin.get('/admin/stores');
  await admin.post(`/admin/stores/${stores[0].id}`, {
    supported_currencies: [{ currency_code: 'eur', is_default: true }],
    default_sales_channel_id: channel,
  });
  const { region } = await admin.post('/admin/regions', {
    name: 'Austria',
    currency_code: 'eur',
    countries: ['at'],
    payment_providers: ['pp_system_default'],
  });
  await admin.post('/admin/tax-regions', {
    country_code: 'at',
    provider_id: 'tp_system',
    default_tax_rate: { rate: 20, code: 'standard', name: 'Standard' },
  });
  const { locationId, shippingOptionId, profileId } = await openShipping(admin, channel);

  const variants: Record<string, string> = {};
  const sell = async (title: string, option: string, all: { sku: string; value: string; price: number }[]) => {
    const { product } = await admin.post('/admin/products', {
      title,
      status: 'published',
      shipping_profile_id: profileId,
      sales_channels: [{ id: channel }],
      options: [{ title: option, values: all.map(({ value }) => value) }],
      variants: all.map(({ sku, value, price }) => ({
        title: `${title} ${value}`,
        sku,
        manage_inventory: false,
        options: { [option]: value },
        prices: [{ currency_code: 'eur', amount: price }],
      })),
    });
    for (const { id, sku } of product.variants) variants[sku] = id;
  };
  await sell('Shirt', 'Size', [
    { sku: 'SHIRT-M', value: 'M', price: 19.99 },
    { sku: 'SHIRT-L', value: 'L', price: 21.99 },
  ]);
  await sell('Mug', 'Colour', [{ sku: 'MUG', value: 'Blue', price: 8.33 }]);
  await sell('Sticker', 'Form', [{ sku: 'STICKER', value: 'Round', price: 0 }]);

  const groups: Record<string, string> = {};
  for (const name of ['Gold', 'Silver']) {
    const { customer_group: group } = await admin.post('/admin/customer-groups', { name });
    groups[name] = group.id;
  }
  return { variants, groups, regionId: region.id, locationId, shippingOptionId, publishableKey: key.token };
}

async function openShipping(admin: Api, channel: string): Promise<Row> {
  const { stock_location: location } = await admin.post('/admin/stock-locations', { name: 'Wien' });
  const at = `/admin/stock-locations/${location.id}`;
  await admin.post(`${at}/sales-channels`, { add: [channel] });
  await admin.post(`${at}/fulfillment-providers`, { add: ['manual_manual'] });
  await admin.post(`${at}/fulfillment-sets`, { name: 'Post', type: 'shipping' });
  const { stock_location: opened } = await admin.get(`${at}?fields=*fulfillment_sets`);
  const { fulfillment_set: set } = await admin.post(
    `/admin/fulfillment-sets/${opened.fulfillment_sets[0].id}/service-zones`,
    { name: 'Austria', geo_zones: [{ type: 'country', country_code: 'at' }] },
  );
  const { shipping_profiles: profiles } = await admin.get('/admin/shipping-profiles');
  const profileId =
    profiles[0]?.id ??
    (await admin.post('/admin/shipping-profiles', { name: 'Default', type: 'default' })).shipping_profile.id;
  const { shipping_option: option } = await admin.post('/admin/shipping-options', {
    name: 'Post',
    price_type: 'flat',
    provider_id: 'manual_manual',
    service_zone_id: set.service_zones[0].id,
    shipping_profile_id: profileId,
    type: { label: 'Post', description: 'Post', code: 'post' },
    prices: [{ currency_code: 'eur', amount: 5 }],
    rules: [],
  });
  return { locationId: location.id, shippingOptionId: option.id, profileId };
}

type Api = ReturnType<typeof openApi>;
// biome-ignore lint/suspicious/noExplicitAny: Medusa's documentation says what its responses are
type Row = Record<string, any>;

/** An HTTP API of Medusa, with the headers of one user. It throws Medusa's own words where it refuses. */
function openApi(url: string, headers: Record<string, string> = {}) {
  const ask = async (method: string, path: string, body?: object): Promise<Row> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} ${JSON.stringify(body)}\n${response.status} ${text}`);
    return JSON.parse(text) as Row;
  };
  return {
    get: (path: string) => ask('GET', path),
    post: (path: string, body: object = {}) => ask('POST', path, body),
  };
}
