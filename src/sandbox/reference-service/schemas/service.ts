import { type Operation, one } from './operation.ts';
import { filled } from './params.ts';

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
];
