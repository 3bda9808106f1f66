/**
 * Judges the recording of a real run by a model: it is accepted when some path of the model explains it.
 *
 * 1. Keep all states in which the model may be after the events so far; at first the initial one.
 * 2. Add the states that actions reach of which a recording shows nothing (a crash, a lease that runs out).
 * 3. Take each action whose event is the next one of the recording. A state that breaks a promise explains nothing.
 * 4. Where no state is left, the recording is rejected at this event: the code did what the model does not allow.
 *
 * After the trace validation of etcd-io/raft (tla/Traceetcdraft.tla), which does the same with TLC.
 */
import type { Model, Step } from './check.ts';

export type Explanation<State, Recorded> = {
  /** Events that the model explains. */
  accepted: number;
  /** The first event that no action explains; undefined: the recording is accepted. */
  rejected: Recorded | undefined;
  /** Where the model may be before it. */
  states: State[];
  /** What the model would have allowed instead. */
  allowed: string[];
};

type Judge<State, Event, Recorded, Known> = {
  events: readonly Recorded[];
  /** What is known of the run beside the state of the model, such as which worker has which lease. */
  known: Known;
  /** Whether the action is what was recorded: what is known after it, or undefined. */
  matches(step: Step<State, Event> & { observed: Event }, recorded: Recorded, known: Known): Known | undefined;
  /** Events that may also have no effect in the model. */
  mayBeIdle?(recorded: Recorded): boolean;
};

/** @throws Error where more than `mostStates` states may be the one before an event. */
export function explain<State, Event, Recorded, Known>(
  { initial, next, invariants }: Model<State, Event>,
  { events, known, matches, mayBeIdle }: Judge<State, Event, Recorded, Known>,
  mostStates = 50_000,
): Explanation<State, Recorded> {
  type Place = { state: State; known: Known };
  const keeps = Object.values(invariants);
  const keyOf = ({ state, known }: Place) => JSON.stringify([state, known]);
  let places = new Map<string, Place>();
  const enter = (into: Map<string, Place>, place: Place): void => {
    if (into.size >= mostStates) throw new Error(`more than ${mostStates} states may explain the recording`);
    const key = keyOf(place);
    if (!into.has(key) && keeps.every((holds) => holds(place.state))) into.set(key, place);
  };
  enter(places, { state: initial, known });

  for (const [index, recorded] of events.entries()) {
    const after = new Map<string, Place>();
    const allowed = new Set<string>();
    // A map goes on with what is added while it is walked.
    for (const place of places.values()) {
      if (mayBeIdle?.(recorded)) enter(after, place);
      for (const step of next(place.state)) {
        const { observed, state, action } = step;
        if (observed === undefined) {
          enter(places, { state, known: place.known });
          continue;
        }
        allowed.add(action);
        const knownAfter = matches({ ...step, observed }, recorded, place.known);
        if (knownAfter !== undefined) enter(after, { state, known: knownAfter });
      }
    }
    if (after.size === 0) {
      const states = [...places.values()].map(({ state }) => state);
      return { accepted: index, rejected: recorded, states, allowed: [...allowed].sort() };
    }
    places = after;
  }
  return { accepted: events.length, rejected: undefined, states: [], allowed: [] };
}

/** A rejection for a person: the longest prefix that the model explains, and the event that it does not. */
function describeRejection<State, Recorded>(
  { accepted, rejected, states, allowed }: Explanation<State, Recorded>,
  events: readonly Recorded[],
): string {
  const line = (event: Recorded, index: number) => `${String(index + 1).padStart(3)}. ${JSON.stringify(event)}`;
  if (rejected === undefined) return `${accepted} events, all explained`;
  return [
    `the model explains ${accepted} of ${events.length} events:`,
    ...events.slice(0, accepted).map(line),
    'and no action explains the next one:',
    line(rejected, accepted),
    `it would allow instead: ${allowed.join('; ') || 'nothing'}`,
    `one of ${states.length} states before it: ${JSON.stringify(states[0])}`,
  ].join('\n');
}

/**
 * @throws Error that shows the longest explained part of the recording, and the event that the model does not allow.
 */
export function expectExplained(judged: Explanation<unknown, unknown>, name: string, events: readonly unknown[]): void {
  if (judged.rejected !== undefined) throw new Error(`${name}: ${describeRejection(judged, events)}`);
}
