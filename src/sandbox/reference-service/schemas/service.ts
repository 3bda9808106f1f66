import { listOperation } from './coded-resource.ts';
import { created, type Operation, one, removed } from './operation.ts';
import { filled, text } from './params.ts';

/** The token request (docs/interface.md, "Authentication"), and what is this service's own. */
export const serviceOperations: Operation[] = [
  {
    id: 'createToken',
    method: 'POST',
    path: '/oauth/token',
    tag: 'Authentication',
    summary: 'Obtain an access token',
    isOpen: true,
    params: {
      grant_type: { type: 'string', enum: ['client_credentials'], description: 'Kind of grant.' },
      client_id: filled('<APP_ID>'),
      client_secret: filled('<APP_SECRET>'),
    },
    required: ['grant_type', 'client_id', 'client_secret'],
    answers: { 200: one('Token') },
  },
  {
    id: 'getOpenApi',
    ...{
      method: 'GET',
      path: '/openapi.json',
      tag: 'This service',
      summary: 'This document',
      isOpen: true,
      params: {},
    },
    answers: { 200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } } },
  },
  {
    ...listOperation(
      { id: 'listWebhookReceivers', path: '/webhook_receivers', tag: 'This service' },
      'WebhookReceiver',
    ),
    summary: 'Who receives webhooks; the spec shows no registration',
    params: {},
    answers: { 200: { description: 'All of them.', schema: { type: 'array', items: one('WebhookReceiver').schema } } },
  },
  {
    id: 'registerWebhookReceiver',
    method: 'POST',
    path: '/webhook_receivers',
    tag: 'This service',
    summary: 'Register, or change the secret',
    params: { url: filled('Where webhooks are sent.', 2000), secret: text('Signs them: X-Signature: sha256=<hex>.') },
    required: ['url'],
    answers: { 201: created('WebhookReceiver') },
  },
  {
    id: 'deleteWebhookReceiver',
    method: 'DELETE',
    path: '/webhook_receivers/:id',
    tag: 'This service',
    summary: 'Remove',
    params: {},
    answers: { 204: removed },
  },
];
