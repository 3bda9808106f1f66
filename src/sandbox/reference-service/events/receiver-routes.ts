import type { FastifyInstance } from 'fastify';
import { notFound } from '../failure.ts';
import { readInput } from '../input.ts';
import { idOf, paramsOf } from '../request.ts';
import type { Service } from '../service.ts';
import { receiverJson, registerReceiver } from './receivers.ts';

/**
 * Who receives webhooks: list, register, remove. The spec shows no registration, so this is outside `/v1`.
 *
 * @param changed is called after receivers were added or removed, before the answer.
 */
export function receiverRoutes(app: FastifyInstance, { store, now }: Service, changed: () => Promise<void>): void {
  app.get('/webhook_receivers', async () => {
    const receivers = await store.rows<{ body: unknown }>(
      `select ${receiverJson} as body from reference_service.webhook_receivers r order by r.id`,
    );
    return receivers.map((row) => row.body);
  });

  app.post('/webhook_receivers', async (request, reply) => {
    const input = readInput(paramsOf(request));
    const url = input.text('url') ?? '';
    const secret = input.text('secret');
    const body = await registerReceiver(store, { url, ...(secret !== undefined && { secret }) }, now());
    await changed();
    return reply.status(201).header('location', '/webhook_receivers').send(body);
  });

  app.delete('/webhook_receivers/:id', async (request, reply) => {
    const id = idOf(request);
    const [row] = await store.rows('delete from reference_service.webhook_receivers where id = $1 returning id', [id]);
    if (!row) throw notFound(`webhook receiver ${id}`);
    await changed();
    return reply.status(204).send();
  });
}
