/** An answer other than success. */
export class Failure extends Error {
  readonly status: number;
  readonly errors: readonly string[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, errors: string | readonly string[], headers: Record<string, string> = {}) {
    const all = typeof errors === 'string' ? [errors] : errors;
    super(all.join('; '));
    this.status = status;
    this.errors = all;
    this.headers = headers;
  }
}

export const notFound = (what: string) => new Failure(404, `${what} not found`);

/** The answer to any error: a Failure as it is, and what Postgres refuses of the data as the caller's fault. */
export function asFailure(error: Error & { statusCode?: number; code?: string; detail?: string }): Failure {
  if (error instanceof Failure) return error;
  if (error.code === '23505') return new Failure(422, takenOf(error.detail) ?? error.message);
  // 54: a value that is too long for an index, say.
  if (/^(2[123]|54)/.test(error.code ?? '')) return new Failure(422, error.message);
  return new Failure(error.statusCode ?? 500, error.message);
}

function takenOf(detail = ''): string | undefined {
  const [, field, value] = /^Key \((\w+)\)=\((.*)\) already exists/s.exec(detail) ?? [];
  return field && `${field}: found ${JSON.stringify(value)}, expected one that is not taken`;
}
