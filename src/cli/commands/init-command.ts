import { existsSync } from 'node:fs';
import { placesOf, requireBrandName } from '../../app/brands.ts';
import { type InitReport, initShop } from '../../app/init/init-shop.ts';
import { type Preset, readPresets } from '../../app/init/presets.ts';
import { UsageError } from '../../base/errors.ts';
import { packagePath } from '../../base/package-path.ts';
import { readEnvFile } from '../../base/parse-env-file.ts';
import type { Context, Define, Report, Traits } from '../command.ts';
import { blocks, findingLines, lines, table } from '../ui/table.ts';

type Options = { brand?: string; preset?: string; prefix?: string; dir?: string; force?: boolean; list?: boolean };

export const traits: Traits = { hasOwnBrand: true };

export const define: Define = (commander, run) => {
  commander
    .option('--preset <name>', 'use this preset, whatever the tables look like')
    .option('--prefix <text>', 'the prefix of the tables, if several shops share a database')
    .option('--dir <folder>', 'where the queries go (default: SHOP_SQL_DIR, else shop-sql)')
    .option('--force', 'replace queries that are there already')
    .option('--brand <name>', 'a brand of BRANDS_DIR: writes <name>.env and the queries of the folder <name> there')
    .option('--list', 'only list the presets')
    .addHelpText(
      'after',
      `
The shop database is that of SHOP_DATABASE_URL, in the environment or in .env of the working directory:

  SHOP_DATABASE_URL=postgres://reader:…@shop-db.example.com/shop review-sync init

Nothing is written to the shop. Lines that .env has already are not changed.`,
    )
    .action((options: Options) => run((context) => (options.list ? list() : setUp(context, options))));
};

async function list(): Promise<Report> {
  const presets = await readPresets();
  const json = presets.map(({ name, title, database, ranOn = null }) => ({ name, title, database, ranOn }));
  const rows = json.map((one) => [one.name, databases[one.database], one.title, one.ranOn ?? 'never run']);
  const note = 'A preset that was never run on the real system is tested on tables declared from its source.';
  return { text: `${table(['preset', 'database', 'shop system', 'run on'], rows)}\n\n${note}`, json };
}

const databases: Readonly<Record<Preset['database'], string>> = { postgres: 'Postgres', mysql: 'MySQL, MariaDB' };

async function setUp(context: Context, options: Options): Promise<Report> {
  const { environment, places } = placesFor(context.environment, options.brand);
  const { SHOP_SQL_DIR = '' } = environment;
  const { dir, preset, prefix, force, brand } = options;
  const command = `review-sync init${brand === undefined ? '' : ` --brand ${brand}`}`;
  const report = await initShop({
    command,
    environment,
    preset,
    prefix,
    force,
    dir: dir ?? places?.sqlDir ?? (SHOP_SQL_DIR.trim() || 'shop-sql'),
    envFile: places?.envFile ?? '.env',
    // A brand's queries are at their default place, unless `--dir` is given.
    leftOut: places ? ['WAREHOUSE_DATABASE_URL', ...(dir === undefined ? ['SHOP_SQL_DIR'] : [])] : [],
  });
  const incomplete = report.findings.some(({ level }) => level === 'fault');
  return { text: draw(report, command, brand !== undefined), json: report, incomplete };
}

/** The places of a brand's files, and the environment with its file. @throws UsageError */
function placesFor(environment: Context['environment'], brand: string | undefined) {
  const folder = (environment.BRANDS_DIR ?? '').trim();
  if (brand === undefined && folder === '') return { environment, places: undefined };
  if (brand === undefined) throw new UsageError('BRANDS_DIR is set: name the brand with --brand NAME');
  if (folder === '') throw new UsageError('--brand needs BRANDS_DIR, the folder of the brands, in .env');
  requireBrandName(brand);
  const places = placesOf(folder, brand);
  const own = existsSync(places.envFile) ? readEnvFile(places.envFile) : {};
  return { environment: { ...environment, ...own }, places };
}

function draw(report: InitReport, command: string, isBrand: boolean): string {
  const { preset, dir, queries, variables, envFile, warnings, findings } = report;
  const prefix = preset?.prefix ? `, prefix ${preset.prefix}` : '';
  const schema = preset?.schema ? `, schema ${preset.schema}` : '';
  const files = queries.written.map((file) => `${dir}/${file}`).join(', ');
  return blocks(
    lines(
      preset
        ? `The shop is ${preset.title}${prefix}${schema} (preset ${preset.name}).`
        : 'The tables are those of no known shop system (see: review-sync init --list), or its user does not see all of them.',
      files && `Wrote ${preset ? '' : 'the commented template, which reads the sample shop: '}${files}.`,
      queries.kept.length > 0 && `Left as they are in ${dir}: ${queries.kept.join(', ')}.`,
      files === '' && `To replace them: ${command} --force`,
      variables.length > 0
        ? `Added to ${envFile}, which only you can read: ${variables.join(', ')}.`
        : `${envFile} has all that init would write.`,
    ),
    lines(...warnings),
    findings.length > 0 && lines('shop', ...findingLines(findings)),
    lines('Next:', ...nextSteps(report, isBrand).map((step, index) => `  ${index + 1}. ${step}`)),
  );
}

/** Not for a brand: the reference service reads the shop of .env. */
const trial = ': for a trial that mails nobody, review-sync reference-service --products-from-shop prints them';

/** A running worker opens a new brand by itself, and could mail its customers before anybody has seen their number. */
const withoutFirstSync = (envFile: string) =>
  `write SCHEDULE_ORDERS= into ${envFile}: a running worker would start the first sync of orders, which may mail, soon ` +
  'after migrate. Once the dry run looks right, remove the line and restart the worker';

function nextSteps({ preset, dir, toFillIn, envFile }: InitReport, isBrand: boolean): string[] {
  return [
    preset
      ? `read ${dir}/README.md: what the queries read, and what they cannot see`
      : `put your own tables into ${dir}/*.sql: ${packagePath('docs', 'connecting.md')}`,
    ...(toFillIn.length > 0 ? [`fill in ${toFillIn.join(', ')} in ${envFile}${isBrand ? '' : trial}`] : []),
    ...(isBrand ? [withoutFirstSync(envFile)] : []),
    'review-sync migrate, then review-sync doctor, which checks all of it',
    'review-sync sync reviews, then sync catalog',
    'review-sync sync orders --dry-run: who could be mailed; then review-sync sync orders',
  ];
}
