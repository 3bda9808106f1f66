import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { postAlert } from '../../src/alerts/post-alert.ts';

/** A receiver that answers as `respond` says; `came` holds the path, the type and the body of each request. */
async function startReceiver(respond: { status: number; headers?: Record<string, string> }) {
  const came: { path: string | undefined; type: string | undefined; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = (await request.setEncoding('utf8').toArray()).join('');
    came.push({ path: request.url, type: request.headers['content-type'], body });
    const isFirst = came.length === 1;
    response.writeHead(isFirst ? respond.status : 200, isFirst ? respond.headers : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { came, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('an alert reaches the receiver without the signs of a mention or a link', async () => {
  const { came, url } = await startReceiver({ status: 200 });
  await postAlert(`${url}/hook`, 'review-sync: <!channel> & <http://evil.example|here>');
  expect(came.map(({ body }) => JSON.parse(body))).toEqual([
    { text: 'review-sync: &lt;!channel&gt; &amp; &lt;http://evil.example|here&gt;' },
  ]);
  expect(came[0]?.type).toBe('application/json');
});

test.each([301, 302, 303, 307, 308])(
  'an alert that is answered with a redirect (%i) is an error and goes nowhere else',
  async (status) => {
    const { came, url } = await startReceiver({ status, headers: { location: '/elsewhere' } });
    await expect(postAlert(`${url}/hook`, 'secret text')).rejects.toThrow();
    expect(came.map(({ path }) => path)).toEqual(['/hook']);
  },
);

test.each([403, 404, 500])('an alert that is answered with %i was not accepted: it is sent again', async (status) => {
  const { url } = await startReceiver({ status });
  await expect(postAlert(`${url}/hook`, 'text')).rejects.toThrow(
    new RegExp(`^ALERT_WEBHOOK_URL responded with ${status}, expected 2xx$`),
  );
});

test('a receiver that never responds is given up after ten seconds', async () => {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new Error('too late')));
  onTestFinished(() => {
    timeout.mockRestore();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  await expect(postAlert(`http://127.0.0.1:${port}/hook`, 'text')).rejects.toThrow('too late');
  expect(timeout).toHaveBeenCalledWith(10_000);
});
