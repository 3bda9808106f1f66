import { expect, test, vi } from 'vitest';
import { postAlert } from '../../src/alerts/post-issues.ts';
import { startReceiver } from '../sandbox/reference-service/webhook-receiver.ts';

test('an alert reaches the receiver without the signs of a mention or a link', async () => {
  const { received, url } = await startReceiver();
  await postAlert(url, 'review-sync: <!channel> & <http://evil.example|here>');
  const text = 'review-sync: &lt;!channel&gt; &amp; &lt;http://evil.example|here&gt;';
  expect(received).toMatchObject([{ headers: { 'content-type': 'application/json' }, body: { text } }]);
});

test.each([
  [301, 'did not take the message'],
  [404, 'responded with 404, expected 2xx'],
  [500, 'responded with 500, expected 2xx'],
])('an alert that is answered with %i goes nowhere else, and was not accepted', async (status, words) => {
  const receiver = await startReceiver();
  receiver.answer = status;
  await expect(postAlert(receiver.url, 'secret text')).rejects.toThrow(`ALERT_WEBHOOK_URL ${words}`);
  expect(receiver.received).toHaveLength(1);
});

test('a receiver that never responds is given up after ten seconds', async () => {
  const receiver = await startReceiver();
  receiver.answer = 'hang';
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new Error('too late')));
  await expect(postAlert(receiver.url, 'text')).rejects.toMatchObject({
    message: 'ALERT_WEBHOOK_URL did not take the message',
    cause: { message: 'too late' },
  });
  expect(timeout).toHaveBeenCalledWith(10_000);
});
