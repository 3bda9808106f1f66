import type { FastifyInstance } from 'fastify';
import type { Service } from '../service.ts';
import { openDispatcher } from './dispatcher.ts';
import { webhookLimits } from './limits.ts';
import { receiverRoutes } from './receiver-routes.ts';
import { registerReceiver } from './receivers.ts';

export type Events = {
  /** Registers the receivers that the service was started with, and begins to send. */
  start(): Promise<void>;
  addReceiver(url: string): Promise<void>;
  /** Resolves when no event waits for a receiver any more: all are delivered or given up. */
  idle(): Promise<void>;
  close(): Promise<void>;
};

/**
 * The webhooks (docs/interface.md, "Events"). Triggers write the events (sql/reference-service/0002.sql); here they are
 * sent.
 */
export function openEvents(app: FastifyInstance, service: Service): Events {
  const { store, now, options } = service;
  const dispatcher = openDispatcher(service, { ...webhookLimits, ...options.webhooks });
  receiverRoutes(app, service, dispatcher.look);
  app.addHook('onResponse', async (request) => {
    if (request.method !== 'GET') dispatcher.wake();
  });
  return {
    async start() {
      for (const receiver of options.receivers ?? []) await registerReceiver(store, receiver, now());
      await dispatcher.look();
    },
    async addReceiver(url) {
      await registerReceiver(store, { url }, now());
      await dispatcher.look();
    },
    idle: dispatcher.idle,
    close: dispatcher.close,
  };
}
