import { createHash, createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeForm, type Form, formOf, openBrowser, openPhpShop, type PhpShop, type Row } from './php.ts';
import { openLife, type Shop, type ShopLine, type ShopOrder, type Step, sum } from './shop.ts';

/** Numbers of a new shop's states. */
const states = { processing: 2, shipped: 3, complete: 5, cancelled: 7 };

/**
 * Installs and serves an OpenCart 4.1 with its sample goods, in Korean time beside a database in another zone.
 *
 * @param folder `upload` of its source.
 */
export async function startOpencart(folder: string): Promise<[Shop, Step[]]> {
  const shop = await openPhpShop(folder);
  const { root, port, php, rows } = shop;
  for (const file of ['config.php', 'admin/config.php']) await writeFile(join(root, file), '');
  const { hostname, port: databasePort, username, password, pathname } = new URL(shop.database.url);
  const options = {
    ...formOf('username=admin&password=admin123&email=admin@example.com&db_driver=mysqli&db_prefix=oc_'),
    http_server: `http://127.0.0.1:${port}/`,
    db_hostname: hostname,
    db_port: databasePort,
    db_username: username,
    db_password: password,
    db_database: pathname.slice(1),
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const installed = await php('install/cli_install.php', 'install', ...flags);
  if (!installed.includes('SUCCESS')) throw new Error(`OpenCart was not installed:\n${installed}`);
  await rows("insert into oc_api_ip set api_id = 1, ip = '127.0.0.1'");
  await rows("update oc_setting set value = 'Asia/Seoul' where `key` = 'config_timezone'");
  await shop.serve();
  const verbs = await openVerbs(shop);
  return [
    {
      databaseUrl: await shop.database.readerUrl(),
      preset: 'opencart4',
      products: async () => (await rows('select product_id from oc_product')).map((row) => String(row.product_id)),
      orders: () => ordersOf(shop),
      close: shop.close,
    },
    lifeInOpencart(verbs),
  ];
}

type Verbs = Awaited<ReturnType<typeof openVerbs>>;
type Item = { product_id: number; quantity: number; option?: Form };

/** What customers do through the API, and the staff in the back office. Orders are named by their ids. */
async function openVerbs({ port, rows }: PhpShop) {
  const [{ key } = {}] = await rows('select `key` from oc_api where api_id = 1');
  const visit = openBrowser(port);
  /** A call of the signed API. */
  const call = async (name: string, form: Form): Promise<Row> => {
    const time = Math.floor(Date.now() / 1000);
    // The shop signs the form as it has cleaned it.
    const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
    const cleaned = encodeForm(form, (text) => text.trim().replace(/[&<>"]/g, (one) => entities[one] ?? one));
    const digest = createHash('md5').update(cleaned).digest('hex');
    const signed = ['api/order', name, 'Default', `127.0.0.1:${port}`, '/', 0, 'en-gb', 'USD', digest, time, ''];
    const signature = createHmac('sha1', key).update(signed.join('\n')).digest('base64');
    const query = encodeForm({
      ...formOf('route=api/order&username=Default&store_id=0&language=en-gb&currency=USD'),
      call: name,
      time,
      signature: encodeURIComponent(signature),
    });
    return expect(await openBrowser(port)(`/index.php?${query}`, form), `api ${name}`);
  };
  const loginPage = await visit('/admin/index.php?route=common/login');
  const loginToken = /login_token=([0-9a-f]+)/i.exec(loginPage)?.[1];
  const login = `/admin/index.php?route=common/login.login&login_token=${loginToken}`;
  const { redirect } = JSON.parse(await visit(login, { username: 'admin', password: 'admin123' }));
  const userToken = /user_token=([0-9a-z]+)/i.exec(redirect)?.[1];
  /** A form of the back office. */
  const admin = async (route: string, form: Form) =>
    expect(await visit(`/admin/index.php?route=${route}&user_token=${userToken}`, form), route);

  const address = formOf(
    'address_id=0&company=&address_1=Ring 1&address_2=&city=Seoul&postcode=04524&country_id=222&zone_id=3563',
  );
  const order = async (customer: Form, product: Item[], extra: Form = {}): Promise<string> => {
    const { firstname = '', lastname = '' } = customer;
    const addresses = ['payment', 'shipping'].flatMap((kind) =>
      Object.entries({ ...address, firstname, lastname }).map(([name, value]) => [`${kind}_${name}`, value]),
    );
    const { order_id } = await call('confirm', {
      ...formOf('customer_group_id=1&customer_id=0&telephone='),
      ...customer,
      ...Object.fromEntries(addresses),
      shipping_method: { name: 'Flat Shipping Rate', code: 'flat.flat', cost: 5, tax_class_id: 9 },
      payment_method: { name: 'Cash On Delivery', code: 'cod.cod' },
      product,
      order_status_id: 1,
      ...extra,
    });
    return String(order_id);
  };
  return {
    order,
    /** Saves an order as the back office does: all its lines are written again. */
    edit: (order_id: string, customer: Form, product: Item[], order_status_id: number) =>
      order(customer, product, { order_id, order_status_id }),
    async customer(person: Form): Promise<Form> {
      const account = formOf('customer_id=0&language_id=1&password=Abcdef12&confirm=Abcdef12&status=1&safe=1');
      const { customer_id } = await admin('customer/customer.save', { ...account, ...person });
      return { ...person, customer_id };
    },
    deleteCustomer: (id: string) => admin('customer/customer.delete', { selected: [id] }),
    coupon: (code: string) =>
      admin('marketing/coupon.save', {
        name: code,
        code,
        ...formOf('discount=10&type=P&total=0&logged=0&shipping=0&status=1&uses_total=100&uses_customer=100'),
        ...formOf('date_start=2020-01-01&date_end=2099-01-01'),
      }),
    state: (order_id: string, order_status_id: number) =>
      call('history_add', { order_id, order_status_id, comment: '', notify: 0 }),
    /** A return that is complete. */
    async takeBack(order_id: string, product_id: number, quantity: number): Promise<string> {
      const { return_id } = await admin('sale/returns.save', {
        ...formOf(
          'return_id=0&customer_id=0&firstname=x&lastname=y&email=r@example.com&telephone=123456&product=x&model=x',
        ),
        ...formOf('opened=0&return_reason_id=1&return_action_id=4&return_status_id=3&comment=&date_ordered=2026-01-01'),
        order_id,
        product_id,
        quantity,
      });
      return String(return_id);
    },
    deleteReturn: (id: string) => admin('sale/returns.delete', { selected: [id] }),
    deleteOrder: (id: string) => admin('sale/order.delete', { selected: [id] }),
  };
}

/** The response of a form. @throws Error where the shop refuses it. */
function expect(text: string, what: string): Row {
  const response = text.startsWith('{') ? JSON.parse(text) : { error: text.slice(0, 1000) };
  if (response.error) throw new Error(`OpenCart refused ${what}: ${JSON.stringify(response.error)}`);
  return response;
}

function lifeInOpencart(verbs: Verbs): Step[] {
  const { order, edit, state } = verbs;
  const { id, step, unseen, making } = openLife();
  let ada: Form = { firstname: 'Ada', lastname: '"Q" & <S> 🎉', email: 'ada@example.com' };
  const gus = { firstname: 'Gus', lastname: '배', email: 'gus@example.com', telephone: '+82 10 2222' };
  // Two sizes of one product, and a product with options of every kind.
  const sizes = [
    { product_id: 30, quantity: 1, option: { 226: 15 } },
    { product_id: 30, quantity: 2, option: { 226: 16 } },
  ];
  const everything = {
    ...formOf('209=text&217=1&218=6&219=2026-12-01&220=2026-12-01 10:00&221=10:00&222=x'),
    208: 'engraved <b>"A&B"</b>',
    223: [8, 9],
  };
  return [
    making('ada', 'Ada, a registered customer, orders one product in two sizes', async () => {
      ada = await verbs.customer({ ...ada, telephone: '010-1234', customer_group_id: 1 });
      return order(ada, sizes);
    }),
    making('gus', 'Gus, a guest, orders with options of all kinds and a coupon', async () => {
      await verbs.coupon('TEN');
      const items = [
        { product_id: 42, quantity: 2, option: everything },
        { product_id: 40, quantity: 3 },
      ];
      return order(gus, items, { coupon: 'TEN' });
    }),
    step('Ada’s order is paid', () => state(id('ada'), states.processing)),
    step('it leaves', () => state(id('ada'), states.shipped)),
    step('it arrives', () => state(id('ada'), states.complete)),
    step('the back office saves it as it is', () => edit(id('ada'), ada, sizes, states.complete)),
    making('return', 'all pieces of both sizes come back', () => verbs.takeBack(id('ada'), 30, 3)),
    unseen('the return is deleted', () => verbs.deleteReturn(id('return'))),
    step('one piece of two sizes comes back', () => verbs.takeBack(id('ada'), 30, 1)),
    step('Gus’s order leaves and arrives', async () => {
      await state(id('gus'), states.shipped);
      await state(id('gus'), states.complete);
    }),
    step('one of its three comes back', () => verbs.takeBack(id('gus'), 40, 1)),
    step('the other two come back', () => verbs.takeBack(id('gus'), 40, 2)),
    making('third', 'Gus orders again', () =>
      order(gus, [
        { product_id: 40, quantity: 1 },
        { product_id: 28, quantity: 1 },
      ]),
    ),
    step('the back office drops a line, adds one and a piece', () =>
      edit(id('third'), gus, [{ product_id: 40, quantity: 2 }, ...sizes.slice(0, 1)], states.processing),
    ),
    step('it is cancelled', () => state(id('third'), states.cancelled)),
    unseen('Ada’s account is deleted', () => verbs.deleteCustomer(String(ada.customer_id))),
    unseen('Gus’s second order is deleted', () => verbs.deleteOrder(id('third'))),
  ];
}

/** OpenCart has no API that shows an order: the rows that its programs wrote, summed up order by order. */
async function ordersOf({ rows }: PhpShop): Promise<Map<string, ShopOrder>> {
  const [orders, lines, chosen, history, returns, customers, groups] = await Promise.all([
    rows('select * from oc_order where order_status_id > 0'),
    rows('select * from oc_order_product'),
    rows("select * from oc_order_option where type in ('select', 'radio')"),
    rows('select * from oc_order_history'),
    rows('select * from oc_return where return_status_id = 3'),
    rows('select customer_id from oc_customer'),
    rows('select * from oc_customer_group_description where language_id = 1'),
  ]);
  const living = new Set(customers.map((row) => row.customer_id));
  const orderOf = (order: Row): ShopOrder => {
    const isOfOrder = (row: Row) => row.order_id === order.order_id;
    const isGuest = order.customer_id === 0;
    const isKnown = isGuest || living.has(order.customer_id);
    const ofOrder = lines.filter(isOfOrder);
    const pieces = (all: Row[], product: number) =>
      sum(all.flatMap((row) => (isOfOrder(row) && row.product_id === product ? row.quantity : [])));
    const lineOf = (line: Row): ShopLine => {
      const isBack = pieces(returns, line.product_id) >= pieces(ofOrder, line.product_id);
      const own = chosen.filter((row) => row.order_product_id === line.order_product_id);
      return {
        id: String(line.order_product_id),
        product: String(line.product_id),
        price: Number((Number(line.total) + Number(line.tax) * line.quantity).toFixed(4)),
        status: isBack ? 'returned' : (words[order.order_status_id] ?? String(order.order_status_id)),
        hasLeft: history.some((row) => isOfOrder(row) && row.order_status_id === states.shipped),
        hasArrived: order.order_status_id === states.complete && !isBack,
        invoice: undefined,
        carrier: undefined,
        options: Object.fromEntries(own.map((row) => [plain(row.name), plain(row.value)])),
      };
    };
    return {
      placedAt: `${order.date_added.replace(' ', 'T')}+09:00`,
      total: Number(order.total),
      user: isGuest ? undefined : String(order.customer_id),
      name: plain(`${order.firstname} ${order.lastname}`),
      phone: (isKnown && order.telephone) || undefined,
      email: isKnown ? order.email : undefined,
      grade: isGuest ? undefined : groups.find((row) => row.customer_group_id === order.customer_group_id)?.name,
      lines: ofOrder.map(lineOf),
    };
  };
  return new Map(orders.map((order) => [String(order.order_id), orderOf(order)]));
}

const words: Record<number, string> = {
  1: 'unpaid',
  [states.processing]: 'paid',
  [states.shipped]: 'delivery_started',
  [states.complete]: 'delivery_finished',
  [states.cancelled]: 'cancelled',
};

const characters: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };
const plain = (text: string) => text.replace(/&(?:lt|gt|quot|amp);/g, (entity) => characters[entity] ?? entity);
