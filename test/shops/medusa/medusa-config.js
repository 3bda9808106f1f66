import { defineConfig } from '@medusajs/framework/utils';

export default defineConfig({
  projectConfig: {
    databaseUrl: process.env.DATABASE_URL,
    databaseDriverOptions: { connection: { ssl: false } },
    http: { storeCors: '*', adminCors: '*', authCors: '*', jwtSecret: 'secret', cookieSecret: 'secret' },
  },
  admin: { disable: true },
});
