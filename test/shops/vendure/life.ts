import type { Step } from '../shop.ts';
import type { Goods } from './goods.ts';
import type { Vendure } from './shop.ts';
import { openVerbs } from './verbs.ts';

/**
 * A life of orders in Vendure, placed and changed through its shop and admin API. The first step places the first
 * order.
 */
export function lifeInVendure(vendure: Vendure, goods: Goods): Step[] {
  const verbs = openVerbs(vendure, goods);
  const { order, ship, move, modify, cancel, refund } = verbs;
  /** Ids of orders and parcels by the name that the steps give them. */
  const made: Record<string, string> = {};
  const id = (name: string) => made[name] ?? '';

  return [
    {
      name: 'Ada, a registered customer, orders three shirts, a mug and a free sticker',
      act: async () => {
        made.ada = await order({
          customer: { emailAddress: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', password: 'secret-123' },
          items: { 'SHIRT-M': 3, MUG: 1, STICKER: 1 },
        });
      },
    },
    {
      name: 'Gus, a guest, orders two mugs on account',
      act: async () => {
        made.gus = await order({
          customer: { emailAddress: 'gus@example.com', firstName: 'Gus', lastName: '' },
          items: { MUG: 2, 'SHIRT-L': 1 },
          payment: 'invoice',
        });
      },
    },
    { name: 'the payment on account is settled', act: () => verbs.settlePayment(id('gus')) },
    {
      name: 'two of three shirts are packed',
      act: async () => {
        made.first = await ship(id('ada'), { 'SHIRT-M': 2 }, 'T1');
      },
    },
    {
      name: 'the third shirt, the mug and the sticker are packed',
      act: async () => {
        made.second = await ship(id('ada'), { 'SHIRT-M': 1, MUG: 1, STICKER: 1 }, 'T2');
      },
    },
    { name: 'the first parcel leaves', act: () => move(id('first'), 'Shipped') },
    { name: 'the first parcel arrives', act: () => move(id('first'), 'Delivered') },
    { name: 'the second parcel leaves', act: () => move(id('second'), 'Shipped') },
    { name: 'the second parcel arrives', act: () => move(id('second'), 'Delivered') },
    { name: 'the mug comes back: cancelled', act: () => cancel(id('ada'), { MUG: 1 }) },
    {
      name: 'the mug comes back: a refund is made',
      act: async () => {
        made.refund = await refund(id('ada'), 891);
      },
    },
    { name: 'the mug comes back: the refund is settled', act: () => verbs.settleRefund(id('refund')) },
    {
      name: 'another 5.00 is paid back out of goodwill',
      act: async () => verbs.settleRefund(await refund(id('ada'), 500)),
    },
    {
      name: 'Gus’s parcel is packed and its packing cancelled',
      act: async () => {
        const parcel = await ship(id('gus'), { MUG: 2 }, 'T3');
        await move(parcel, 'Cancelled');
      },
    },
    {
      name: 'Gus’s order is modified after payment: a shirt more, a surcharge, a mug less, another phone number',
      act: async () => {
        await modify(id('gus'), {
          addItems: [{ productVariantId: goods.variants['SHIRT-M'], quantity: 1 }],
          adjustOrderLines: [{ orderLineId: await verbs.lineOf(id('gus'), 'MUG'), quantity: 1 }],
          surcharges: [{ description: 'Wrapping', price: 150, priceIncludesTax: true, taxRate: 20 }],
          updateShippingAddress: { phoneNumber: '+43 1 555' },
        });
      },
    },
    {
      name: 'the rest is paid by hand',
      act: () => verbs.payByHand(id('gus')),
    },
    { name: 'one line of Gus’s order is cancelled', act: () => cancel(id('gus'), { 'SHIRT-L': 1 }) },
    { name: 'the line that was added later is cancelled', act: () => cancel(id('gus'), { 'SHIRT-M': 1 }) },
    { name: 'all of Gus’s order is cancelled', act: () => cancel(id('gus')) },
    {
      name: 'Ada orders four shirts with a coupon of 10 %',
      act: async () => {
        await verbs.addCoupon('TEN', 10);
        made.coupon = await order({
          customer: { emailAddress: 'ada@example.com', password: 'secret-123' },
          items: { 'SHIRT-M': 3, 'SHIRT-L': 1, MUG: 1 },
          coupon: 'TEN',
        });
      },
    },
    { name: 'one of the three shirts with a coupon is cancelled', act: () => cancel(id('coupon'), { 'SHIRT-M': 1 }) },
    {
      name: 'one shirt of the rest leaves',
      act: async () => move(await ship(id('coupon'), { 'SHIRT-M': 1 }, ''), 'Shipped'),
    },
    {
      name: 'the other two shirts of the line are cancelled after one has left',
      act: () => cancel(id('coupon'), { 'SHIRT-M': 2 }),
    },
    { name: 'Ada joins a customer group', act: () => verbs.joinGroup('ada@example.com', 'Silver') },
    { name: 'Ada joins an older group', act: () => verbs.joinGroup('ada@example.com', 'Gold') },
    { name: 'Ada changes her name', act: () => verbs.updateCustomer('ada@example.com', { lastName: 'King' }) },
    {
      name: 'the shop changes Ada’s e-mail address',
      act: () => verbs.updateCustomer('ada@example.com', { emailAddress: 'ada.king@example.com' }),
    },
    { name: 'Ada’s first order is given to Gus', act: () => verbs.giveOrder(id('ada'), 'gus@example.com') },
    { name: 'the option M becomes Medium', isInFeed: false, act: () => verbs.renameOption('M', 'Medium') },
    { name: 'the variant of the mug is deleted', act: () => verbs.deleteVariant('MUG') },
    {
      name: 'a note, which the service does not show',
      act: () => verbs.addNote(id('coupon'), 'called'),
    },
    {
      name: 'a draft order by the shop',
      act: async () => {
        made.draft = await verbs.draft('gus@example.com', { STICKER: 2, 'SHIRT-L': 1 });
      },
    },
    { name: 'Gus is deleted', act: () => verbs.deleteCustomer('gus@example.com') },
  ];
}
