import type { Step } from '../shop.ts';
import type { Goods } from './goods.ts';
import type { Medusa } from './shop.ts';
import { openVerbs } from './verbs.ts';

/**
 * A life of orders in Medusa, placed and changed through its store and admin API. The first step places the first
 * order.
 */
export function lifeInMedusa({ url, admin }: Medusa, goods: Goods): Step[] {
  const verbs = openVerbs(url, admin, goods);
  /** Ids of orders, parcels and returns by the name that the steps give them. */
  const made: Record<string, string> = {};
  const id = (name: string) => made[name] ?? '';
  const rest = { 'SHIRT-M': 1, MUG: 1, STICKER: 1 };
  const ada = { email: 'ada@example.com', password: 'secret-123' };

  return [
    {
      name: 'Ada, a registered customer, orders three shirts, a mug and a free sticker',
      act: async () => {
        made.ada = await verbs.order({ ...ada, items: { 'SHIRT-M': 3, MUG: 1, STICKER: 1 } });
      },
    },
    { name: 'Ada’s payment is captured', act: () => verbs.capture(id('ada')) },
    {
      name: 'two of three shirts are packed',
      act: async () => {
        made.first = await verbs.pack(id('ada'), { 'SHIRT-M': 2 });
      },
    },
    { name: 'the first parcel leaves', act: () => verbs.ship(id('ada'), id('first'), { 'SHIRT-M': 2 }, 'T1') },
    {
      name: 'the third shirt, the mug and the sticker are packed',
      act: async () => {
        made.second = await verbs.pack(id('ada'), rest);
      },
    },
    { name: 'the first parcel arrives', act: () => verbs.deliver(id('ada'), id('first')) },
    {
      name: 'the second parcel leaves without a tracking number',
      act: () => verbs.ship(id('ada'), id('second'), rest, ''),
    },
    { name: 'the second parcel arrives', act: () => verbs.deliver(id('ada'), id('second')) },
    {
      name: 'Ada wants to return the mug',
      act: async () => {
        made.return = await verbs.requestReturn(id('ada'), { MUG: 1 });
      },
    },
    { name: 'the mug comes back', act: () => verbs.receiveReturn(id('ada'), id('return'), { MUG: 1 }) },
    { name: 'the mug is paid back', act: () => verbs.refund(id('ada'), 10) },
    {
      name: 'Gus, a guest, orders two mugs and a shirt',
      act: async () => {
        made.gus = await verbs.order({ email: 'gus@example.com', items: { MUG: 2, 'SHIRT-L': 1 } });
      },
    },
    { name: 'Gus’s payment is captured', act: () => verbs.capture(id('gus')) },
    {
      name: 'Gus’s parcel is packed',
      act: async () => {
        made.cancelled = await verbs.pack(id('gus'), { MUG: 1 });
      },
    },
    { name: 'its packing is cancelled', act: () => verbs.cancelParcel(id('gus'), id('cancelled')) },
    {
      name: 'Gus’s order is edited after payment: a shirt more, a mug less',
      act: () => verbs.edit(id('gus'), { add: { 'SHIRT-M': 1 }, set: { MUG: 1 } }),
    },
    { name: 'an edit takes a line out', act: () => verbs.edit(id('gus'), { set: { 'SHIRT-L': 0 } }) },
    {
      name: 'Gus’s address is edited in place',
      act: () => verbs.changeAddress(id('gus'), { last_name: 'King' }),
    },
    {
      name: 'the e-mail address of Gus’s order is edited',
      act: () => verbs.changeEmail(id('gus'), 'gus.king@example.com'),
    },
    { name: 'Ada joins a customer group', isInFeed: false, act: () => verbs.joinGroup(ada.email, 'Silver') },
    {
      name: 'Ada orders four shirts and a mug with a promotion of 10 %',
      act: async () => {
        await verbs.addPromotion('TEN', 10);
        made.promotion = await verbs.order({
          ...ada,
          isKnown: true,
          items: { 'SHIRT-M': 3, 'SHIRT-L': 1, MUG: 1 },
          promotion: 'TEN',
        });
      },
    },
    {
      name: 'one of the three shirts is taken out again',
      act: () => verbs.edit(id('promotion'), { set: { 'SHIRT-M': 2 } }),
    },
    { name: 'all of Gus’s order is cancelled', act: () => verbs.cancel(id('gus')) },
    { name: 'an unpaid order is cancelled', act: () => verbs.cancel(id('promotion')) },
  ];
}
