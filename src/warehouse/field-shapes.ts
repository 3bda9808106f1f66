import { isRecord } from '../base/json-text.ts';
import { repeat } from '../base/timeout.ts';
import { type Db, listOf, rowsOf, type Warehouse, write } from './index.ts';

export type RecordKind = 'review' | 'review_detail' | 'order' | 'sub_order' | 'event';

/** Fields with few values, which are compared, too. A word of unusual form, or beyond `mostKinds`, is `other`. */
const wordFields: ReadonlySet<string> = new Set(['source', 'review_type', 'status']);
const word = /^[\p{L}\d_.-]{1,40}$/u;
const mostKinds = 100;

/** Field names that a process counts for each kind of record. A map keyed by id has thousands. */
const mostNames = 500;
const otherNames = '…';

/** A usual field name. The key of a map may be a customer's address or number, which nobody may see (promise 9). */
const fieldName = /^[A-Za-z_]([A-Za-z_-]|\d(?!\d\d)){0,60}$/;

/** `fields`: the number of records with each JSON type of a field, or each `value:<word>`. */
type Seen = { records: number; fields: Map<string, Map<string, number>> };

/** How often the counts are written to the warehouse, in milliseconds. */
const writeEveryMs = 10_000;

/**
 * Counts field names and types of records, no values, and adds the counts to `sync.field_shapes`. bi.field_drift shows
 * changes in it. If a process is killed, or the warehouse is down, the last seconds are lost.
 */
export function openFieldShapes({ db, acceptedGone }: Warehouse, everyMs = writeEveryMs) {
  let seen = new Map<RecordKind, Seen>();

  async function note(): Promise<void> {
    const rows = [...seen].flatMap(([record, one]) => rowsOfKind(record, one));
    seen = new Map();
    // If the warehouse is down, the work itself reports it.
    const written = rowsOf<{ field: string }>(db, 'note_field_shapes', JSON.stringify(rows));
    const gone = await written.catch(() => undefined);
    if (!gone) return;
    acceptedGone.clear();
    for (const { field } of gone) acceptedGone.add(field);
  }
  let writing: ReturnType<typeof repeat> | undefined;
  return {
    /** Starts counting. A command that only looks does not call it, and writes nothing. */
    begin(): void {
      writing ??= repeat(everyMs, note);
    },
    see(kind: RecordKind, records: readonly unknown[]): void {
      if (!writing) return;
      const ofKind: Seen = seen.get(kind) ?? { records: 0, fields: new Map() };
      seen.set(kind, ofKind);
      const objects = records.filter(isRecord);
      ofKind.records += objects.length;
      for (const record of objects) count(ofKind, record);
    },
    async close(): Promise<void> {
      if (!writing) return;
      await writing.close();
      await note();
    },
  };
}

function count({ fields }: Seen, record: Readonly<Record<string, unknown>>): void {
  for (const name in record) {
    const value = record[name];
    const kinds = fields.get(name) ?? kindsOf(fields, name);
    add(kinds, value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
    if (typeof value !== 'string' || !wordFields.has(name)) continue;
    const kind = `value:${value}`;
    add(kinds, kinds.has(kind) || (kinds.size < mostKinds && word.test(value)) ? kind : 'value:other');
  }
}

const add = (kinds: Map<string, number>, kind: string) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1);

function kindsOf(fields: Seen['fields'], name: string): Map<string, number> {
  const field = fields.size < mostNames && fieldName.test(name) ? name : otherNames;
  const kinds = fields.get(field) ?? new Map<string, number>();
  fields.set(field, kinds);
  return kinds;
}

const rowsOfKind = (record: RecordKind, { records, fields }: Seen) => [
  { record, field: '', kind: 'record', n: records },
  ...[...fields].flatMap(([field, kinds]) => [...kinds].map(([kind, n]) => ({ record, field, kind, n }))),
];

export type FieldDrift = {
  record: RecordKind;
  field: string;
  change: 'new' | 'gone' | 'null' | 'type' | 'value';
  firstSeenAt: Date;
  lastSeenAt: Date;
  records: number;
  exampleType: string;
};

/**
 * The changes of the last thirty days, and every field that is gone; the newest first, at most fifty. Several new
 * values of a field are one change with the newest date.
 */
export const fieldDrift = (db: Db) =>
  listOf<FieldDrift>(db)`
    select record, field, change, max(first_seen_at) as "firstSeenAt", max(last_seen_at) as "lastSeenAt",
      sum(records)::integer as records, example_type as "exampleType"
    from bi.field_drift where change = 'gone' or first_seen_at > now() - interval '30 days'
    group by record, field, change, example_type
    order by max(first_seen_at) desc, record, field, change limit 50`;

/** A person accepts that the service no longer shows a field of reviews. From now on, responses clear its column. */
export async function acceptGone(db: Db, field: string): Promise<boolean> {
  const accepted = await write(db)`
    update sync.field_shapes s set accepted_at = now()
    where (record, field) = ('review', ${field}) and (accepted_at >= last_seen_at or exists (
      select from bi.field_drift d where (d.record, d.field, d.change) = (s.record, s.field, 'gone')))`;
  return accepted > 0;
}
