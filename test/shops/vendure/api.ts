/** A GraphQL address of Vendure, with the session of one user. */
export type Api = {
  /**
   * Sends one document, and gives the value of its first field.
   *
   * @throws Error where the response has errors, or is one of Vendure's error results.
   */
  call<Value = Row>(document: string, variables?: Record<string, unknown>): Promise<Value>;
  /**
   * Sends a mutation, and gives its result.
   *
   *     await api.change('cancelOrder', { input: ['CancelOrderInput', { orderId: '1' }] });
   *
   * @param fields of the result. Default: none but those of an error result.
   */
  change<Value = Row>(name: string, given: Given, fields?: string): Promise<Value>;
};

/** Arguments by name, each with its type in GraphQL and its value. None may be null. */
export type Given = Readonly<Record<string, [type: string, value: unknown]>>;

// biome-ignore lint/suspicious/noExplicitAny: the documents say what their responses are
export type Row = Record<string, any>;

export function openApi(url: string): Api {
  let token: string | undefined;
  const api: Api = {
    async call<Value>(document: string, variables: Record<string, unknown> = {}) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify({ query: document, variables }),
      });
      // A new session, or the same one after a login.
      token = response.headers.get('vendure-auth-token') ?? token;
      const { data, errors } = (await response.json()) as { data?: Record<string, unknown>; errors?: unknown };
      if (errors || !data)
        throw new Error(`Vendure refused ${document}\n${JSON.stringify(variables)}\n${JSON.stringify(errors)}`);
      const value = Object.values(data)[0];
      if (isErrorResult(value))
        throw new Error(`Vendure refused ${document}\n${JSON.stringify(variables)}\n${JSON.stringify(value)}`);
      return value as Value;
    },
    change(name, given, fields = `__typename ${orError}`) {
      const types = Object.entries(given).map(([argument, [type]]) => `$${argument}: ${type}!`);
      const names = Object.keys(given).map((argument) => `${argument}: $${argument}`);
      const values = Object.entries(given).map(([argument, [, value]]) => [argument, value]);
      const document = `mutation (${types.join()}) { ${name}(${names.join()}) { ${fields} } }`;
      return api.call(document, Object.fromEntries(values));
    },
  };
  return api;
}

const isErrorResult = (value: unknown) => typeof value === 'object' && value !== null && 'errorCode' in value;

/** Asks for the code and message of an error result, where a mutation has one. */
export const orError = '... on ErrorResult { errorCode message }';
