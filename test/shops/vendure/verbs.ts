import { orError, type Row } from './api.ts';
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
      {
        id,
      },
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
    admin.call(
      `mutation ($id: ID!, $state: String!) { transitionOrderToState(id: $id, state: $state) { __typename ${orError} } }`,
      {
        id,
        state,
      },
    );
  const customerOf = async (emailAddress: string): Promise<string> => {
    const filter = { emailAddress: { eq: emailAddress } };
    const { items } = await admin.call(
      'query ($options: CustomerListOptions) { customers(options: $options) { items { id } } }',
      {
        options: { filter },
      },
    );
    return items[0].id;
  };

  return {
    /** Goes through the checkout. A customer with a password is registered first. */
    async order({ customer, items, payment = 'card', coupon }: Purchase): Promise<string> {
      const shop = visitor();
      const { password, ...person } = customer;
      if (password !== undefined) {
        const input = { ...person, password };
        if (person.firstName)
          await shop.call(
            `mutation ($input: RegisterCustomerInput!) { registerCustomerAccount(input: $input) { __typename ${orError} } }`,
            { input },
          );
        await shop.call(
          `mutation ($name: String!, $password: String!) { login(username: $name, password: $password) { __typename ${orError} } }`,
          {
            name: person.emailAddress,
            password,
          },
        );
      }
      for (const [sku, quantity] of Object.entries(items)) {
        await shop.call(
          `mutation ($id: ID!, $quantity: Int!) { addItemToOrder(productVariantId: $id, quantity: $quantity) { __typename ${orError} } }`,
          { id: variants[sku], quantity },
        );
      }
      if (password === undefined)
        await shop.call(
          `mutation ($input: CreateCustomerInput!) { setCustomerForOrder(input: $input) { __typename ${orError} } }`,
          { input: person },
        );
      await shop.call(
        `mutation ($input: CreateAddressInput!) { setOrderShippingAddress(input: $input) { __typename ${orError} } }`,
        { input: address },
      );
      await shop.call(
        `mutation ($id: [ID!]!) { setOrderShippingMethod(shippingMethodId: $id) { __typename ${orError} } }`,
        { id: [shipping.Post] },
      );
      if (coupon !== undefined)
        await shop.call(`mutation ($code: String!) { applyCouponCode(couponCode: $code) { __typename ${orError} } }`, {
          code: coupon,
        });
      await shop.call(`mutation { transitionOrderToState(state: "ArrangingPayment") { __typename ${orError} } }`);
      const { id } = await shop.call(
        `mutation ($input: PaymentInput!) { addPaymentToOrder(input: $input) { ... on Order { id } ${orError} } }`,
        { input: { method: payment, metadata: {} } },
      );
      return id;
    },
    async settlePayment(order: string) {
      const { payments } = await orderOf(order);
      for (const { id } of payments)
        await admin.call(`mutation ($id: ID!) { settlePayment(id: $id) { __typename ${orError} } }`, { id });
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
      const { id } = await admin.call(
        `mutation ($input: FulfillOrderInput!) { addFulfillmentToOrder(input: $input) { ... on Fulfillment { id } ${orError} } }`,
        { input: { handler, lines: await linesOf(order, items) } },
      );
      return id;
    },
    move: (parcel: string, state: 'Shipped' | 'Delivered' | 'Cancelled') =>
      admin.call(
        `mutation ($id: ID!, $state: String!) { transitionFulfillmentToState(id: $id, state: $state) { __typename ${orError} } }`,
        { id: parcel, state },
      ),
    /** Cancels pieces of an order, or all of it with its shipping. */
    async cancel(order: string, items?: Record<string, number>) {
      const input = {
        orderId: order,
        reason: 'test',
        ...(items ? { lines: await linesOf(order, items) } : { cancelShipping: true }),
      };
      await admin.call(
        `mutation ($input: CancelOrderInput!) { cancelOrder(input: $input) { __typename ${orError} } }`,
        { input },
      );
    },
    /** @param cents to be paid back; the refund waits until it is settled. */
    async refund(order: string, cents: number): Promise<string> {
      const { payments } = await orderOf(order);
      const { id } = await admin.call(
        `mutation ($input: RefundOrderInput!) { refundOrder(input: $input) { ... on Refund { id } ${orError} } }`,
        { input: { paymentId: payments[0].id, amount: cents, reason: 'test', lines: [], shipping: 0, adjustment: 0 } },
      );
      return id;
    },
    settleRefund: (id: string) =>
      admin.call(`mutation ($input: SettleRefundInput!) { settleRefund(input: $input) { __typename ${orError} } }`, {
        input: { id, transactionId: 'paid back' },
      }),
    /** Changes an order that was paid. Where it costs more now, `payByHand` pays the rest. */
    async modify(order: string, changes: Record<string, unknown>) {
      await toState(order, 'Modifying');
      await admin.call(
        `mutation ($input: ModifyOrderInput!) { modifyOrder(input: $input) { __typename ${orError} } }`,
        {
          input: { dryRun: false, orderId: order, ...changes },
        },
      );
    },
    async payByHand(order: string) {
      await toState(order, 'ArrangingAdditionalPayment');
      await admin.call(
        `mutation ($input: ManualPaymentInput!) { addManualPaymentToOrder(input: $input) { __typename ${orError} } }`,
        {
          input: { orderId: order, method: 'card', transactionId: 'by hand', metadata: {} },
        },
      );
      await toState(order, 'PaymentSettled');
    },
    /** An order that the shop's staff types in, and the customer pays by hand. */
    async draft(emailAddress: string, items: Record<string, number>): Promise<string> {
      const { id } = await admin.call('mutation { createDraftOrder { id } }');
      for (const [sku, quantity] of Object.entries(items)) {
        await admin.call(
          `mutation ($id: ID!, $input: AddItemToDraftOrderInput!) { addItemToDraftOrder(orderId: $id, input: $input) { __typename ${orError} } }`,
          { id, input: { productVariantId: variants[sku], quantity } },
        );
      }
      await admin.call(
        `mutation ($id: ID!, $customer: ID) { setCustomerForDraftOrder(orderId: $id, customerId: $customer) { __typename ${orError} } }`,
        {
          id,
          customer: await customerOf(emailAddress),
        },
      );
      await admin.call(
        'mutation ($id: ID!, $input: CreateAddressInput!) { setDraftOrderShippingAddress(orderId: $id, input: $input) { id } }',
        {
          id,
          input: { ...address, phoneNumber: '' },
        },
      );
      await admin.call(
        `mutation ($id: ID!, $method: ID!) { setDraftOrderShippingMethod(orderId: $id, shippingMethodId: $method) { __typename ${orError} } }`,
        {
          id,
          method: shipping.Courier,
        },
      );
      await toState(id, 'ArrangingPayment');
      await admin.call(
        `mutation ($input: ManualPaymentInput!) { addManualPaymentToOrder(input: $input) { __typename ${orError} } }`,
        {
          input: { orderId: id, method: 'card', transactionId: 'by hand', metadata: {} },
        },
      );
      return id;
    },
    addCoupon: (couponCode: string, percent: number) =>
      admin.call(
        `mutation ($input: CreatePromotionInput!) { createPromotion(input: $input) { __typename ${orError} } }`,
        {
          input: {
            enabled: true,
            couponCode,
            conditions: [],
            actions: [{ code: 'order_percentage_discount', arguments: [{ name: 'discount', value: String(percent) }] }],
            translations: [{ languageCode: 'en', name: couponCode }],
          },
        },
      ),
    async joinGroup(emailAddress: string, group: string) {
      await admin.call(
        'mutation ($group: ID!, $ids: [ID!]!) { addCustomersToGroup(customerGroupId: $group, customerIds: $ids) { id } }',
        {
          group: groups[group],
          ids: [await customerOf(emailAddress)],
        },
      );
    },
    async updateCustomer(emailAddress: string, changes: Record<string, string>) {
      await admin.call(
        `mutation ($input: UpdateCustomerInput!) { updateCustomer(input: $input) { __typename ${orError} } }`,
        {
          input: { id: await customerOf(emailAddress), ...changes },
        },
      );
    },
    async deleteCustomer(emailAddress: string) {
      await admin.call('mutation ($id: ID!) { deleteCustomer(id: $id) { result } }', {
        id: await customerOf(emailAddress),
      });
    },
    async giveOrder(order: string, emailAddress: string) {
      await admin.call('mutation ($input: SetOrderCustomerInput!) { setOrderCustomer(input: $input) { id } }', {
        input: { orderId: order, customerId: await customerOf(emailAddress) },
      });
    },
    addNote: (order: string, note: string) =>
      admin.call('mutation ($input: AddNoteToOrderInput!) { addNoteToOrder(input: $input) { id } }', {
        input: { id: order, note, isPublic: false },
      }),
    async renameOption(name: string, to: string) {
      const { items } = await admin.call('query { productOptions { items { id name } } }');
      await admin.call('mutation ($input: UpdateProductOptionInput!) { updateProductOption(input: $input) { id } }', {
        input: { id: items.find((one: Row) => one.name === name).id, translations: [{ languageCode: 'en', name: to }] },
      });
    },
    deleteVariant: (sku: string) =>
      admin.call('mutation ($id: ID!) { deleteProductVariant(id: $id) { result } }', { id: variants[sku] }),
    lineOf,
  };
}
