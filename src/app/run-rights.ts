import { counted } from '../base/counts.ts';
import { spanOfDays } from '../base/time/day-range.ts';
import { contactPolicy, type PushRights } from '../orders/contact-rule.ts';
import type { Run, RunRights, RunSystems, Trigger } from '../warehouse/runs/runs.ts';
import type { Config } from './config.ts';
import { serviceOf } from './require-same-service.ts';

/** The rights that this process gives to a run, or to a push without a run, that it starts. */
export const ownRights = (config: Config, trigger: Trigger, asked: Partial<RunRights> = {}): RunRights => ({
  trigger,
  allowRemovals: asked.allowRemovals ?? false,
  from: asked.from,
  to: asked.to,
  gaps: asked.gaps ?? false,
  contactMaxAgeDays: config.orderContactMaxAgeDays,
  deletes: config.orderDeletes,
});

/** What this process may do for a run: the stricter of the run's rights and of its own settings (promise 7). */
export const pushRights = (config: Config, rights: RunRights): PushRights => ({
  trigger: rights.trigger,
  allowRemovals: rights.allowRemovals,
  contactMaxAgeDays: Math.min(rights.contactMaxAgeDays, config.orderContactMaxAgeDays),
  deletes: rights.deletes === 'send' && config.orderDeletes === 'send' ? 'send' : 'off',
  createdIn: spanOfDays(rights, config.api.timeZone),
});

/** What this process may do without a run, as for a preview. */
export const ownPushRights = (config: Config, trigger: Trigger, asked: Partial<RunRights> = {}): PushRights =>
  pushRights(config, ownRights(config, trigger, asked));

/** `sync-orders`, `rescan-orders`, `backfill-orders`. */
export const isOfOrders = ({ job }: Pick<Run, 'job'>): boolean => job.endsWith('-orders');

/** A sentence: what a run may do to customers and to records at the service. */
export function mayDo({ job, rights }: Pick<Run, 'job' | 'rights'>): string {
  if (!isOfOrders({ job })) return 'It sends no contact';
  const contact = {
    never: 'sends no contact',
    young: `may send contact of orders younger than ${counted(rights.contactMaxAgeDays, 'day')}`,
    always: 'may send contact of every order of its days',
  }[contactPolicy(rights)];
  const removals = rights.allowRemovals ? ', may remove lines and orders beyond the allowance of a day' : '';
  return `It ${contact}${removals} and ${rights.deletes === 'send' ? 'may delete orders' : 'deletes no order'}`;
}

/** The zone and systems of this process, for a run that it starts. @param readsShop whether steps read the shop. */
export function systemsOf({ api, shop }: Config, readsShop = true): RunSystems {
  const { address, client } = serviceOf(api);
  const url = new URL(shop.url);
  // A parameter names the socket.
  const socket = url.searchParams.get('host') ?? url.searchParams.get('socket') ?? '';
  return {
    timeZone: api.timeZone,
    shop: readsShop ? `${url.host}${socket}${url.pathname}` : '',
    service: `${address} (client ${client})`,
  };
}

const settings = [
  ['timeZone', 'REVIEW_API_TIME_ZONE'],
  ['shop', 'SHOP_DATABASE_URL'],
  ['service', 'REVIEW_API_BASE_URL'],
] as const;

/** Each setting in which this process differs from a run's plan, with both values. */
export const differingSystems = (planned: RunSystems, own: RunSystems) =>
  settings
    .filter(([name]) => planned[name] !== own[name] && planned[name] !== '')
    .map(([name, variable]) => ({ name, what: `${variable} is ${own[name]} here, and ${planned[name]} in its plan` }));
