import { expect, test } from 'vitest';
import { patchWorker } from '../../src/queue/bullmq-patch.ts';

test('a BullMQ without what is replaced is refused by name, not left unpatched', () => {
  const taken: string[] = [];
  const worker = { moveToActive: async () => 'job', maximumBlockTimeout: 10 };
  for (const changed of [
    { moveToActive: worker.moveToActive },
    { maximumBlockTimeout: 10 },
    { ...worker, moveToActive: 'gone' },
  ])
    expect(() => patchWorker(changed, () => {})).toThrow(/This version of BullMQ is not the one/);
  patchWorker(worker, () => void taken.push('asked'));
  expect(worker.maximumBlockTimeout).toBe(5);
  return expect(worker.moveToActive().then((job) => [job, taken])).resolves.toEqual(['job', ['asked']]);
});
