import { expect, onTestFinished, test, vi } from 'vitest';
import { postAlert } from '../../src/alerts/post-alert.ts';
import { startReceiver } from '../sandbox/reference-service/webhook-receiver.ts';

test('an alert reaches the receiver without the signs of a mention or a link', async () => {
  const { received, url } = await startReceiver();
  await postAlert(url, 'review-sync: <!channel> & <http://evil.example|here>');
  expect(received).toMatchObject([
    {
      headers: { 'content-type': 'application/json' },
      body: { text: 'review-sync: &lt;!channel&gt; &amp; &lt;http://evil.example|here&gt;' },
    },
  ]);
});

test.each([301, 302, 303, 307, 308])(
  'an alert that is answered with a redirect (%i) goes nowhere else',
  async (status) => {
    const receiver = await startReceiver();
    receiver.answer = status;
    await expect(postAlert(receiver.url, 'secret text')).rejects.toThrow();
    expect(receiver.received).toHaveLength(1);
  },
);

test.each([404, 500])('an alert that is answered with %i was not accepted: it is sent again', async (status) => {
  const receiver = await startReceiver();
  receiver.answer = status;
  await expect(postAlert(receiver.url, 'text')).rejects.toThrow(
    new RegExp(`^ALERT_WEBHOOK_URL responded with ${status}, expected 2xx$`),
  );
});

test('a receiver that never responds is given up after ten seconds', async () => {
  const receiver = await startReceiver();
  receiver.answer = 'hang';
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new Error('too late')));
  onTestFinished(() => timeout.mockRestore());
  await expect(postAlert(receiver.url, 'text')).rejects.toThrow('too late');
  expect(timeout).toHaveBeenCalledWith(10_000);
});
