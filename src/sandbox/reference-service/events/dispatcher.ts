import { setTimeout as delay } from 'node:timers/promises';
import { showImages } from '../review-images.ts';
import type { Service } from '../service.ts';
import type { WebhookLimits } from './limits.ts';
import { isWaiting, readOutlook, settleDelivery, takeDelivery } from './outbox.ts';
import { sendWebhook } from './send-webhook.ts';

export type Dispatcher = {
  /** Sends what is due. Costs nothing while nobody receives. */
  wake(): void;
  /** Looks anew who receives, and what is due. */
  look(): Promise<void>;
  /** Resolves when nothing waits any more. @throws when the dispatcher is closed before. */
  idle(): Promise<void>;
  /** Waits a little for deliveries under way; what is not answered by then is sent again after the next start. */
  close(): Promise<void>;
};

/** Receivers that are sent to at a time. */
const lanes = 4;
/** What this instance got no notice of (other instances' receivers, images that are stored) is found this often. */
const lookEveryMs = 1000;
const lookAtMostEveryMs = 10;
/** A delivery under way may take this much longer when the service ends. */
const graceMs = 2000;

/** Sends the events of the outbox, alone or together with other instances on the same database. */
export function openDispatcher(service: Service, limits: WebhookLimits): Dispatcher {
  const { store } = service;
  const cutOff = new AbortController();
  const underWay = new Set<Promise<void>>();
  let hasReceivers = false;
  let freeLanes = lanes;
  let isWokenAgain = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  /** When Postgres is away, the events stay there: the next look finds them. */
  function track(work: Promise<void>): Promise<void> {
    const tracked = work.catch(() => lookLater(lookEveryMs)).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
    return tracked;
  }

  function lookLater(ms: number): void {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(() => track(lookNow()), ms);
  }

  async function lookNow(): Promise<void> {
    if (isClosed) return;
    if (hasReceivers) await showImages(service);
    const outlook = await readOutlook(store);
    hasReceivers = outlook.hasReceivers;
    const dueInMs = outlook.dueInMs ?? lookEveryMs;
    if (dueInMs <= 0) wake();
    lookLater(Math.min(lookEveryMs, Math.max(lookAtMostEveryMs, dueInMs)));
  }

  function wake(): void {
    if (isClosed || !hasReceivers) return;
    // A lane that is about to end may have asked too early.
    if (freeLanes === 0) isWokenAgain = true;
    else track(runLane());
  }

  async function runLane(): Promise<void> {
    freeLanes -= 1;
    let sent = 0;
    try {
      while (!isClosed) {
        isWokenAgain = false;
        if (await deliverOne()) sent += 1;
        else if (!isWokenAgain) break;
      }
    } finally {
      freeLanes += 1;
    }
    // One that failed waits for its next attempt: find out until when.
    if (sent > 0) await lookNow();
  }

  async function deliverOne(): Promise<boolean> {
    const delivery = await takeDelivery(store, limits);
    if (!delivery) return false;
    // Another lane looks for the next receiver, so that this one's slowness is its own.
    wake();
    const outcome = await sendWebhook({ ...delivery, timeoutMs: limits.timeoutMs, signal: cutOff.signal });
    await settleDelivery(store, delivery, outcome, limits);
    return true;
  }

  return {
    wake,
    look: () => track(lookNow()),
    async idle() {
      for (;;) {
        if (isClosed) throw new Error('the service was closed while webhooks were still waiting');
        if (!(await isWaiting(store))) return;
        await delay(lookAtMostEveryMs);
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      const cut = setTimeout(() => cutOff.abort(), graceMs);
      while (underWay.size > 0) await Promise.all(underWay);
      clearTimeout(cut);
    },
  };
}
