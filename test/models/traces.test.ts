import { describe, expect, test } from 'vitest';
import { judgeOrder, type OrderRecording, type RecordedEvent } from './order-trace.ts';
import type { Link } from './orders.ts';

describe('the order model judges recordings', () => {
  const row = { pushed: null, isUnsure: false, isRetryDue: false, removalsWanted: 0 };
  const pending: Link = { line: 'a', id: null, content: 'S', before: [], wasSentAgain: false };
  const token = 'lease 1';
  const lease: RecordedEvent = { kind: 'lease', token, row, links: [] };
  const post: RecordedEvent = { kind: 'post' };
  const links: RecordedEvent = { kind: 'links', token, links: [pending] };
  const create: RecordedEvent = { kind: 'create', product: 1, price: '10', status: 201 };
  const record: RecordedEvent = {
    kind: 'record',
    token,
    row: { ...row, pushed: 'fingerprint 1' },
    links: [{ ...pending, id: 1 }],
  };
  const cursor: RecordedEvent = { kind: 'cursor', upTo: 0 };
  const recording = (events: RecordedEvent[]): OrderRecording => ({
    versions: [{ a: 'S' }],
    fingerprints: ['fingerprint 1'],
    waits: [false],
    begin: { row: undefined, links: [], subs: [], hasOrder: false, cursor: -1, isLeased: false },
    events,
  });
  const judge = (...events: RecordedEvent[]) => judgeOrder(recording(events));

  test('a push without faults is explained', () => {
    expect(judge(lease, post, links, create, record, cursor).rejected).toBeUndefined();
  });

  test('a process that dies after its create, and another that finds the sub-order, are explained', () => {
    const taken: RecordedEvent = { kind: 'lease', token: 'lease 2', row: { ...row, isUnsure: true }, links: [pending] };
    const found: RecordedEvent = { kind: 'links', token: 'lease 2', links: [{ ...pending, id: 1 }] };
    const recorded: RecordedEvent = { ...record, token: 'lease 2' };
    expect(judge(lease, post, links, create, taken, post, found, recorded, cursor).rejected).toBeUndefined();
  });

  test.each<[string, RecordedEvent[], rejected: number]>([
    ['a request without the lease', [post, lease], 0],
    ['a create before its link is written', [lease, post, create, links], 2],
    ['a second create without a look at the service between the two', [lease, post, links, create, create], 4],
    ['a cursor that moves before the push is recorded', [lease, post, links, create, cursor, record], 4],
    ['a record under the lease of another process', [lease, post, links, create, { ...record, token: 'lease 2' }], 4],
    ['a lease that is taken while another holds it', [lease, { ...lease, token: 'lease 2' }], 1],
    [
      'a record without the sub-order that was created',
      [lease, post, links, create, { ...record, links: [pending] }],
      4,
    ],
  ])('%s is rejected', (_, events, index) => {
    const { accepted, rejected } = judge(...events);
    expect({ accepted, rejected }).toEqual({ accepted: index, rejected: events[index] });
  });

  test('a removal in a push that the run has not counted is rejected', () => {
    const known = { ...row, pushed: 'fingerprint 0' };
    const old: Link = { ...pending, id: 1 };
    const events: RecordedEvent[] = [
      { kind: 'lease', token, row: known, links: [old] },
      post,
      { kind: 'remove', id: 1, status: 204 },
    ];
    const judged = judgeOrder({
      ...recording(events),
      versions: [{}],
      begin: { row: known, links: [old], subs: [{ id: 1, content: 'S' }], hasOrder: true, cursor: -1, isLeased: false },
    });
    expect(judged.rejected).toEqual(events[2]);
  });
});
