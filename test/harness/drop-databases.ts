import { afterAll } from 'vitest';
import { dropDatabases } from './database.ts';
import { keepSessions } from './kept-sessions.ts';

keepSessions();

// Registered before the hooks of the file, so it runs after them.
afterAll(dropDatabases);
