/**
 * A small explicit-state model checker. It visits every state that a model can reach, breadth first, and reports the
 * shortest list of actions that breaks a promise.
 *
 * 1. Begin with the initial state; take each action of each state once. States with the same key are one state.
 * 2. Stop at the first state that breaks an invariant. Breadth first: no shorter list of actions does.
 * 3. When all states are known, go backwards from the states of the goal along actions that are no faults. A state that
 *    this does not reach is stuck: faults have stopped, and the goal cannot be reached any more.
 */
export type Step<State> = {
  /** What happens, for a person. */
  action: string;
  state: State;
  /** A fault, or a change of the outside world. The goal must be reachable without any further one. */
  isFault?: boolean;
};

export type Model<State> = {
  initial: State;
  next(state: State): Step<State>[];
  /** Equal for states that differ only in names (two workers swapped): they are visited once. */
  key(state: State): string;
  /** What holds in every state, by the sentence that states it. */
  invariants: Record<string, (state: State) => boolean>;
  /** What every state can still reach once faults stop. */
  goal: { name: string; isReached(state: State): boolean };
  /** States that must be visited, or the exploration proves less than it seems to. */
  probes: Record<string, (state: State) => boolean>;
};

export type Explored<State> = {
  states: number;
  /** Actions of the longest shortest path. */
  depth: number;
  /** The promise that is broken, and the actions that break it; undefined where none is. */
  failure: { promise: string; actions: string[]; last: State } | undefined;
  /** The probes that were visited. */
  reached: Set<string>;
};

/** @throws Error where the model has more than `mostStates` states: it would not end within seconds. */
export function explore<State>(model: Model<State>, mostStates = 400_000): Explored<State> {
  const indexOf = new Map([[model.key(model.initial), 0]]);
  const states = [model.initial];
  /** How each state was first reached. */
  const cameFrom = [{ index: -1, action: '' }];
  const depths = [0];
  /** For each state, the states that lead to it by an action that is no fault. */
  const leadingTo: number[][] = [[]];
  const reached = new Set<string>();
  const invariants = Object.entries(model.invariants);
  const unseen = new Map(Object.entries(model.probes));

  const pathTo = (end: number): string[] => {
    const actions: string[] = [];
    for (let at = cameFrom[end]; at && at.index >= 0; at = cameFrom[at.index]) actions.unshift(at.action);
    return actions;
  };
  const result = (promise?: string, index = 0): Explored<State> => ({
    states: states.length,
    depth: depths.at(-1) ?? 0,
    failure: promise === undefined ? undefined : { promise, actions: pathTo(index), last: states[index] as State },
    reached,
  });

  for (let index = 0; index < states.length; index += 1) {
    const state = states[index] as State;
    for (const [promise, holds] of invariants) if (!holds(state)) return result(promise, index);
    for (const [probe, isReached] of unseen) if (isReached(state) && unseen.delete(probe)) reached.add(probe);
    for (const { action, state: after, isFault } of model.next(state)) {
      const key = model.key(after);
      let known = indexOf.get(key);
      if (known === undefined) {
        known = states.length;
        if (known === mostStates) throw new Error(`the model has more than ${mostStates} states`);
        indexOf.set(key, known);
        states.push(after);
        cameFrom.push({ index, action });
        depths.push((depths[index] ?? 0) + 1);
        leadingTo.push([]);
      }
      if (!isFault) leadingTo[known]?.push(index);
    }
  }

  const canReachGoal = new Uint8Array(states.length);
  const open: number[] = [];
  const mark = (index: number) => {
    if (canReachGoal[index] === 1) return;
    canReachGoal[index] = 1;
    open.push(index);
  };
  for (const [index, state] of states.entries()) if (model.goal.isReached(state)) mark(index);
  for (let at = open.pop(); at !== undefined; at = open.pop()) for (const index of leadingTo[at] ?? []) mark(index);
  const stuck = canReachGoal.indexOf(0);
  return stuck < 0 ? result() : result(`once faults stop, ${model.goal.name}`, stuck);
}

/** A counterexample for a person. */
export function describeFailure<State>({ failure, states }: Explored<State>): string {
  if (!failure) return `${states} states, no promise broken`;
  const actions = failure.actions.map((action, index) => `${String(index + 1).padStart(3)}. ${action}`);
  return [`broken: ${failure.promise}`, ...actions, `the end: ${JSON.stringify(failure.last)}`].join('\n');
}
