/**
 * The recording of what real code did with one order, and its judgement by the order model. The harness makes recordings
 * (test/harness/trace-orders.ts); a test may also forge one.
 */
import { type Explanation, explain } from './explain.ts';
import {
  type Link,
  type OrderEvent,
  type OrderState,
  orderModel,
  parseContent,
  type Sub,
  type Version,
  type WorkerName,
} from './orders.ts';

/** What sync.order_links holds of the order, as far as the model has it. */
export type RecordedRow = Pick<OrderState['row'], 'pushed' | 'isUnsure' | 'isRetryDue' | 'removalsWanted' | 'isHeld'>;

/** `token`: of the lease that the statement was allowed by. `links` and `unseen` (default: none): all of the order's afterwards. */
export type RecordedEvent =
  | { kind: 'shop'; version: number }
  | { kind: 'cursor'; upTo: number }
  | { kind: 'hold'; row: RecordedRow }
  | { kind: 'lease' | 'record'; token: string; row: RecordedRow; links: Link[]; unseen?: Link[] }
  /** `row` is undefined where the order is forgotten. */
  | { kind: 'return'; token: string; row: RecordedRow | undefined }
  | { kind: 'links'; token: string; links: Link[]; unseen?: Link[] }
  | { kind: 'forget'; token: string; links: Link[] }
  | { kind: 'post' | 'delete order' }
  | { kind: 'create'; product: number; price: string; status: number }
  | { kind: 'change' | 'remove'; id: number; status: number };

export type OrderRecording = {
  /** The shop's versions of the order, the one at the beginning first, and the fingerprint of each. */
  versions: readonly Version[];
  fingerprints: readonly string[];
  waits: readonly boolean[];
  isEmptied: readonly boolean[];
  begin: {
    row: RecordedRow | undefined;
    links: Link[];
    unseen?: Link[];
    subs: Sub[];
    hasOrder: boolean;
    cursor: number;
    isLeased: boolean;
  };
  events: readonly RecordedEvent[];
};

/** Whether the model explains what was recorded of one order: with one worker at a time, or else with two. */
export function judgeOrder(recording: OrderRecording): Explanation<OrderState, RecordedEvent> {
  const judged = judgeWith(recording, ['A']);
  return judged.rejected === undefined ? judged : judgeWith(recording, ['A', 'B']);
}

function judgeWith(
  { versions, fingerprints, waits, isEmptied, begin, events }: OrderRecording,
  workers: readonly WorkerName[],
): Explanation<OrderState, RecordedEvent> {
  const { row, links, unseen = [], subs, hasOrder, cursor, isLeased } = begin;
  const none: RecordedRow = { pushed: null, isUnsure: false, isRetryDue: false, removalsWanted: 0, isHeld: false };
  const model = orderModel({
    versions,
    faults: Number.MAX_SAFE_INTEGER,
    traced: {
      fingerprints,
      waits,
      isEmptied,
      workers,
      begin: {
        service: { hasOrder, subs, nextId: Math.max(0, ...subs.map((sub) => sub.id)) + 1 },
        row: {
          ...(row ?? none),
          isKnown: row !== undefined,
          isRecorded: row !== undefined,
          cursor,
          isInLookback: false,
        },
        links: sorted(links),
        unseen,
        lease: { holder: isLeased ? 'dead' : null, isOver: false },
      },
    },
  });
  // How many faults have happened would make two states of what is one.
  const next = (state: OrderState) =>
    model.next(state).map((step) => ({ ...step, state: { ...step.state, faultsLeft: Number.MAX_SAFE_INTEGER } }));
  return explain({ ...model, next }, { events, known: {} as Tokens, matches });
}

/** The lease that each worker of the model took last. */
type Tokens = { A?: string; B?: string };

function matches(
  { observed, state }: { observed: OrderEvent; state: OrderState },
  recorded: RecordedEvent,
  tokens: Tokens,
): Tokens | undefined {
  const given = (holds: boolean) => (holds ? tokens : undefined);
  switch (recorded.kind) {
    case 'shop':
      return given(observed.kind === 'shop' && state.shop === recorded.version);
    case 'cursor':
      return given(observed.kind === 'cursor' && state.row.cursor === recorded.upTo);
    case 'hold':
      return given(observed.kind === 'hold' && isRow(state, recorded.row));
    case 'post':
    case 'delete order':
      return given(observed.kind === recorded.kind);
    case 'create':
    case 'change':
    case 'remove':
      return given(observed.kind === 'request' && isRequest(observed, recorded));
    case 'lease':
      if (observed.kind !== 'lease' || !isRow(state, recorded.row)) return undefined;
      return { ...tokens, [observed.holder]: recorded.token };
    case 'return':
    case 'links':
    case 'record':
    case 'forget': {
      if (observed.kind !== recorded.kind || !('holder' in observed)) return undefined;
      if (tokens[observed.holder] !== recorded.token) return undefined;
      const isSameRow = !('row' in recorded) || isRow(state, recorded.row);
      const areSameLinks = !('links' in recorded) || isSame(state.links, sorted(recorded.links));
      const isSameUnseen =
        recorded.kind === 'return' || recorded.kind === 'forget' || isSame(state.unseen, recorded.unseen ?? []);
      return given(isSameRow && areSameLinks && isSameUnseen);
    }
    default:
      return recorded satisfies never;
  }
}

type RecordedRequest = Extract<RecordedEvent, { status: number }>;

function isRequest(
  { operation, status }: Extract<OrderEvent, { kind: 'request' }>,
  recorded: RecordedRequest,
): boolean {
  // A sub-order that is gone already is removed.
  const isDone = recorded.status < 400 || (recorded.kind === 'remove' && recorded.status === 404);
  if (operation.kind !== recorded.kind || status !== (isDone ? 'done' : recorded.status < 500 ? 'refused' : 'failed'))
    return false;
  if (recorded.kind !== 'create' || operation.kind !== 'create')
    return 'id' in operation && 'id' in recorded && operation.id === recorded.id;
  const content = parseContent(operation.content);
  return content.product_id === recorded.product && Number(content.price) === Number(recorded.price);
}

const isRow = ({ row }: OrderState, recorded: RecordedRow | undefined): boolean =>
  recorded === undefined
    ? !row.isKnown
    : row.isKnown &&
      row.pushed === recorded.pushed &&
      row.isUnsure === recorded.isUnsure &&
      row.isRetryDue === recorded.isRetryDue &&
      row.removalsWanted === recorded.removalsWanted &&
      row.isHeld === recorded.isHeld;

const sorted = (links: readonly Link[]): Link[] =>
  links
    .map(({ line, id, content, before }) => ({ line, id, content, before }))
    .sort((a, b) => (a.line < b.line ? -1 : 1));
const isSame = (some: unknown, others: unknown): boolean => JSON.stringify(some) === JSON.stringify(others);
