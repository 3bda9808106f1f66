/**
 * Exports as people write them, and the fastest possible loop. Each reads all pages of the stub into the warehouse's
 * table, and knows beforehand which pages there are. Prints seconds as JSON.
 */
import pLimit from 'p-limit';
import pg from 'pg';
import { Pool } from 'undici';

const [mode = '', origin = '', databaseUrl = '', count = '0', stepSeconds = '1'] = process.argv.slice(2);
const service = new Pool(origin, { connections: 8, pipelining: 1 });
const database = new pg.Pool({ connectionString: databaseUrl, max: mode === 'ceiling' || mode === 'ahead' ? 2 : 8 });

const fields = {
  id: 'bigint',
  code: 'text',
  display: 'boolean',
  user_id: 'bigint',
  user_code: 'text',
  user_name: 'text',
  message: 'text',
  score: 'smallint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  product_id: 'bigint',
  product_code: 'text',
  review_type: 'text',
  images_count: 'integer',
  videos_count: 'integer',
  likes_count: 'integer',
  plus_likes_count: 'integer',
  comments_count: 'integer',
  source: 'text',
  order_code: 'text',
  sub_order_code: 'text',
  store_order: 'boolean',
  store_name: 'text',
  product_options: 'jsonb',
  images: 'jsonb',
  videos: 'jsonb',
  options: 'jsonb',
} as const;
const names = Object.keys(fields) as (keyof typeof fields)[];
const set = names.slice(1).map((name) => `${name} = excluded.${name}`);
const table = `warehouse.reviews (${names.join(', ')})`;
const upsert = `on conflict (id) do update set ${set.join(', ')}`;

/** Windows of thirty full pages, as the stub holds them. */
const pages = Array.from({ length: Math.ceil(Number(count) / 100) }, (_, index) => {
  const first = Date.parse('2020-01-01T00:00:00Z') / 1000;
  const windowOf = Math.floor(index / 30);
  const at = (n: number) =>
    new Date((first + n * Number(stepSeconds)) * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const query = { start_datetime: at(windowOf * 3000), end_datetime: at(windowOf * 3000 + 2999), limit: '100' };
  return `/v1/reviews?${new URLSearchParams({ ...query, page: String((index % 30) + 1) })}`;
});

type Review = Record<string, unknown>;
const cellOf = (review: Review, name: keyof typeof fields) =>
  fields[name] === 'jsonb' ? JSON.stringify(review[name] ?? null) : review[name];

async function bodyOf(path: string): Promise<string> {
  const { body } = await service.request({ method: 'GET', path });
  return body.text();
}

const columns = names.map((name) => `${name} ${fields[name]}`).join(', ');
const pageText = `insert into ${table} select * from jsonb_to_recordset($1::jsonb) as r (${columns}) ${upsert}`;
const land = (body: string) => database.query({ name: 'page', text: pageText, values: [body] });

/** The raw body, one statement a page, two at a time. */
async function ceiling(): Promise<void> {
  let next = 0;
  const loop = async () => {
    for (let path = pages[next++]; path; path = pages[next++]) {
      await land(await bodyOf(path));
    }
  };
  await Promise.all([loop(), loop(), loop(), loop()]);
}

/** Like the ceiling, for a slow service: eight requests in flight, and a page lands while the next one is requested. */
async function ahead(): Promise<void> {
  let next = 0;
  const loop = async () => {
    let landing: Promise<unknown> | undefined;
    for (let path = pages[next++]; path; path = pages[next++]) {
      const body = await bodyOf(path);
      await landing;
      landing = land(body);
    }
    await landing;
  };
  await Promise.all(Array.from({ length: 8 }, loop));
}

/** One page after the other, one row after the other. */
async function simple(): Promise<void> {
  const places = names.map((_, index) => `$${index + 1}`).join(', ');
  const text = `insert into ${table} values (${places}) ${upsert}`;
  for (const path of pages) {
    for (const review of JSON.parse(await bodyOf(path)) as Review[]) {
      await database.query(
        text,
        names.map((name) => cellOf(review, name)),
      );
    }
  }
}

/** Eight pages at a time, the rows of a page in one INSERT. */
async function careful(): Promise<void> {
  const limit = pLimit(8);
  await Promise.all(
    pages.map((path) =>
      limit(async () => {
        const reviews = JSON.parse(await bodyOf(path)) as Review[];
        const rows = reviews.map(
          (_, row) => `(${names.map((__, index) => `$${row * names.length + index + 1}`).join(', ')})`,
        );
        const values = reviews.flatMap((review) => names.map((name) => cellOf(review, name)));
        await database.query(`insert into ${table} values ${rows.join(', ')} ${upsert}`, values);
      }),
    ),
  );
}

const startedMs = performance.now();
await { ceiling, ahead, simple, careful }[mode as 'ceiling' | 'ahead' | 'simple' | 'careful']();
const seconds = (performance.now() - startedMs) / 1000;
const counted = await database.query('select count(*)::integer as n from warehouse.reviews');
if (counted.rows[0].n !== Number(count)) throw new Error(`${mode} brought ${counted.rows[0].n} of ${count} reviews`);
await database.end();
await service.close();
process.stdout.write(JSON.stringify({ seconds }));
