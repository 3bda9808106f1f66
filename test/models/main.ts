/**
 * `npm run models`: what is explored, state by state. With a part of a name, also the shortest counterexamples of the
 * defects whose name holds it: `npm run models matchesByContent`.
 */
import { reverts, scenarios } from './catalogue.ts';
import { describeFailure } from './check.ts';

const wanted = process.argv[2];
for (const scenario of wanted === undefined ? scenarios : []) {
  const explored = scenario.run();
  console.log(`${String(explored.states).padStart(6)} states, ${explored.depth} actions deep: ${scenario.name}`);
  if (explored.failure) console.log(describeFailure(explored));
}
for (const revert of reverts) {
  if (wanted !== undefined && !revert.name.includes(wanted)) continue;
  const explored = revert.run();
  const found = explored.failure ? `broken after ${explored.failure.actions.length} actions` : 'NOT FOUND';
  console.log(`${found}: ${revert.name} (issue ${revert.issue})`);
  if (wanted !== undefined) console.log(describeFailure(explored));
}
