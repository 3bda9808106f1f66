import { openLife, type Step } from '../shop.ts';
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
          addItems: [{ productVariantId: goods.variants['SHIRT-M'], quantity: 1 }],
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
