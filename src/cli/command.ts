import type { Command as Commander } from 'commander';
import type { Brand } from '../app/brands.ts';
import type { Config, Environment } from '../app/config.ts';
import type { Logger } from '../base/log.ts';

/** The report of a command. One place draws it: as text for people, or as one JSON document with `--json`. */
export type Report = {
  text: string;
  json: unknown;
  /** True: the work failed or is incomplete, and `text` says what to do next. Exit status 1. */
  incomplete?: boolean;
  /** True: the configuration is wrong, and `text` says where. Exit status 2. */
  isWrongUsage?: boolean;
};

export type Terminal = {
  /** One line on standard error, so that standard output stays free for the report. It replaces a drawn line. */
  say(line: string): void;
  /** Replaces the last line of a terminal, cut to its width, and stays in it. `say('')` ends the line and keeps it. */
  draw(line: string): void;
  isTerminal: boolean;
};

export type Context = {
  /** Reads the configuration; throws a UsageError that names every wrong variable. */
  config(): Config;
  /** `config` for a command that only reads the warehouse: shop and service may be missing. */
  warehouseConfig(): Config;
  /** @param level applies if LOG_LEVEL is not set. */
  log(level?: string): Promise<Logger>;
  terminal: Terminal;
  /** Aborted by SIGINT or SIGTERM: end cleanly. */
  signal: AbortSignal;
  /** The given environment over .env. For a brand, the brand's file is over both. */
  environment: Environment;
  /** The brand of the command; undefined without BRANDS_DIR, and if the command serves all brands. */
  brand: string | undefined;
  isLast: boolean;
  /** The brands to serve; without BRANDS_DIR, one brand without a name. Reads the files again. */
  brands(): Brand[];
};

/** With several brands, a command runs for `each` brand, for the `one` that --brand names, or serves `all` itself. */
export type Reach = 'each' | 'one' | 'all';

/** The work of a command for one brand. Without a report, the command has already said everything. */
export type Work = (context: Context) => Promise<Report | undefined>;

export type Define = (commander: Commander, run: (work: Work, reach?: Reach) => Promise<void>) => void;

export type Traits = {
  /** The command has a --brand of its own. */
  hasOwnBrand?: true;
  /**
   * The command starts servers, which take longer to end than its work. It serves all brands or none (no `--brand`), and
   * has no report for programs (no `--json`).
   */
  hasServers?: true;
};

/** One command line command; `src/cli/commands/index.ts` lists them with their names. */
export type Command = Traits & { define: Define };
