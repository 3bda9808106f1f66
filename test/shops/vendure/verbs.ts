import { type Given, orError, type Row } from './api.ts';
import type { Goods } from './goods.ts';
import type { Vendure } from './shop.ts';

export type Purchase = {
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
export function openVerbs({ admin, visitor }: Vendure, { variants, shipping, groups }: Goods) {
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
      const shop = visitor();
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
    /** Changes an order that was paid. Where it costs more now, `payByHand` pays the rest. */
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
