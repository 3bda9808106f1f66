/** An HTTP API of Medusa, with the headers of one user. */
export type Api = {
  /** @throws Error with Medusa's own words where it refuses. */
  get(path: string): Promise<Row>;
  post(path: string, body?: object): Promise<Row>;
};

// biome-ignore lint/suspicious/noExplicitAny: Medusa's documentation says what its responses are
export type Row = Record<string, any>;

export function openApi(url: string, headers: Record<string, string> = {}): Api {
  const ask = async (method: string, path: string, body?: object): Promise<Row> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} ${JSON.stringify(body)}\n${response.status} ${text}`);
    return JSON.parse(text) as Row;
  };
  return { get: (path) => ask('GET', path), post: (path, body = {}) => ask('POST', path, body) };
}

/** The admin API for a user who was made by `medusa user`. */
export async function openAdmin(url: string, email: string, password: string): Promise<Api> {
  const { token } = await openApi(url).post('/auth/user/emailpass', { email, password });
  return openApi(url, { authorization: `Bearer ${token}` });
}
