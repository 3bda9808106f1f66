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
