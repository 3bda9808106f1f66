import fc from 'fast-check';
import { testSeed } from './sampled.ts';

// A soak takes other cases each time; fast-check prints the seed of a failure.
if (process.env.PROPERTY_RUNS === undefined) fc.configureGlobal({ seed: testSeed });
