import { clockOf } from './clock.ts';
import { isSame } from './expect.ts';
import { freshOrder, freshReview } from './records.ts';
import type { Session } from './session.ts';

/** Two times of creation within one second are shown as the same time. */
export async function isPreciseToSeconds(session: Session, kind: 'orders' | 'reviews'): Promise<void> {
  const make = kind === 'orders' ? freshOrder : freshReview;
  const clock = await clockOf(session);
  const shown = [];
  for (const fraction of ['100', '789']) {
    const at = clock.daysAgo(1, `12:34:56.${fraction}`).iso;
    shown.push((await make(session, `precision-${fraction}`, { created_at: at })).created_at);
  }
  isSame('created_at of 12:34:56.789', shown[1], shown[0]);
}
