// Work that a request causes, whatever the machine, and what makes it large: many names, long patterns,
// chains of agents. Names and patterns are compared by src/auth/globs, whose steps are counted.
import { afterAll, beforeAll, vi } from 'vitest';
import * as globs from '../../../src/auth/globs';
import { newId } from '../../../src/db/ids';
import type * as schema from '../../../src/db/schema';
import { newAgent } from '../credentials';
import { inCore } from '../gate';
import type { Caller } from '../world';
import { PATTERNS } from './largest';
import { counted } from './rows';

/** Every comparison of a name with a pattern, or of two patterns, counted. */
export const compared = { count: 0 };
const { matches, contains } = globs;

/** Counts comparisons in all tests of a file. */
export function useComparisons(): void {
  beforeAll(() => {
    vi.spyOn(globs, 'matches').mockImplementation((pattern, name) => matches(pattern, name, compared));
    vi.spyOn(globs, 'contains').mockImplementation((outer, inner) => contains(outer, inner, compared));
  });
  afterAll(() => void vi.restoreAllMocks());
}

/** Names that the gate of a test holds. */
export const PLANTED = 1200;
/**
 * What one request may cause. Steps: 20 million for the loops over names, and what it takes to begin each
 * comparison.
 */
export const MOST_WORK: Work = {
  statements: 600,
  read: 3 * PLANTED,
  written: 30,
  d1: 2,
  gate: 2,
  steps: 24_000_000,
};

export interface Work {
  /** Statements on the storage of gates, and rows that these read and wrote. */
  statements: number;
  read: number;
  written: number;
  /** Calls of D1 and of gates. */
  d1: number;
  gate: number;
  /** Steps of comparing names with patterns. */
  steps: number;
}

export async function workOf<T>(o: Caller, run: () => Promise<T>): Promise<{ answer: T; work: Work }> {
  compared.count = 0;
  const { answer, cost } = await counted(o, run);
  const { statements, rows, d1, gate } = cost;
  return { answer, work: { statements, ...rows, d1, gate, steps: compared.count } };
}

/** Secrets in the gate alone, of long names: no test reads their values. */
export const plant = (o: Caller, template: string, many: number) =>
  inCore(o, ({ rows, storage }) =>
    storage.transactionSync(() => {
      const row = rows.get('secret', template) as schema.SecretRow;
      for (let n = 0; n < many; n++)
        rows.put('secret', { ...row, id: newId('sec'), name: `${'ab'.repeat(120)}-${n}` });
    }),
  );

export type Agent = Awaited<ReturnType<typeof newAgent>>;

/** An agent at the end of a chain of four, each of them limited to the largest patterns. */
export async function chainOf(o: Caller) {
  const chain: Agent[] = [];
  for (let n = 0; n < 4; n++)
    chain.push(
      await newAgent(chain.at(-1)?.o ?? o, {
        scopes: n < 3 ? ['secrets:list', 'secrets:read', 'tokens:write'] : ['secrets:list', 'secrets:read'],
        secrets: PATTERNS,
        rate_limit: 6000,
      }),
    );
  return chain as [Agent, ...Agent[]];
}
