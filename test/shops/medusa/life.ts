import { openLife, type Step } from '../shop.ts';
import type { Goods } from './goods.ts';
import type { Medusa } from './shop.ts';
import { openVerbs } from './verbs.ts';

/**
 * A life of orders in Medusa, placed and changed through its store and admin API. The first step places the first
 * order.
 */
export function lifeInMedusa({ url, admin }: Medusa, goods: Goods): Step[] {
  const verbs = openVerbs(url, admin, goods);
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
