import { isRow } from './expect.ts';
import { createdBy, post } from './post.ts';
import type { Session } from './session.ts';
import { CannotTell } from './statement.ts';

/** A time as the service's parameters take it: a day, a time without offset, a time with it. */
export type Moment = { day: string; datetime: string; iso: string };

export type Clock = {
  /** A time of day, that many days before the service's today; negative is after. */
  daysAgo(days: number, time: string): Moment;
  today(): string;
};

/** Days and times in the service's zone, by the offset of a timestamp that it shows. */
export async function clockOf(session: Session): Promise<Clock> {
  const offset = await session.shared(offsetOf);
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  const dayAt = (days: number) =>
    new Date(session.now().getTime() + offsetMs - days * 86_400_000).toISOString().slice(0, 10);
  return {
    today: () => dayAt(0),
    daysAgo(days, time) {
      const day = dayAt(days);
      return { day, datetime: `${day} ${time}`, iso: `${day}T${time}${offset}` };
    },
  };
}

/** The offset in which the service shows its times; it is looked for without writing first. */
async function offsetOf(session: Session): Promise<string> {
  const { body: overview } = await session.call('GET', '/v1/reviews/overview');
  const found = offsetIn(isRow(overview) ? overview.last_review_created_at : undefined);
  if (found) return found;
  const { body } = await session.call('GET', '/v1/user_grades', { query: { limit: 1 } });
  const listed = offsetIn(Array.isArray(body) && isRow(body[0]) ? body[0].created_at : undefined);
  if (listed) return listed;
  const offset = offsetIn(createdBy(session, await post(session, 'user_grades', 'clock')).created_at);
  if (offset) return offset;
  throw new CannotTell('needs a timestamp of the service that shows its offset');
}

function offsetIn(time: unknown): string | undefined {
  const [, offset] = /T[\d:.]+(Z|[+-]\d\d:?\d\d)$/.exec(typeof time === 'string' ? time : '') ?? [];
  return offset === 'Z' ? '+00:00' : offset;
}
