import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { isRecord } from '../base/json-text.ts';
import { repeat } from '../base/timeout.ts';
import { type Db, rowsOf, type Warehouse } from './index.ts';

export type RecordKind = 'review' | 'order' | 'sub_order' | 'event';

const kinds = ['string', 'number', 'boolean', 'array', 'object', 'null'] as const;
/** The place of a JSON type in `kinds`, as a number: each value of each record is counted. */
type Kind = number;

/** Fields of a few words each, which are compared too. A word of an unusual form is `other`. */
const wordFields: readonly string[] = ['source', 'review_type', 'status'];
const word = /^[\p{L}\d_.-]{1,40}$/u;

/** Names of fields that a process counts of a kind of record. A map keyed by id has thousands. */
const mostNames = 500;
const otherNames = '…';

/** How a field is named. The key of a map may be a customer's address or number, which nobody is to see (promise 9). */
const fieldName = /^[A-Za-z_]([A-Za-z_-]|\d(?!\d\d)){0,60}$/;

type Slot = { field: string; counts: number[]; words: Map<string, number> | undefined };
/** `names`, `order`: the fields of the record before, in their order, and their slots. */
type Seen = { records: number; slots: Map<string, Slot>; names: string[]; order: Slot[] };

/** What the service shows of its records: names and types of fields, no values. */
export type FieldShapes = {
  /** From here on records are counted: a command that only looks writes nothing. */
  begin(): void;
  see(kind: RecordKind, records: readonly unknown[]): void;
  close(): Promise<void>;
};

/** How often what was seen is written to the warehouse, in milliseconds. */
const writeEveryMs = 10_000;

/**
 * Counts the fields of records as they come, and adds them to `sync.field_shapes`, in which bi.field_drift sees what
 * changed. What a process saw in its last seconds is lost where it is killed.
 */
export function openFieldShapes({ db, acceptedGone }: Warehouse, everyMs = writeEveryMs): FieldShapes {
  const process = randomUUID();
  let seen = new Map<RecordKind, Seen>();

  async function write(): Promise<void> {
    const rows = [...seen].flatMap(([record, one]) => rowsOfKind(record, one));
    seen = new Map();
    // A warehouse that is down is reported by the work itself.
    const written = rowsOf<{ field: string }>(db, 'note_field_shapes', JSON.stringify(rows), process);
    const gone = await written.catch(() => undefined);
    if (!gone) return;
    acceptedGone.clear();
    for (const { field } of gone) acceptedGone.add(field);
  }
  let writing: ReturnType<typeof repeat> | undefined;
  return {
    begin() {
      writing ??= repeat(everyMs, write);
    },
    see(kind, records) {
      if (!writing) return;
      const ofKind: Seen = seen.get(kind) ?? { records: 0, slots: new Map(), names: [], order: [] };
      seen.set(kind, ofKind);
      for (const record of records) if (isRecord(record)) count(ofKind, record);
    },
    async close() {
      if (!writing) return;
      await writing.close();
      await write();
    },
  };
}

function count(seen: Seen, record: Readonly<Record<string, unknown>>): void {
  seen.records += 1;
  const { names, order } = seen;
  let at = 0;
  for (const field in record) {
    // Records mostly have the same fields in the same order: then no name is looked up.
    if (names[at] !== field) {
      names[at] = field;
      order[at] = slotOf(seen, field);
    }
    const slot = order[at] as Slot;
    at += 1;
    const value = record[field];
    const kind = kindOf(value);
    slot.counts[kind] = (slot.counts[kind] ?? 0) + 1;
    if (slot.words !== undefined && typeof value === 'string') {
      const name = word.test(value) ? value : 'other';
      slot.words.set(name, (slot.words.get(name) ?? 0) + 1);
    }
  }
}

function slotOf({ slots }: Seen, name: string): Slot {
  const isNamed = slots.has(name) || (slots.size < mostNames && fieldName.test(name));
  const field = isNamed ? name : otherNames;
  const known = slots.get(field);
  if (known) return known;
  const counts = kinds.map(() => 0);
  const slot = { field, counts, words: wordFields.includes(field) ? new Map<string, number>() : undefined };
  slots.set(field, slot);
  return slot;
}

function kindOf(value: unknown): Kind {
  if (value === null) return 5;
  const type = typeof value;
  if (type === 'string') return 0;
  if (type === 'number') return 1;
  if (type === 'boolean') return 2;
  return Array.isArray(value) ? 3 : 4;
}

function rowsOfKind(record: RecordKind, { records, slots }: Seen) {
  const fields = [...slots.values()].flatMap(({ field, counts, words = new Map<string, number>() }) => [
    ...kinds.flatMap((kind, at) => (counts[at] ? [{ record, field, kind, n: counts[at] }] : [])),
    ...[...words].slice(0, 100).map(([name, n]) => ({ record, field, kind: `value:${name}`, n })),
  ]);
  return [{ record, field: '', kind: 'record', n: records }, ...fields];
}

export type FieldDrift = {
  record: RecordKind;
  field: string;
  change: 'new' | 'gone' | 'null' | 'type' | 'value';
  firstSeenAt: Date;
  records: number;
  exampleType: string;
};

/** What has changed in the last thirty days, and every field that is gone; the newest first, at most fifty. */
export async function fieldDrift(db: Db): Promise<FieldDrift[]> {
  const { rows } = await sql<FieldDrift>`
    select record, field, change, first_seen_at as "firstSeenAt", records::integer as records, example_type as "exampleType"
    from bi.field_drift where change = 'gone' or first_seen_at > now() - interval '30 days'
    order by first_seen_at desc, record, field, change limit 50`.execute(db);
  return rows;
}

/** A person says that the service shows a field of reviews no more: its column is cleared by what comes from now on. */
export async function acceptGone(db: Db, field: string): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update sync.field_shapes set accepted_at = now() where record = 'review' and field = ${field}`.execute(db);
  return numAffectedRows > 0n;
}
