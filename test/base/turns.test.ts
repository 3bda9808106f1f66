import { expect, onTestFinished, test } from 'vitest';
import { openTurns } from '../../src/base/turns.ts';

test('each piece of work begins in a turn of the event loop of its own, in the order in which they came', async () => {
  let turns = 0;
  let isCounting = true;
  onTestFinished(() => {
    isCounting = false;
  });
  const count = () => {
    turns += 1;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  const turn = openTurns();
  const begun: { piece: number; at: number }[] = [];
  const work = async (piece: number) => {
    await turn();
    begun.push({ piece, at: turns });
  };
  await Promise.all([work(1), work(2), work(3)]);
  await work(4);
  expect(begun.map(({ piece }) => piece)).toEqual([1, 2, 3, 4]);
  expect(new Set(begun.map(({ at }) => at)).size).toBe(4);
});
