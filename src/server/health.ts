import type { FastifyInstance } from 'fastify';
import type { Warehouse } from '../warehouse/index.ts';

/** `/healthz`: the process responds. `/readyz`: it can store what it receives. */
export function health(app: FastifyInstance, warehouse: Warehouse): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    try {
      await warehouse.pool.query('select 1');
      return { status: 'ok' };
    } catch {
      return reply.status(503).send({ status: 'the warehouse does not respond' });
    }
  });
}
