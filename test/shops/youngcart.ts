import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Form, formOf, openBrowser, openPhpShop, type PhpShop, type Row } from './php.ts';
import { openLife, type Shop, type ShopLine, type ShopOrder, type Step } from './shop.ts';

/**
 * Installs and serves a gnuboard5 with Youngcart, in Korean time beside a database in another zone. Three products and
 * a member are written by SQL; all else goes through its pages.
 *
 * @param folder of its source, the one that holds `shop.config.php`.
 */
export async function startYoungcart(folder: string): Promise<[Shop, Step[]]> {
  const shop = await openPhpShop(folder);
  const { rows } = shop;
  await mkdir(join(shop.root, 'data'), { recursive: true });
  await shop.serve();
  const { hostname, username, password, pathname } = new URL(shop.database.url);
  const page = await openBrowser(shop.port)('/install/install_db.php', {
    ...formOf('table_prefix=g5_&g5_shop_prefix=g5_shop_&g5_install=1&g5_shop_install=1&admin_id=admin'),
    ...formOf('admin_pass=Admin123&admin_name=admin&admin_email=admin@example.com'),
    mysql_host: hostname,
    mysql_user: username,
    mysql_pass: password,
    mysql_db: pathname.slice(1),
  });
  if ((await rows("show tables like 'g5_shop_order'")).length === 0) throw new Error(`not installed:\n${page}`);
  await rows("set sql_mode = ''");
  await rows("insert into g5_shop_category set ca_id = '10', ca_name = '의류', ca_use = 1");
  for (const [id, name, price, subject] of products)
    await rows(
      `insert into g5_shop_item set it_id = ?, it_name = ?, it_price = ?, it_option_subject = ?, ca_id = '10', it_use = 1,
         it_stock_qty = 9999, it_time = now()`,
      [id, name, price, subject],
    );
  for (const [io_id, io_type, it_id] of [...sizes.map((size) => [size, 0, 'KNIT']), ['선물포장', 1, 'SHIRT']])
    await rows(
      'insert into g5_shop_item_option set io_id = ?, io_type = ?, it_id = ?, io_price = 1000, io_stock_qty = 99, io_use = 1',
      [io_id, io_type, it_id],
    );
  const verbs = await openVerbs(shop);
  return [
    {
      databaseUrl: await shop.database.readerUrl(),
      preset: 'youngcart5',
      products: async () => products.map(([id]) => id),
      orders: () => ordersOf(shop),
      close: shop.close,
    },
    lifeInYoungcart(verbs),
  ];
}

const sizes = ['블랙\x1eL', '블랙\x1eM'];
const products = [
  ['KNIT', '니트', 39_000, '색상,사이즈'],
  ['SHIRT', '셔츠 "A"', 25_000, ''],
  ['SOCK', '양말 🧦', 3000, ''],
] as const;

type Verbs = Awaited<ReturnType<typeof openVerbs>>;
/** `size`: of the product's options; `extra`: something that belongs to the product, such as wrapping. */
type Item = { product: string; pieces: number; size?: string; extra?: string };

/** What customers do in the shop, and the staff in the back office. Orders are named by their numbers. */
async function openVerbs({ port, rows }: PhpShop) {
  /** @throws Error with the text of the page's `alert`, the way in which the shop refuses. */
  const submit = async (visit: Visit, path: string, form: Form, referer: string) => {
    const page = await visit(path, form, { referer: `http://127.0.0.1:${port}${referer}` });
    const refusal = /alert\("([^"]+)"/.exec(page)?.[1];
    if (refusal) throw new Error(`Youngcart refused ${path}: ${refusal}`);
    return page;
  };
  const login = async (id: string, password: string): Promise<Visit> => {
    const visit = openBrowser(port);
    await submit(visit, '/bbs/login_check.php', { mb_id: id, mb_password: password, url: '/' }, '/bbs/login.php');
    return visit;
  };
  const staff = await login('admin', 'Admin123');
  const key = /admin_csrf_token_key\s*=\s*"([^"]+)"/.exec(await staff('/adm/'))?.[1] ?? '';
  const admin = async (path: string, form: Form, referer = '/adm/shop_admin/orderlist.php') => {
    const headers = { referer: `http://127.0.0.1:${port}${referer}`, 'x-requested-with': 'XMLHttpRequest' };
    const { token } = JSON.parse(await staff('/adm/ajax.token.php', { admin_csrf_token_key: key }, headers));
    return submit(staff, `/adm/${path}`, { token, ...form }, referer);
  };
  return {
    async order(items: readonly Item[], person: Form, account?: [id: string, password: string]): Promise<string> {
      const visit = account ? await login(...account) : openBrowser(port);
      const rowsOf = ({ product, pieces, size = '', extra }: Item) => {
        const value = size ? `색상:${size.replace('\x1e', ' / 사이즈:')}` : product;
        const wrapping = extra ? [{ id: extra, type: 1, value: `포장:${extra}`, pieces: 1 }] : [];
        return [{ id: size, type: 0, value, pieces }, ...wrapping];
      };
      const column = (name: 'id' | 'type' | 'value' | 'pieces') =>
        Object.fromEntries(items.map((item) => [item.product, rowsOf(item).map((row) => row[name])]));
      const ids = items.map(({ product }) => product);
      const cart = (form: Form, referer: string) => submit(visit, '/shop/cartupdate.php', form, `/shop/${referer}.php`);
      const options = { io_type: column('type'), io_id: column('id'), io_value: column('value') };
      await cart({ act: '', sw_direct: 0, it_id: ids, ...options, ct_qty: column('pieces') }, 'item');
      await cart({ act: 'buy', ct_chk: ids.map(() => 1), it_id: ids }, 'cart');
      const form = await visit('/shop/orderform.php');
      const hidden = (name: string) => new RegExp(`name="${name}"\\s+value="(\\d+)"`).exec(form)?.[1] ?? '0';
      const order: Form = {
        od_price: hidden('od_price'),
        org_od_price: hidden('od_price'),
        od_send_cost: hidden('od_send_cost'),
        ...formOf('od_send_cost2=0&item_coupon=0&od_coupon=0&od_send_coupon=0&od_temp_point=0&od_memo=&od_hope_date='),
        ...formOf('od_tel=&od_hp=&od_zip=04524&od_addr1=서울&od_addr2=&od_addr3=&od_addr_jibeon=&ad_subject='),
        ...formOf('od_b_name=x&od_b_tel=02-1&od_b_hp=&od_b_zip=04524&od_b_addr1=서울&od_b_addr2=&od_b_addr3='),
        ...formOf('od_b_addr_jibeon=&od_settle_case=무통장&od_bank_account=bank&od_deposit_name=x'),
        od_pwd: account ? '' : 'guest1234',
        it_id: ids,
        it_price: ids.map(() => 0),
        cp_id: ids.map(() => ''),
        cp_price: ids.map(() => 0),
      };
      await submit(visit, '/shop/orderformupdate.php', { ...order, ...person }, '/shop/orderform.php');
      const [{ last } = {}] = await rows('select max(od_id) as last from g5_shop_order');
      return String(last);
    },
    /** By SQL, with the password of the staff: the forms ask for the letters of a picture. */
    member: (id: string, name: string) =>
      rows(
        `insert into g5_member (mb_id, mb_password, mb_name, mb_nick, mb_email, mb_hp, mb_level, mb_datetime, mb_email_certify)
         select ?, mb_password, ?, ?, concat(?, '@example.com'), '010-7777-0000', 2, now(), now()
         from g5_member where mb_id = 'admin'`,
        [id, name, name, id],
      ),
    /** The list of orders moves whole orders. */
    move: (order: string, from: string, to: string, invoice = '') =>
      admin('shop_admin/orderlistupdate.php', {
        chk: [0],
        od_id: [order],
        current_status: [from],
        od_status: to,
        od_invoice: [invoice],
        od_invoice_time: [invoice && koreanTime(new Date())],
        od_delivery_company: [invoice && 'CJ대한통운'],
      }),
    /** The form of an order moves the lines of some products, and changes their pieces. */
    async moveLines(order: string, to: string, chosen: (product: string) => boolean = () => true, pieces?: number) {
      const lines = await rows('select * from g5_shop_cart where od_id = ? order by ct_id', [order]);
      const checked = lines.flatMap(({ it_id }, at) => (chosen(it_id) ? [at] : []));
      await admin(
        'shop_admin/orderformcartupdate.php',
        {
          od_id: order,
          ct_status: to,
          ct_id: lines.map(({ ct_id }) => ct_id),
          ct_chk: checked,
          ct_qty: lines.map(({ it_id, ct_qty }) => (chosen(it_id) ? (pieces ?? ct_qty) : ct_qty)),
        },
        `/adm/shop_admin/orderform.php?od_id=${order}`,
      );
    },
    deleteOrder: (order: string) => admin('shop_admin/orderlistdelete.php', { chk: [0], od_id: [order] }),
    deleteMember: (id: string) =>
      admin('member_list_update.php', { act_button: '선택삭제', chk: [0], mb_id: [id] }, '/adm/member_list.php'),
  };
}

type Visit = ReturnType<typeof openBrowser>;

const koreanTime = (date: Date) => new Date(date.getTime() + 9 * 3600_000).toISOString().slice(0, 19).replace('T', ' ');

function lifeInYoungcart({ order, move, moveLines, member, deleteOrder, deleteMember }: Verbs): Step[] {
  const { id, step, unseen, making } = openLife();
  const kim = { od_name: '김민지', od_email: 'kim@example.com', od_hp: '010-7777-0000' };
  const guest = { od_name: '손님 🎉', od_email: 'guest@example.com', od_tel: '02-123-4567' };
  return [
    making('kim', '김민지, a member, orders two sizes, a shirt with wrapping and socks', async () => {
      await member('kim', '김민지');
      const items = [
        { product: 'KNIT', pieces: 2, size: sizes[0] ?? '' },
        { product: 'SHIRT', pieces: 1, extra: '선물포장' },
        { product: 'SOCK', pieces: 5 },
      ];
      return order(items, kim, ['kim', 'Admin123']);
    }),
    making('guest', 'a guest orders a shirt and socks', () =>
      order(
        [
          { product: 'SHIRT', pieces: 2 },
          { product: 'SOCK', pieces: 1 },
        ],
        guest,
      ),
    ),
    step('the list of orders notes a payment', () => move(id('kim'), '주문', '입금')),
    unseen('it is prepared', () => move(id('kim'), '입금', '준비')),
    step('it leaves', () => move(id('kim'), '준비', '배송', 'INV-1')),
    unseen('the list of orders finishes it, without a date', () => move(id('kim'), '배송', '완료')),
    unseen('the socks come back', () => moveLines(id('kim'), '반품', (product) => product === 'SOCK')),
    unseen('the form gives the guest three shirts', () => moveLines(id('guest'), '주문', (one) => one === 'SHIRT', 3)),
    unseen('the guest’s socks are cancelled', () => moveLines(id('guest'), '취소', (one) => one === 'SOCK')),
    unseen('the form finishes the shirts, with a date', () => moveLines(id('guest'), '완료', (one) => one === 'SHIRT')),
    making('third', 'the guest orders again', () => order([{ product: 'SOCK', pieces: 9 }], guest)),
    unseen('all of it is cancelled', () => moveLines(id('third'), '품절')),
    making('fourth', '김민지 orders socks', () => order([{ product: 'SOCK', pieces: 1 }], kim, ['kim', 'Admin123'])),
    unseen('김민지’s last order is deleted', () => deleteOrder(id('fourth'))),
    unseen('김민지 is deleted', () => deleteMember('kim')),
  ];
}

/** Youngcart has no API: the rows that its pages wrote. It notes itself what is still to be paid. */
async function ordersOf({ rows }: PhpShop): Promise<Map<string, ShopOrder>> {
  // The back office clears the address of a member whom it deletes.
  const orders = await rows(`select o.*, m.mb_id is not null as is_member
    from g5_shop_order o left join g5_member m on m.mb_id = o.mb_id and m.mb_email <> ''`);
  const lines = await rows("select * from g5_shop_cart where io_type = 0 and ct_status not in ('쇼핑', '삭제')");
  const orderOf = (order: Row): ShopOrder => {
    const mayBeWrittenTo = order.mb_id === '' || order.is_member === 1;
    return {
      placedAt: `${order.od_time.replace(' ', 'T')}+09:00`,
      total: order.od_misu + order.od_receipt_price,
      user: order.mb_id || undefined,
      name: order.od_name,
      phone: (mayBeWrittenTo && (order.od_hp || order.od_tel)) || undefined,
      email: (mayBeWrittenTo && order.od_email) || undefined,
      grade: undefined,
      lines: lines.filter(({ od_id }) => od_id === order.od_id).map((line) => lineOf(line, order)),
    };
  };
  return new Map(orders.map((order) => [String(order.od_id), orderOf(order)]));
}

const lineOf = (line: Row, order: Row): ShopLine => ({
  id: String(line.ct_id),
  product: line.it_id,
  price: (line.ct_price + line.io_price) * line.ct_qty - line.cp_price,
  status: words[line.ct_status] ?? line.ct_status,
  hasLeft: ['배송', '완료', '반품'].includes(line.ct_status) && !order.od_invoice_time.startsWith('0000'),
  hasArrived: line.ct_status === '완료' && line.ct_history.includes('완료|'),
  invoice: order.od_invoice || undefined,
  carrier: (order.od_invoice && order.od_delivery_company) || undefined,
  options: line.io_id ? { 옵션: line.ct_option } : {},
});

const words: Record<string, string> = {
  주문: 'unpaid',
  입금: 'paid',
  준비: 'delivery_preparing',
  배송: 'delivery_started',
  완료: 'delivery_finished',
  취소: 'cancelled',
  품절: 'cancelled',
  반품: 'returned',
};
