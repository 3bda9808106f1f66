import { asInteger, asObject, asText, parseJson, ShapeError } from './answer.ts';
import type { Answer, Call } from './call.ts';

export type Token = { readonly value: string; readonly renewAtMs: number; accepted: boolean };

export type Tokens = {
  /** A token to send, obtained if need be, by one caller for all. `refused`: the one the caller was just refused with. */
  take(refused?: Token): Promise<Token>;
  /** The value last obtained, to be masked wherever it could show. */
  current(): string | undefined;
};

/** Keeps one token for all callers. `obtain` asks the service for a new one. */
export function openTokens(obtain: () => Promise<Token>, now: () => number): Tokens {
  let current: Token | undefined;
  let pending: Promise<Token> | undefined;
  return {
    current: () => current?.value,
    async take(refused) {
      // A token other than the refused one was renewed by somebody else meanwhile: no second renewal.
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

/** The request of spec, 'Authentication', 1. Two tokens do no more harm than one: it may be repeated. */
export function tokenCall(clientId: string, clientSecret: string): Call {
  return {
    method: 'POST',
    path: '/oauth/token',
    params: { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
  };
}

/** A token's life is not specified; where `expires_in` (seconds) is told, it is renewed at nine tenths of it. */
export function readToken(answer: Answer): Token {
  const body = asObject(parseJson(answer), 'the token answer');
  const value = asText(body.access_token, 'access_token');
  if (value === '') throw new ShapeError('expected text as access_token, got none');
  return { value, renewAtMs: answer.requestedAt.getTime() + lifeMs(body.expires_in) * 0.9, accepted: false };
}

function lifeMs(expiresIn: unknown): number {
  try {
    const seconds = asInteger(expiresIn, 'expires_in');
    return seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
