import type { Call, HttpResponse } from './call.ts';
import { asInteger, asObject, asText, parseJson, ShapeError } from './response-body.ts';

export type Token = { readonly value: string; readonly renewAtMs: number; accepted: boolean };

export type Tokens = {
  /**
   * The token to send. One request obtains it for all callers.
   *
   * @param refused the token that the service just refused: it is renewed, unless another caller already has.
   */
  take(refused?: Token): Promise<Token>;
  /** The value last obtained, for masking. */
  current(): string | undefined;
};

/** Keeps one token for all callers. `obtain` requests a new one from the service. */
export function openTokens(obtain: () => Promise<Token>, now: () => number): Tokens {
  let current: Token | undefined;
  let pending: Promise<Token> | undefined;
  return {
    current: () => current?.value,
    async take(refused) {
      // Another caller has renewed the refused token already.
      if (current && current !== refused && now() < current.renewAtMs) return current;
      pending ??= obtain()
        .then((token) => {
          current = token;
          return token;
        })
        .finally(() => {
          pending = undefined;
        });
      return pending;
    },
  };
}

/** The token request (docs/interface.md, "Authentication", 1). Repeatable: a second token does no harm. */
export function tokenCall(clientId: string, clientSecret: string): Call {
  return {
    method: 'POST',
    path: '/oauth/token',
    params: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
  };
}

/**
 * The spec gives tokens no lifetime. Where the response has `expires_in` (seconds), the token is renewed at 90 % of it.
 */
export function readToken(response: HttpResponse): Token {
  const body = asObject(parseJson(response), 'the token response');
  const value = asText(body.access_token, 'access_token');
  if (value === '') throw new ShapeError('expected text as access_token, got none');
  return { value, renewAtMs: response.requestedAt.getTime() + lifetimeMs(body.expires_in) * 0.9, accepted: false };
}

function lifetimeMs(expiresIn: unknown): number {
  try {
    const seconds = asInteger(expiresIn, 'expires_in');
    return seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
