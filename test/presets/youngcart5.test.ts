import { expect, test } from 'vitest';
import { hasMariadb } from '../harness/mariadb.ts';
import { each, openMariadbShop } from './preset-world.ts';

test.skipIf(!hasMariadb)('a life of orders in Youngcart 5 arrives at the service as the shop has it', async () => {
  const shop = await openMariadbShop('youngcart5', { timeZone: 'Asia/Seoul', products: ['1001', '1002'] });
  await shop.given(`
    insert into g5_member (mb_id) values ('hong'), ('kim');
    insert into g5_shop_category values ('10', '의류', 1), ('1010', '셔츠', 0);
    insert into g5_shop_cart (ct_id, od_id, it_id, ct_status, ct_history, ct_price, ct_qty) values (90, 77, '1001', '쇼핑', '', 10000, 1)`);
  await shop.expectCatalog({ categories: { '10': '의류', '1010': '셔츠 < 10 (hidden)' } });

  const first = '2026112110000012';
  const second = '2026112111000034';
  await shop.step(
    { feed: [first] },
    `insert into g5_shop_order (od_id, mb_id, od_name, od_email, od_hp, od_cart_price, od_send_cost, od_receipt_point, od_status, od_mobile, od_time)
       values (${first}, 'hong', '홍길동', 'hong@example.com', '010-1', 31000, 2500, 500, '주문', 1, :now);
     insert into g5_shop_cart (ct_id, od_id, it_id, ct_status, ct_history, ct_price, ct_option, ct_qty, io_id, io_type, io_price, cp_price) values
       (1, ${first}, '1001', '주문', '', 10000, '색상:블랙 / 사이즈:L', 2, '블랙L', 0, 1000, 2000),
       (2, ${first}, '1001', '주문', '', 10000, '포장', 1, '포장', 1, 1000, 0),
       (3, ${first}, '1002', '주문', '', 8000, '머그', 1, '', 0, 0, 0)`,
  );
  const hong = {
    user: 'hong',
    name: '홍길동',
    phone: '010-1',
    email: 'hong@example.com',
    device: 'mobile',
    mileage: 500,
    created: '+1h',
  };
  const shirt = { product: '1001', price: 20000, options: { 옵션: '색상:블랙 / 사이즈:L' } };
  const mug = { product: '1002', price: 8000 };
  expect(await shop.orders()).toEqual({
    [first]: {
      ...hong,
      total: 33000,
      lines: each({ status: 'unpaid' }, shirt, mug),
    },
  });

  /** As the list of orders does it: two states, no date. */
  const state = (from: string, to: string) => `
    update g5_shop_order set od_status = '${to}' where od_id = ${first} and od_status = '${from}';
    update g5_shop_cart set ct_status = '${to}' where od_id = ${first} and ct_status = '${from}'`;
  await shop.step(
    { feed: [first] },
    `${state('주문', '입금')}; update g5_shop_order set od_receipt_time = :now where od_id = ${first}`,
  );
  await shop.step({ feed: [] }, state('입금', '준비'));
  await shop.step(
    { feed: [first] },
    `update g5_shop_order set od_delivery_company = 'CJ대한통운', od_invoice = '6012', od_invoice_time = :now where od_id = ${first};
     ${state('준비', '배송')}`,
  );
  const parcel = { shipped: '+4h', invoice: '6012', carrier: 'CJ대한통운' };
  const sent = { ...parcel, status: 'delivery_started' };
  expect((await shop.orders())[first]?.lines).toEqual(each(sent, shirt, mug));

  // The form of the order finishes one line and notes when. The list of orders finishes the other one and notes
  // nothing.
  await shop.step(
    { feed: [] },
    `update g5_shop_cart set ct_status = '완료', ct_history = concat(ct_history, '\\n완료|admin|', :now, '|::1') where ct_id = 1`,
  );
  await shop.step({ feed: [] }, state('배송', '완료'));
  const finished = { ...parcel, status: 'delivery_finished' };
  expect((await shop.orders())[first]?.lines).toEqual([
    { ...shirt, ...finished, delivered: '+5h' },
    { ...mug, ...finished },
  ]);

  // The mug comes back and is refunded.
  await shop.step(
    { feed: [] },
    `update g5_shop_cart set ct_status = '반품', ct_history = concat(ct_history, '\\n반품|admin|', :now, '|::1') where ct_id = 3;
     update g5_shop_order set od_cancel_price = 8000 where od_id = ${first}`,
  );
  expect((await shop.orders())[first]).toMatchObject({
    total: 25000,
    lines: [finished, { ...parcel, status: 'returned' }],
  });

  // A guest's order is cancelled; another one is deleted from the list: a copy goes elsewhere, the row is gone.
  await shop.step(
    { feed: [second] },
    `insert into g5_shop_order (od_id, od_name, od_email, od_tel, od_cart_price, od_status, od_time)
       values (${second}, '김손님', 'guest@example.com', '02-1', 8000, '주문', :now);
     insert into g5_shop_cart (ct_id, od_id, it_id, ct_status, ct_history, ct_price, ct_option, ct_qty) values (5, ${second}, '1002', '주문', '', 8000, '머그', 1)`,
  );
  await shop.step(
    { feed: [] },
    `update g5_shop_cart set ct_status = '취소' where od_id = ${second};
     update g5_shop_order set od_status = '취소', od_cancel_price = 8000 where od_id = ${second}`,
  );
  expect((await shop.orders())[second]).toEqual({
    name: '김손님',
    phone: '02-1',
    email: 'guest@example.com',
    device: 'pc',
    mileage: 0,
    total: 0,
    created: '+8h',
    lines: [{ ...mug, status: 'cancelled' }],
  });

  // A member leaves, and keeps a row with the day; another one is deleted. Neither writes a date into an order.
  const third = '2026112112000056';
  await shop.step(
    { feed: [third] },
    `insert into g5_shop_order (od_id, mb_id, od_name, od_email, od_hp, od_status, od_time)
       values (${third}, 'kim', '김철수', 'kim@example.com', '010-2', '주문', :now)`,
  );
  expect(await shop.orders()).toMatchObject({ [first]: hong, [third]: { phone: '010-2', email: 'kim@example.com' } });
  await shop.step(
    { feed: [] },
    `update g5_member set mb_leave_date = '20261121' where mb_id = 'hong'; delete from g5_member where mb_id = 'kim'`,
  );
  const left = await shop.orders();
  for (const order of [left[first], left[third]])
    for (const field of ['phone', 'email']) expect(order).not.toHaveProperty(field);
  await shop.expectAgreement();

  await shop.given(
    `update g5_shop_cart set ct_status = '삭제' where od_id = ${second}; delete from g5_shop_order where od_id = ${second}`,
  );
  expect(await shop.absentOrders()).toEqual([second]);
});
