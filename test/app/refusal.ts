import { readConfig } from '../../src/app/config.ts';

/** What the command line says of this environment; empty where it is accepted. */
export function refusalOf(environment: Record<string, string>): string {
  try {
    readConfig(environment);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
