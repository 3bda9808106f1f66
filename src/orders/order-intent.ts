import type { OrderBody } from '../review-api/index.ts';
import type { OrderLink } from '../warehouse/links.ts';
import { type ContactPolicy, mayCarryContact } from './contact-rule.ts';
import { fingerprint } from './fingerprint.ts';
import { orderBody } from './order-body.ts';
import type { PreparedOrder } from './prepare-order.ts';

/** What decides how an order looks to the service. */
export type IntentDeps = {
  now: () => Date;
  /** The service's ids of the shop's member grades. */
  gradeIds: ReadonlyMap<string, number>;
  contactMaxAgeDays: number;
  contactPolicy: ContactPolicy;
  deletes: 'off' | 'send';
};

/** An order as it is to look to the service, and the hash by which an unchanged one is known. */
export type Intent = { prepared: PreparedOrder; withContact: boolean; body: OrderBody; print: string };

export function intentOf(deps: IntentDeps, prepared: PreparedOrder, link: OrderLink | undefined): Intent {
  const { order, lines, held } = prepared;
  const withContact = mayCarryContact({
    decided: link?.withContact,
    createdAt: order.createdAt,
    now: deps.now(),
    maxAgeDays: deps.contactMaxAgeDays,
    policy: deps.contactPolicy,
  });
  const userGradeId = order.userGradeCode === undefined ? undefined : deps.gradeIds.get(order.userGradeCode);
  const body = orderBody(order, { withContact, userGradeId });
  const print = order.deletedAt
    ? fingerprint({ deleted: true, deletes: deps.deletes })
    : fingerprint({ body, lines, held: held.map((line) => line.key) });
  return { prepared, withContact, body, print };
}

/** True when the order stands at the service as it is in the shop: then it costs no request. */
export function isUnchanged(deps: IntentDeps, prepared: PreparedOrder, link: OrderLink | undefined): boolean {
  return link !== undefined && link.fingerprint === intentOf(deps, prepared, link).print;
}
