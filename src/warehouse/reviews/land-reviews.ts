import { isUtf8 } from 'node:buffer';
import { describeError } from '../../base/errors.ts';
import { contentKey, printed, splitRecords, usableId, withoutLinks } from '../../base/json-text.ts';
import { putDeadLetters } from '../dead-letters.ts';
import { type Db, orRefusal, plannedRowsOf, type Warehouse } from '../index.ts';
import { learnProducts } from '../products.ts';
import { storableReview } from './review-columns.ts';

/** Numbers of reviews. */
export type Landed = Record<'inserted' | 'updated' | 'unchanged' | 'refused', number>;

/** A response body in UTF-8 that is a JSON array, and what its reader found in it. */
export type RawPage = {
  rawBody: Buffer;
  check: {
    /** Records on the page. */
    count: number;
    /** Field names of a review that was read by its id. Null: a list page, which shows all but `notInLists`. */
    fields: string[] | null;
    /** Columns that keep their values because the response does not show them (review-columns.ts). */
    lacking: string[];
    /** Fields to leave out of `extra`. */
    leftOut?: string[];
    /** Records that must not reach Postgres, and why. `index`: the place on the page, from 0. */
    faults: { index: number; reason: string }[];
    /** The products in the records. A code may be empty. */
    products: { product_id: number; product_code: string }[];
  };
};

/** A record of a page: as JSON that Postgres can store, or why it must not reach Postgres. */
type RawRecord = { bytes: Buffer } & ({ json: string; reason?: undefined } | { json?: undefined; reason: string });

/** The records of a page, one by one. */
export function recordsOf({ rawBody, check }: RawPage): RawRecord[] {
  const faults = new Map(check.faults.map(({ index, reason }) => [index, reason]));
  return splitRecords(rawBody).map((bytes, index) => {
    const json = storableReview(bytes);
    if (json === undefined) return { bytes, reason: 'expected text in UTF-8' };
    const reason = faults.get(index);
    return reason === undefined ? { bytes, json } : { bytes, reason };
  });
}

/** The result of land_reviews.sql. */
type Written = Record<'inserted' | 'updated', number>;

/**
 * Stores the ids of the page's products, and lands the page.
 *
 * 1. A page without faults goes to Postgres as one statement, as it came.
 * 2. If a page has faults, its other records go in one statement. If the statement fails on them, each goes by itself.
 * 3. If a record cannot be stored, it becomes a dead letter under its id, whole, with the reason. All others land.
 *
 * Each statement commits by itself. If the database fails between two, the page can be landed again.
 *
 * @param replaceBefore an instant by the database's clock. Any version replaces a row that was written before it.
 * @throws the database's errors other than those of the data.
 */
export async function landPage(
  warehouse: Warehouse,
  { rawBody, check: found }: RawPage,
  replaceBefore?: Date,
): Promise<Landed> {
  const check = { ...found, lacking: found.lacking.filter((column) => !warehouse.acceptedGone.has(column)) };
  if (rawBody.length === 0) throw new Error('expected a page with its body, found one whose body was released');
  const written: Written = { inserted: 0, updated: 0 };
  const landedOf = (refused: number): Landed => {
    return { ...written, unchanged: check.count - written.inserted - written.updated - refused, refused };
  };
  if (check.count === 0) return landedOf(0);
  await learnProducts(warehouse, check.products);

  /** @returns the error if the database refuses a record. */
  async function land(body: Buffer | string, records: number): Promise<Error | undefined> {
    const values = [body, check.fields, replaceBefore ?? null, check.lacking, check.leftOut ?? []];
    const landing = () => plannedRowsOf<Written>(warehouse, 'land_reviews', records, ...values);
    const rows = await orRefusal(warehouse.landings(landing));
    if (rows instanceof Error) return rows;
    written.inserted += rows[0]?.inserted ?? 0;
    written.updated += rows[0]?.updated ?? 0;
    return undefined;
  }
  if (check.faults.length === 0 && !(await land(rawBody, check.count))) return landedOf(0);
  const records = recordsOf({ rawBody, check });
  const refused: Refused[] = records.filter((one) => one.reason !== undefined);
  const sound = records.filter((one) => one.reason === undefined);
  if (sound.length > 0 && (await land(`[${sound.map(({ json }) => json).join()}]`, sound.length))) {
    for (const { bytes, json } of sound) {
      const error = await land(`[${json}]`, 1);
      if (error) refused.push({ bytes, reason: describeError(error) });
    }
  }
  return landedOf(await refuse(warehouse.db, refused));
}

type Refused = { bytes: Buffer; reason: string };

/**
 * Stores records that cannot land as dead letters: as JSON, else as text, also in base64 if the bytes are not UTF-8.
 *
 * @returns how many dead letters are open: a person may have discarded others.
 */
async function refuse(db: Db, records: readonly Refused[]): Promise<number> {
  const deadLetters = records.map(deadLetterOf);
  const put = await orRefusal(putDeadLetters(db, deadLetters));
  if (!(put instanceof Error)) return put;
  let open = 0;
  for (const one of deadLetters) {
    const stored = await orRefusal(putDeadLetters(db, [one]));
    // If jsonb cannot hold a record in any form, keep it as the text it came as.
    open += stored instanceof Error ? await putDeadLetters(db, [{ ...one, payload: one.text() }]) : stored;
  }
  return open;
}

function deadLetterOf({ bytes, reason }: Refused) {
  const text = bytes.toString();
  const item: unknown = JSON.parse(text);
  const json = printed(item) === undefined ? text : item;
  return {
    kind: 'review',
    key: String(usableId(item) ?? contentKey(withoutLinks(text))),
    reason: `the warehouse cannot hold the review: ${reason}`.slice(0, 1000),
    payload: isUtf8(bytes) ? json : { review: json, base64: bytes.toString('base64') },
    text: () => text,
  } as const;
}
