import { AuthenticationError } from '../review-api-errors.ts';
import type { SendAttempt } from './attempt.ts';
import type { Call, HttpResponse } from './call.ts';
import { type Attempt, tokenPath } from './outcome.ts';
import { readToken } from './response-body.ts';
import type { Retries } from './retry.ts';
import type { OpenSession } from './session.ts';
import type { Token } from './tokens.ts';

/** How long no request is sent with credentials that the service has refused for all, in milliseconds. */
const refusalMs = 10_000;

/** A request that was the first with so many fresh tokens, and was refused each time, ends. */
const freshTokens = 3;

type AuthorizationDeps = {
  clientId: string;
  clientSecret: string;
  session: OpenSession;
  retries: Retries;
  attempt: SendAttempt;
  /** If a token serves fewer requests than are in flight, more of them would only be refused. */
  fitSlots: (uses: number) => void;
};

/** Sends calls with the token of the session, and obtains one if the session has no valid one. */
export function openAuthorization({ clientId, clientSecret, session, retries, attempt, fitSlots }: AuthorizationDeps) {
  // Repeatable: a second token does no harm (docs/interface.md, "Authentication", 1).
  const params = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const tokenCall: Call = { method: 'POST', path: tokenPath, params };
  let renewal: Promise<unknown> | undefined;
  let refusal: { error: AuthenticationError; untilMs: number } | undefined;
  /** Requests whose token was accepted, and how many these were when a request was last given up. */
  let [accepted, acceptedBefore] = [0, 0];
  /** Whether a cache asks the service when we say that we want no stored response. */
  let isObeyed = true;

  return { requireToken, openCall };

  /** A call that is sent by the returned function, after a wait again. @returns the attempt whose outcome counts. */
  function openCall<T>(call: Call, read: (response: HttpResponse) => T) {
    let bareRefusals = 0;
    return async (free: () => void): Promise<Attempt<T>> => {
      for (let isAgain = false; ; ) {
        await requireToken();
        let token: Token | undefined;
        let isFirst = false;
        const sent = await retries.inTurn(call, async () => {
          token = session.token();
          if (!token) return undefined;
          isFirst = token.served + token.pending === 0;
          return withToken(token, () => attempt(call, read, token, free));
        });
        if (!sent || !token) continue;
        if (sent.outcome.kind === 'token-refused') {
          session.refuse(token);
          if (token.isOurs && isFirst) bareRefusals += 1;
          if (bareRefusals >= freshTokens) return givenUp(call, sent);
        } else if (sent.isStored && !isAgain && isObeyed) isAgain = true;
        else {
          if (call.method === 'GET') isObeyed = !sent.isStored;
          return sent;
        }
      }
    };
  }

  async function withToken<T>(token: Token, send: () => Promise<Attempt<T>>): Promise<Attempt<T>> {
    token.pending += 1;
    const sent = await send().finally(() => {
      token.pending -= 1;
    });
    if (sent.outcome.kind !== 'token-refused' && sent.outcome.status !== undefined) {
      token.served += 1;
      accepted += 1;
    }
    fitSlots(session.lifeInUses());
    return sent;
  }

  /** One path may keep responding with 401 although the tokens work elsewhere. Otherwise all requests are refused. */
  function givenUp<T>({ method, path }: Call, sent: Attempt<T>): Attempt<T> {
    const isForAll = accepted === acceptedBefore;
    acceptedBefore = accepted;
    if (!isForAll) return sent;
    const { status, detail } = sent.outcome;
    throw refuseAll(new AuthenticationError({ method, path, status, detail }, true));
  }

  /** For a while no other request has to find out that the service refuses the credentials. */
  function refuseAll(error: AuthenticationError): AuthenticationError {
    refusal = { error, untilMs: performance.now() + refusalMs };
    return error;
  }

  async function requireToken(): Promise<void> {
    if (session.token()) return;
    // A token that another process has obtained needs no request, and so does not wait for the end of a hold.
    await session.look();
    if (session.token()) return;
    if (refusal && refusal.untilMs > performance.now()) throw refusal.error;
    // Takes no slot: the caller holds one and would wait for itself.
    renewal ??= retries
      .repeat((spent) => retries.untilWait(tokenCall, renew, spent))
      .catch((error: unknown) => {
        throw error instanceof AuthenticationError ? refuseAll(error) : error;
      })
      .finally(() => {
        renewal = undefined;
      });
    await renewal;
  }

  async function renew(): Promise<Attempt<unknown>> {
    const sent = await retries.inTurn(tokenCall, () => session.renew(() => attempt(tokenCall, readToken)));
    return sent ?? { outcome: { kind: 'success', value: undefined }, isStored: false, sentMs: 0, durationMs: 0 };
  }
}
