import type { ProxiedRequest } from '../harness/proxy.ts';
import type { Finding } from './judge-orders.ts';

const maxAgeMs = 30 * 86_400_000;
/** Between the decision and the arrival of a request, time passes. */
const graceMs = 120_000;

/**
 * Watches the requests that reach the service: none may disclose an e-mail address or phone number of an order that is
 * older than ORDER_CONTACT_MAX_AGE_DAYS (promise 7). Repeating to an order what the service was given for it is no
 * disclosure.
 */
export function watchContacts() {
  const given = new Map<string, Set<string>>();
  const findings: Finding[] = [];
  let expected: 'nothing' | 'also' | 'only' = 'nothing';
  return {
    /** Whether the requests that follow are those of a backfill, which may disclose nothing of any order. */
    expectBackfill(which: 'nothing' | 'also' | 'only'): void {
      expected = which;
    },
    /** Called with each request that the service carries out. */
    see({ method, path, form }: ProxiedRequest): void {
      const code = form.get('code');
      if (method !== 'POST' || path !== '/v1/orders' || code === null) return;
      const createdMs = Date.parse(form.get('created_at') ?? '');
      const isOld = Date.now() - createdMs > maxAgeMs + graceMs;
      for (const field of ['user_email', 'user_phone']) {
        const value = form.get(field);
        if (!value) continue;
        const known = given.get(code) ?? new Set();
        given.set(code, known);
        if ((isOld || expected === 'only') && !known.has(`${field} ${value}`)) {
          findings.push(
            `order ${code} of ${form.get('created_at')}: its ${field} was disclosed on ${new Date().toISOString()}`,
          );
        }
        known.add(`${field} ${value}`);
      }
    },
    /** An order that was deleted at the service has no contact that could be repeated. */
    forget(code: string): void {
      given.delete(code);
    },
    take: (): Finding[] => findings.splice(0),
  };
}

export type ContactWatch = ReturnType<typeof watchContacts>;
