import {
  MalformedResponseError,
  NotFoundError,
  type OrderDetail,
  RefusedError,
  type ReviewApi,
} from '../../review-api/index.ts';
import type { RawOrder } from '../../shop/orders.ts';
import { warehouseNow } from '../../warehouse/clock.ts';
import type { Db } from '../../warehouse/index.ts';
import { type OrderLink, orderLines, orderLinks } from '../../warehouse/orders/order-links.ts';
import {
  ageClock,
  ageOf,
  type ContactField,
  type ContactPolicy,
  contactFields,
  type OrderAge,
} from '../order/contact-rule.ts';
import { contactDecisions, type DesiredOrder } from '../order/desired-order.ts';
import type { LineLink } from '../order/match-sub-orders.ts';
import { readDesiredOrders } from '../order/read-desired-orders.ts';
import { isSameCode } from '../order/same-content.ts';
import { isContactThere } from '../push/post-order.ts';
import { openServiceHealth } from '../service-health.ts';
import { compareOrder, type OrderComparison } from './compare-order.ts';

/** What the shop has of an order, and what review-sync remembers of it. */
export type ShopOrder = {
  code: string;
  raw: RawOrder;
  link: OrderLink | undefined;
  lines: LineLink[];
  /** Undefined where the order cannot be read; `fault` says why. */
  desired: DesiredOrder | undefined;
  fault: string | undefined;
};

/** What the service shows of an order. `failed`: nobody knows, for this reason. */
export type Shown = { kind: 'found'; detail: OrderDetail } | { kind: 'absent' } | { kind: 'failed'; reason: string };

/** An order at both ends. `comparison` is there where both ends have it and can be read. */
export type OrderLook = {
  shop: ShopOrder;
  shown: Shown;
  /** What the contact rule leaves out of a push. */
  withheld: ContactField[];
  /** Undefined where the order cannot be read. */
  age: OrderAge | undefined;
  comparison: OrderComparison | undefined;
};

export type LookDeps = {
  api: Pick<ReviewApi, 'orders'>;
  db: Db;
  /** This machine's clock. */
  now: () => Date;
  /** ORDER_CONTACT_MAX_AGE_DAYS. */
  contactMaxAgeDays: number;
};

/** Adds to the shop's rows what review-sync remembers of them. Reads the warehouse only. */
export async function rememberedOf(db: Db, raws: readonly RawOrder[]): Promise<ShopOrder[]> {
  const codes = raws.map((raw) => raw.order.code ?? '');
  const links = await orderLinks(db, codes);
  const lines = await orderLines(db, codes);
  const { orders, deadLetters } = await readDesiredOrders(db, raws);
  const byCode = new Map(orders.map((one) => [one.prepared.order.code, one]));
  const faults = new Map(deadLetters.map(({ order_code: code, key, reason }) => [code ?? key, reason]));
  return raws.map((raw): ShopOrder => {
    const code = raw.order.code ?? '';
    const desired = byCode.get(code);
    return {
      code,
      raw,
      link: links.get(code),
      lines: (lines.get(code) ?? []) as LineLink[],
      desired,
      fault: desired ? undefined : (faults.get(code) ?? 'the order cannot be read'),
    };
  });
}

/**
 * Looks orders up at the service and compares. `requests` is how many requests the lookups have sent so far, one for most
 * orders. Sends nothing but GET.
 */
export async function openLookup(deps: LookDeps) {
  const now = ageClock(deps.now, await warehouseNow(deps.db));
  const health = openServiceHealth(deps.api);
  let requests = 0;
  const get = async <T>(send: (limits: { giveUpAfterMs?: number | undefined }) => Promise<T>) => {
    requests += 1;
    // A lookup that succeeds shows that the service is up: nothing is written here.
    const isUp = () => {};
    return health.ofRecord({ hasFailedBefore: false }).attempt(isUp, ({ giveUpAfterMs }) => send({ giveUpAfterMs }));
  };

  async function byId(id: number, code: string): Promise<Shown> {
    const shown = await settled(get((limits) => deps.api.orders.get(id, limits)));
    // The service may have given the id to another order.
    return shown.kind === 'found' && !isSameCode(shown.detail.code, code) ? { kind: 'absent' } : shown;
  }

  return {
    get requests() {
      return requests;
    },

    /** The order as the service shows it: by its id where it is known, else by its code. */
    async show(code: string, orderId: number | null): Promise<Shown> {
      const known = orderId === null ? undefined : await byId(orderId, code);
      if (known && known.kind !== 'absent') return known;
      return settled(get((limits) => deps.api.orders.getByCode(code, limits)));
    },

    /** @throws the client's errors when the service as a whole fails. */
    async look(shop: ShopOrder, policy: ContactPolicy): Promise<OrderLook> {
      const shown = await this.show(shop.code, shop.link?.orderId ?? null);
      const withheld = withheldFrom({ ...deps, now }, shop, shown, policy);
      const { desired, lines: links, link } = shop;
      const unseen = (link?.unseen ?? []) as LineLink[];
      const age = desired && ageOf(desired.prepared.order.createdAt, now(), deps.contactMaxAgeDays);
      const comparison =
        desired && shown.kind === 'found'
          ? compareOrder(desired, shown.detail, { links, unseen, withheld })
          : undefined;
      return { shop, shown, withheld, age, comparison };
    },
  };
}

async function settled(looked: Promise<{ value: OrderDetail } | { failed: string }>): Promise<Shown> {
  try {
    const outcome = await looked;
    return 'value' in outcome ? { kind: 'found', detail: outcome.value } : { kind: 'failed', reason: outcome.failed };
  } catch (error) {
    if (error instanceof NotFoundError) return { kind: 'absent' };
    if (error instanceof RefusedError || error instanceof MalformedResponseError) {
      return { kind: 'failed', reason: error.message };
    }
    throw error;
  }
}

/** Which of the shop's e-mail address and phone number a push under this policy would leave out (promise 7). */
function withheldFrom(deps: LookDeps, { desired, link }: ShopOrder, shown: Shown, policy: ContactPolicy) {
  if (!desired) return [...contactFields];
  const decisions = contactDecisions(deps, desired, link, policy);
  return contactFields.filter((field) => {
    if (decisions[field] !== 'repeat') return decisions[field] === 'withhold';
    return shown.kind !== 'found' || !isContactThere(shown.detail, field, desired.body);
  });
}
