import pg from 'pg';
import { stringify } from 'yaml';
import { readSchema, schemaComment } from './catalog.ts';

const head = `# Written by \`npm run docs:warehouse\` from the comments in the database. Do not edit it by hand.\n`;

/** examples/dbt/models/sources.yml: the views of bi in the warehouse at `url`, with their comments. */
export async function dbtSources(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const views = await readSchema(client, 'bi');
    const tables = views.map(({ name, comment, columns }) => ({
      name,
      description: comment ?? '',
      // A shop may have no new review for days: only the last finished run says how new the data is.
      ...(name === 'freshness' && {
        loaded_at_field: 'reviews_read_to',
        freshness: { warn_after: { count: 1, period: 'hour' }, error_after: { count: 1, period: 'day' } },
      }),
      columns: columns.map((column) => ({
        name: column.name,
        data_type: column.type,
        description: column.comment ?? '',
      })),
    }));
    const description = await schemaComment(client, 'bi');
    const sources = [{ name: 'review_sync', schema: 'bi', description, tables }];
    return head + stringify({ version: 2, sources }, { lineWidth: 0 });
  } finally {
    await client.end();
  }
}
