import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance } from 'fastify';
import type { Queues } from '../queue/index.ts';

/** Bull Board below `prefix`, read-only: a step that is retried by hand would belong to a run that has ended. */
export async function createBullBoardRoutes(app: FastifyInstance, queues: Queues, prefix: string): Promise<void> {
  const adapter = new FastifyAdapter();
  adapter.setBasePath(prefix);
  createBullBoard({
    queues: Object.values(queues.bull).map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: adapter,
  });
  await app.register(adapter.registerPlugin(), { prefix });
}
