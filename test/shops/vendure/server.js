/**
 * The real Vendure, with one country, two tax rates, two shipping methods and two payment methods. Started by shop.ts
 * in a process of its own, whose zone is that of TZ. Speaks on PORT of 127.0.0.1; keeps its data at DATABASE_URL.
 */
import { bootstrap, DefaultLogger, dummyPaymentHandler, LogLevel, manualFulfillmentHandler } from '@vendure/core';
import { populate } from '@vendure/core/cli/index.js';

const { PORT, DATABASE_URL } = process.env;
const isPostgres = DATABASE_URL.startsWith('postgres:');

const config = {
  apiOptions: { port: Number(PORT), hostname: '127.0.0.1', adminApiPath: 'admin-api', shopApiPath: 'shop-api' },
  authOptions: {
    tokenMethod: 'bearer',
    requireVerification: false,
    superadminCredentials: { identifier: 'superadmin', password: 'superadmin' },
  },
  dbConnectionOptions: { type: isPostgres ? 'postgres' : 'mariadb', url: DATABASE_URL, synchronize: true },
  logger: new DefaultLogger({ level: LogLevel.Warn }),
  paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
  shippingOptions: { fulfillmentHandlers: [manualFulfillmentHandler] },
  plugins: [],
};

const payBy = (automaticSettle) => ({
  code: dummyPaymentHandler.code,
  arguments: [{ name: 'automaticSettle', value: String(automaticSettle) }],
});

await populate(() => bootstrap(config), {
  defaultLanguage: 'en',
  defaultZone: 'Europe',
  countries: [{ name: 'Austria', code: 'AT', zone: 'Europe' }],
  taxRates: [
    { name: 'Standard', percentage: 20 },
    { name: 'Reduced', percentage: 7 },
  ],
  shippingMethods: [
    { name: 'Post', price: 500, taxRate: 20 },
    { name: 'Courier', price: 999, taxRate: 20 },
  ],
  paymentMethods: [
    { name: 'card', handler: payBy(true) },
    { name: 'invoice', handler: payBy(false) },
  ],
  collections: [],
});
console.log('ready');
