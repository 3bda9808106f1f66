import { join } from 'node:path';
import { freePort } from '../../../src/sandbox/embedded-postgres/index.ts';
import { installShop } from '../install.ts';
import { startServer } from '../processes.ts';
import { openLife, type Shop, type ShopLine, type ShopOrder, type Step, sum } from '../shop.ts';

/** The database that Vendure works on, and the address for a user who may only read it. */
type VendureDatabase = {
  preset: 'vendure' | 'vendure-mysql';
  url: string;
  readerUrl(): Promise<string>;
  /** Zone of Vendure's process. */
  timeZone: string;
  /** SHOP_TIME_ZONE, if `init` cannot know it. */
  shopTimeZone?: string;
};

/** Installs the real Vendure, starts it in a process of its own and fills it. */
export async function startVendure(database: VendureDatabase): Promise<[Shop, Step[]]> {
  const { preset, url, timeZone, shopTimeZone } = database;
  const port = await freePort();
  await installShop(import.meta.dirname);
  const close = await startServer([join(import.meta.dirname, 'server.js')], {
    cwd: import.meta.dirname,
    environment: { DATABASE_URL: url, PORT: String(port), TZ: timeZone, VENDURE_DISABLE_TELEMETRY: 'true' },
    ready: 'ready',
    seconds: 300,
  });
  const address = `http://127.0.0.1:${port}`;
  const admin = openApi(`${address}/admin-api`);
  await admin.call('mutation { login(username: "superadmin", password: "superadmin") { __typename } }');
  const goods = await stock(admin);
  const shop = {
    preset,
    databaseUrl: await database.readerUrl(),
    ...(shopTimeZone && { timeZone: shopTimeZone }),
    products: async () =>
      (await admin.call('query { products(options: { take: 1000 }) { items { id } } }')).items.map(({ id }: Row) => id),
    orders: openOrders(admin),
    close,
  };
  return [shop, lifeInVendure(openVerbs(admin, `${address}/shop-api`, goods), goods)];
}

/** A life of orders, placed and changed through the shop and admin API. The first step places the first order. */
function lifeInVendure(verbs: ReturnType<typeof openVerbs>, { variants }: Goods): Step[] {
  const { order, ship, move, modify, cancel, refund } = verbs;
  const { id, step, unseen, making } = openLife();

  return [
    making('ada', 'Ada, a registered customer, orders three shirts, a mug and a free sticker', () =>
      order({
        customer: { emailAddress: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', password: 'secret-123' },
        items: { 'SHIRT-M': 3, MUG: 1, STICKER: 1 },
      }),
    ),
    making('gus', 'Gus, a guest, orders two mugs on account', () =>
      order({
        customer: { emailAddress: 'gus@example.com', firstName: 'Gus', lastName: '' },
        items: { MUG: 2, 'SHIRT-L': 1 },
        payment: 'invoice',
      }),
    ),
    step('the payment on account is settled', () => verbs.settlePayment(id('gus'))),
    making('first', 'two of three shirts are packed', () => ship(id('ada'), { 'SHIRT-M': 2 }, 'T1')),
    making('second', 'the third shirt, the mug and the sticker are packed', () =>
      ship(id('ada'), { 'SHIRT-M': 1, MUG: 1, STICKER: 1 }, 'T2'),
    ),
    step('the first parcel leaves', () => move(id('first'), 'Shipped')),
    step('the first parcel arrives', () => move(id('first'), 'Delivered')),
    step('the second parcel leaves', () => move(id('second'), 'Shipped')),
    step('the second parcel arrives', () => move(id('second'), 'Delivered')),
    step('the mug comes back: cancelled', () => cancel(id('ada'), { MUG: 1 })),
    making('refund', 'the mug comes back: a refund is made', () => refund(id('ada'), 891)),
    step('the mug comes back: the refund is settled', () => verbs.settleRefund(id('refund'))),
    step('another 5.00 is paid back out of goodwill', async () => verbs.settleRefund(await refund(id('ada'), 500))),
    step('Gus’s parcel is packed and its packing cancelled', async () => {
      const parcel = await ship(id('gus'), { MUG: 2 }, 'T3');
      await move(parcel, 'Cancelled');
    }),
    step(
      'Gus’s order is modified after payment: a shirt more, a surcharge, a mug less, another phone number',
      async () => {
        await modify(id('gus'), {
          addItems: [{ productVariantId: variants['SHIRT-M'], quantity: 1 }],
          adjustOrderLines: [{ orderLineId: await verbs.lineOf(id('gus'), 'MUG'), quantity: 1 }],
          surcharges: [{ description: 'Wrapping', price: 150, priceIncludesTax: true, taxRate: 20 }],
          updateShippingAddress: { phoneNumber: '+43 1 555' },
        });
      },
    ),
    step('the rest is paid by hand', () => verbs.payByHand(id('gus'))),
    step('one line of Gus’s order is cancelled', () => cancel(id('gus'), { 'SHIRT-L': 1 })),
    step('the line that was added later is cancelled', () => cancel(id('gus'), { 'SHIRT-M': 1 })),
    step('all of Gus’s order is cancelled', () => cancel(id('gus'))),
    making('coupon', 'Ada orders four shirts with a coupon of 10 %', async () => {
      await verbs.addCoupon('TEN', 10);
      return order({
        customer: { emailAddress: 'ada@example.com', password: 'secret-123' },
        items: { 'SHIRT-M': 3, 'SHIRT-L': 1, MUG: 1 },
        coupon: 'TEN',
      });
    }),
    step('one of the three shirts with a coupon is cancelled', () => cancel(id('coupon'), { 'SHIRT-M': 1 })),
    step('one shirt of the rest leaves', async () => move(await ship(id('coupon'), { 'SHIRT-M': 1 }, ''), 'Shipped')),
    step('the other two shirts of the line are cancelled after one has left', () =>
      cancel(id('coupon'), { 'SHIRT-M': 2 }),
    ),
    step('Ada joins a customer group', () => verbs.joinGroup('ada@example.com', 'Silver')),
    step('Ada joins an older group', () => verbs.joinGroup('ada@example.com', 'Gold')),
    step('Ada changes her name', () => verbs.updateCustomer('ada@example.com', { lastName: 'King' })),
    step('the shop changes Ada’s e-mail address', () =>
      verbs.updateCustomer('ada@example.com', { emailAddress: 'ada.king@example.com' }),
    ),
    step('Ada’s first order is given to Gus', () => verbs.giveOrder(id('ada'), 'gus@example.com')),
    unseen('the option M becomes Medium', () => verbs.renameOption('M', 'Medium')),
    step('the variant of the mug is deleted', () => verbs.deleteVariant('MUG')),
    step('a note, which the service does not show', () => verbs.addNote(id('coupon'), 'called')),
    making('draft', 'a draft order by the shop', () => verbs.draft('gus@example.com', { STICKER: 2, 'SHIRT-L': 1 })),
    step('Gus is deleted', () => verbs.deleteCustomer('gus@example.com')),
  ];
}

type Purchase = {
  customer: { emailAddress: string; firstName?: string; lastName?: string; password?: string };
  /** Pieces by article number. */
  items: Record<string, number>;
  payment?: 'card' | 'invoice';
  coupon?: string;
};

const address = {
  fullName: 'Somebody',
  streetLine1: 'Ring 1',
  city: 'Wien',
  postalCode: '1010',
  countryCode: 'AT',
  phoneNumber: '+43 1 234',
};

/** What people do in the shop and its administration. Orders, parcels, refunds and customers are named by their ids. */
function openVerbs(admin: Api, shopUrl: string, { variants, shipping, groups }: Goods) {
  const orderOf = (id: string) =>
    admin.call(
      'query ($id: ID!) { order(id: $id) { state payments { id amount } lines { id quantity productVariant { sku } } } }',
      { id },
    );
  const lineOf = async (order: string, sku: string): Promise<string> => {
    const { lines } = await orderOf(order);
    return lines.find((line: Row) => line.productVariant.sku === sku && line.quantity > 0).id;
  };
  const linesOf = (order: string, items: Record<string, number>) =>
    Promise.all(
      Object.entries(items).map(async ([sku, quantity]) => ({ orderLineId: await lineOf(order, sku), quantity })),
    );
  const toState = (id: string, state: string) =>
    admin.change('transitionOrderToState', { id: ['ID', id], state: ['String', state] });
  const payByHand = (orderId: string) => {
    const input = { orderId, method: 'card', transactionId: 'by hand', metadata: {} };
    return admin.change('addManualPaymentToOrder', { input: ['ManualPaymentInput', input] });
  };
  const customerOf = async (emailAddress: string): Promise<string> => {
    const { items } = await admin.call(
      'query ($options: CustomerListOptions) { customers(options: $options) { items { id } } }',
      { options: { filter: { emailAddress: { eq: emailAddress } } } },
    );
    return items[0].id;
  };

  return {
    /** Goes through the checkout. A customer with a password is registered first. */
    async order({ customer, items, payment = 'card', coupon }: Purchase): Promise<string> {
      const shop = openApi(shopUrl);
      const { password, ...person } = customer;
      if (password !== undefined) {
        if (person.firstName)
          await shop.change('registerCustomerAccount', { input: ['RegisterCustomerInput', { ...person, password }] });
        await shop.change('login', { username: ['String', person.emailAddress], password: ['String', password] });
      }
      for (const [sku, quantity] of Object.entries(items))
        await shop.change('addItemToOrder', { productVariantId: ['ID', variants[sku]], quantity: ['Int', quantity] });
      if (password === undefined) await shop.change('setCustomerForOrder', { input: ['CreateCustomerInput', person] });
      await shop.change('setOrderShippingAddress', { input: ['CreateAddressInput', address] });
      await shop.change('setOrderShippingMethod', { shippingMethodId: ['[ID!]', [shipping.Post]] });
      if (coupon !== undefined) await shop.change('applyCouponCode', { couponCode: ['String', coupon] });
      await shop.change('transitionOrderToState', { state: ['String', 'ArrangingPayment'] });
      const given = { method: payment, metadata: {} };
      const order = `... on Order { id } ${orError}`;
      return (await shop.change('addPaymentToOrder', { input: ['PaymentInput', given] }, order)).id;
    },
    async settlePayment(order: string) {
      const { payments } = await orderOf(order);
      for (const { id } of payments) await admin.change('settlePayment', { id: ['ID', id] });
    },
    /** Packs a parcel; it leaves by `move`. */
    async ship(order: string, items: Record<string, number>, trackingCode: string): Promise<string> {
      const handler = {
        code: 'manual-fulfillment',
        arguments: [
          { name: 'method', value: 'Post' },
          { name: 'trackingCode', value: trackingCode },
        ],
      };
      const input = { handler, lines: await linesOf(order, items) };
      const parcel = `... on Fulfillment { id } ${orError}`;
      return (await admin.change('addFulfillmentToOrder', { input: ['FulfillOrderInput', input] }, parcel)).id;
    },
    move: (parcel: string, state: 'Shipped' | 'Delivered' | 'Cancelled') =>
      admin.change('transitionFulfillmentToState', { id: ['ID', parcel], state: ['String', state] }),
    /** Cancels pieces of an order, or all of it with its shipping. */
    async cancel(orderId: string, items?: Record<string, number>) {
      const what = items ? { lines: await linesOf(orderId, items) } : { cancelShipping: true };
      await admin.change('cancelOrder', { input: ['CancelOrderInput', { orderId, reason: 'test', ...what }] });
    },
    /** @param cents to be paid back; the refund waits until it is settled. */
    async refund(order: string, cents: number): Promise<string> {
      const { payments } = await orderOf(order);
      const pieces = { lines: [], shipping: 0, adjustment: 0 };
      const input = { paymentId: payments[0].id, amount: cents, reason: 'test', ...pieces };
      const refund = `... on Refund { id } ${orError}`;
      return (await admin.change('refundOrder', { input: ['RefundOrderInput', input] }, refund)).id;
    },
    settleRefund: (id: string) =>
      admin.change('settleRefund', { input: ['SettleRefundInput', { id, transactionId: 'paid back' }] }),
    /** Changes an order that was paid. If it costs more now, `payByHand` pays the rest. */
    async modify(orderId: string, changes: Record<string, unknown>) {
      await toState(orderId, 'Modifying');
      await admin.change('modifyOrder', { input: ['ModifyOrderInput', { dryRun: false, orderId, ...changes }] });
    },
    async payByHand(order: string) {
      await toState(order, 'ArrangingAdditionalPayment');
      await payByHand(order);
      await toState(order, 'PaymentSettled');
    },
    /** An order that the shop's staff types in, and the customer pays by hand. */
    async draft(emailAddress: string, items: Record<string, number>): Promise<string> {
      const { id } = await admin.call('mutation { createDraftOrder { id } }');
      for (const [sku, quantity] of Object.entries(items)) {
        const input = { productVariantId: variants[sku], quantity };
        await admin.change('addItemToDraftOrder', { orderId: ['ID', id], input: ['AddItemToDraftOrderInput', input] });
      }
      const customerId = await customerOf(emailAddress);
      await admin.change('setCustomerForDraftOrder', { orderId: ['ID', id], customerId: ['ID', customerId] });
      const input = { ...address, phoneNumber: '' };
      const given = { orderId: ['ID', id], input: ['CreateAddressInput', input] } satisfies Given;
      await admin.change('setDraftOrderShippingAddress', given, 'id');
      await admin.change('setDraftOrderShippingMethod', {
        orderId: ['ID', id],
        shippingMethodId: ['ID', shipping.Courier],
      });
      await toState(id, 'ArrangingPayment');
      await payByHand(id);
      return id;
    },
    addCoupon(couponCode: string, percent: number) {
      const input = {
        enabled: true,
        couponCode,
        conditions: [],
        actions: [{ code: 'order_percentage_discount', arguments: [{ name: 'discount', value: String(percent) }] }],
        translations: [{ languageCode: 'en', name: couponCode }],
      };
      return admin.change('createPromotion', { input: ['CreatePromotionInput', input] });
    },
    async joinGroup(emailAddress: string, group: string) {
      const ids = [await customerOf(emailAddress)];
      const given = { customerGroupId: ['ID', groups[group]], customerIds: ['[ID!]', ids] } satisfies Given;
      await admin.change('addCustomersToGroup', given, 'id');
    },
    async updateCustomer(emailAddress: string, changes: Record<string, string>) {
      const input = { id: await customerOf(emailAddress), ...changes };
      await admin.change('updateCustomer', { input: ['UpdateCustomerInput', input] });
    },
    async deleteCustomer(emailAddress: string) {
      await admin.change('deleteCustomer', { id: ['ID', await customerOf(emailAddress)] }, 'result');
    },
    async giveOrder(orderId: string, emailAddress: string) {
      const input = { orderId, customerId: await customerOf(emailAddress) };
      await admin.change('setOrderCustomer', { input: ['SetOrderCustomerInput', input] }, 'id');
    },
    addNote: (id: string, note: string) =>
      admin.change('addNoteToOrder', { input: ['AddNoteToOrderInput', { id, note, isPublic: false }] }, 'id'),
    async renameOption(name: string, to: string) {
      const { items } = await admin.call('query { productOptions { items { id name } } }');
      const { id } = items.find((one: Row) => one.name === name);
      const input = { id, translations: [{ languageCode: 'en', name: to }] };
      await admin.change('updateProductOption', { input: ['UpdateProductOptionInput', input] }, 'id');
    },
    deleteVariant: (sku: string) => admin.change('deleteProductVariant', { id: ['ID', variants[sku]] }, 'result'),
    lineOf,
  };
}

/** Asks Vendure's admin API for all orders that were placed. */
function openOrders(admin: Api): () => Promise<Map<string, ShopOrder>> {
  // Vendure's API gives no price for a line without pieces: the price of the most pieces that it gave before.
  const prices = new Map<string, { pieces: number; price: number }>();
  return async () => {
    const { items } = await admin.call<{ items: Row[] }>(allOrders);
    const customers = await admin.call<{ items: Row[] }>(
      'query { customers(options: { take: 1000 }) { items { id } } }',
    );
    const living = new Set(customers.items.map(({ id }) => id));
    for (const { id, quantity, proratedLinePriceWithTax } of items.flatMap(({ lines }) => lines)) {
      if (quantity > 0 && quantity >= (prices.get(id)?.pieces ?? 0))
        prices.set(id, { pieces: quantity, price: proratedLinePriceWithTax });
    }
    const priceOf = ({ id, quantity, proratedLinePriceWithTax }: Row) =>
      quantity > 0 ? proratedLinePriceWithTax : (prices.get(id)?.price ?? 0);
    return new Map(items.map((order) => [order.code, orderOf(order, living.has(order.customer.id), priceOf)]));
  };
}

const allOrders = `query {
  orders(options: { filter: { orderPlacedAt: { isNull: false } }, take: 1000 }) {
    items {
      code orderPlacedAt totalWithTax
      shippingAddress { phoneNumber }
      customer { id firstName lastName phoneNumber emailAddress user { identifier } groups { id name } }
      payments { amount state refunds { total state } }
      lines {
        id quantity proratedLinePriceWithTax
        productVariant { productId options { name group { name } } }
        fulfillmentLines { quantity fulfillment { id state method trackingCode } }
      }
    }
  }
}`;

/** @param isLiving whether the customer was not deleted. No login and no contact of one who was goes to the service. */
function orderOf(order: Row, isLiving: boolean, priceOf: (line: Row) => number): ShopOrder {
  const { customer } = order;
  const groups: Row[] = customer?.groups ?? [];
  const oldest = groups.toSorted((a, b) => Number(a.id) - Number(b.id))[0];
  return {
    placedAt: order.orderPlacedAt,
    total: totalOf(order) / 100,
    user: isLiving ? customer?.user?.identifier : undefined,
    name: [customer?.firstName, customer?.lastName].filter(Boolean).join(' ') || undefined,
    phone: isLiving ? order.shippingAddress?.phoneNumber || customer?.phoneNumber || undefined : undefined,
    email: isLiving ? customer?.emailAddress : undefined,
    grade: oldest?.name,
    lines: order.lines.map((line: Row) => lineOf(line, priceOf(line))),
  };
}

/** If something was paid back, what the customer has paid and not got back; otherwise the price of the order. */
function totalOf({ totalWithTax, payments }: Row): number {
  const isPaid = ({ state }: Row) => ['Authorized', 'Settled'].includes(state);
  const paid = sum(payments.filter(isPaid).map((one: Row) => one.amount));
  const refunds: Row[] = payments.flatMap((one: Row) => one.refunds);
  const refunded = sum(refunds.filter(({ state }) => state === 'Settled').map(({ total }) => total));
  return refunded > 0 ? Math.max(0, Math.min(totalWithTax, paid - refunded)) : totalWithTax;
}

function lineOf(line: Row, price: number): ShopLine {
  const parcels: Row[] = line.fulfillmentLines
    .map(({ quantity, fulfillment }: Row) => ({ ...fulfillment, quantity }))
    .toSorted((a: Row, b: Row) => Number(a.id) - Number(b.id));
  const gone = parcels.filter(({ state }) => ['Shipped', 'Delivered'].includes(state));
  const pieces = (states: string[]) =>
    sum(parcels.flatMap(({ state, quantity }) => (states.includes(state) ? quantity : [])));
  const arrived = pieces(['Delivered']);
  const hasArrived = arrived > 0 && arrived >= line.quantity;
  const status = () => {
    if (line.quantity === 0) return gone.length > 0 ? 'returned' : 'cancelled';
    if (hasArrived) return 'delivery_finished';
    if (gone.length > 0) return 'delivery_started';
    return pieces(['Created', 'Pending']) > 0 ? 'delivery_preparing' : 'paid';
  };
  return {
    id: line.id,
    product: line.productVariant.productId,
    price: price / 100,
    status: status(),
    hasLeft: gone.length > 0,
    hasArrived,
    invoice: gone.find(({ trackingCode }) => trackingCode)?.trackingCode,
    carrier: gone.find(({ method }) => method)?.method,
    options: Object.fromEntries(line.productVariant.options.map((one: Row) => [one.group.name, one.name])),
  };
}

type Goods = Awaited<ReturnType<typeof stock>>;
const named = (name: string) => [{ languageCode: 'en', name, slug: name.toLowerCase(), description: '' }];
const withName = (name: string) => [{ languageCode: 'en', name }];

/**
 * Fills the shop through its admin API: shirts in two sizes, a mug at a reduced tax, a sticker for nothing and two
 * customer groups. Prices are in cents, without tax.
 *
 * @returns ids by name.
 */
async function stock(admin: Api) {
  const idsOf = async (list: string): Promise<Record<string, string>> => {
    const { items } = await admin.call<{ items: Row[] }>(`query { ${list} { items { id name } } }`);
    return Object.fromEntries(items.map(({ id, name }) => [name, id]));
  };
  const taxes = await idsOf('taxCategories');
  const shipping = await idsOf('shippingMethods');
  const variants: Record<string, string> = {};
  const sell = async (product: string, all: { sku: string; price: number; tax: string; options?: string[] }[]) => {
    const given = { translations: named(product) };
    const { id } = await admin.change('createProduct', { input: ['CreateProductInput', given] }, 'id');
    const sizes = all.flatMap((one) => one.options ?? []);
    const options = await addOptions(admin, id, product, sizes);
    const input = all.map(({ sku, price, tax, options: own = [] }) => ({
      productId: id,
      sku,
      price,
      taxCategoryId: taxes[tax],
      optionIds: own.map((name) => options[name]),
      stockOnHand: 1000,
      translations: withName(sku),
    }));
    const inputs: Given = { input: ['[CreateProductVariantInput!]', input] };
    const created = await admin.change<Row[]>('createProductVariants', inputs, 'id sku');
    for (const variant of created) variants[variant.sku] = variant.id;
  };
  await sell('Shirt', [
    { sku: 'SHIRT-M', price: 1999, tax: 'Standard', options: ['M'] },
    { sku: 'SHIRT-L', price: 2199, tax: 'Standard', options: ['L'] },
  ]);
  await sell('Mug', [{ sku: 'MUG', price: 833, tax: 'Reduced' }]);
  await sell('Sticker', [{ sku: 'STICKER', price: 0, tax: 'Standard' }]);

  const groups: Record<string, string> = {};
  for (const name of ['Gold', 'Silver']) {
    const group = await admin.change('createCustomerGroup', { input: ['CreateCustomerGroupInput', { name }] }, 'id');
    groups[name] = group.id;
  }
  return { variants, shipping, groups };
}

async function addOptions(
  admin: Api,
  productId: string,
  product: string,
  names: string[],
): Promise<Record<string, string>> {
  if (names.length === 0) return {};
  const input = {
    code: `${product}-size`,
    translations: withName('Size'),
    options: names.map((name) => ({ code: name.toLowerCase(), translations: withName(name) })),
  };
  const groups: Given = { input: ['CreateProductOptionGroupInput', input] };
  const group = await admin.change('createProductOptionGroup', groups, 'id options { id name }');
  const given: Given = { productId: ['ID', productId], optionGroupId: ['ID', group.id] };
  await admin.change('addOptionGroupToProduct', given, 'id');
  return Object.fromEntries(group.options.map(({ id, name }: Row) => [name, id]));
}

type Api = ReturnType<typeof openApi>;
/** Arguments by name, each with its type in GraphQL and its value. None may be null. */
type Given = Readonly<Record<string, [type: string, value: unknown]>>;
// biome-ignore lint/suspicious/noExplicitAny: the documents say what their responses are
type Row = Record<string, any>;

/** A GraphQL address of Vendure, with the session of one user. */
function openApi(url: string) {
  let token: string | undefined;
  const api = {
    /**
     * Sends one document, and gives the value of its first field.
     *
     * @throws Error where the response has errors, or is one of Vendure's error results.
     */
    async call<Value = Row>(document: string, variables: Record<string, unknown> = {}): Promise<Value> {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify({ query: document, variables }),
      });
      // A new session, or the same one after a login.
      token = response.headers.get('vendure-auth-token') ?? token;
      const { data, errors } = (await response.json()) as { data?: Record<string, unknown>; errors?: unknown };
      const value = Object.values(data ?? {})[0];
      const isErrorResult = typeof value === 'object' && value !== null && 'errorCode' in value;
      if (errors || !data || isErrorResult)
        throw new Error(
          `Vendure refused ${document}\n${JSON.stringify(variables)}\n${JSON.stringify(errors ?? value)}`,
        );
      return value as Value;
    },
    /**
     * Sends a mutation, and gives its result.
     *
     *     await api.change('cancelOrder', { input: ['CancelOrderInput', { orderId: '1' }] });
     *
     * @param fields of the result. Default: none but those of an error result.
     */
    change<Value = Row>(name: string, given: Given, fields = `__typename ${orError}`): Promise<Value> {
      const types = Object.entries(given).map(([argument, [type]]) => `$${argument}: ${type}!`);
      const names = Object.keys(given).map((argument) => `${argument}: $${argument}`);
      const values = Object.entries(given).map(([argument, [, value]]) => [argument, value]);
      const document = `mutation (${types.join()}) { ${name}(${names.join()}) { ${fields} } }`;
      return api.call<Value>(document, Object.fromEntries(values));
    },
  };
  return api;
}

/** Asks for the code and message of an error result, if a mutation has one. */
const orError = '... on ErrorResult { errorCode message }';
