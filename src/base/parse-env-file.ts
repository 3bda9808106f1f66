import { parseEnv } from 'node:util';

/** The variables of a .env file. Editors on Windows begin a file with a byte order mark, which is no part of a name. */
export const parseEnvFile = (text: string) => parseEnv(text.replace(/^\uFEFF/, ''));
