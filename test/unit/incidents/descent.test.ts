// Walking down from a credential: each credential once, nearest first, and never without end.
import { expect, it } from 'vitest';
import { descentOf } from '../../../src/domains/incidents/gate/descent';
import type { Core } from '../../../src/gate/core';
import { type Below, descendants } from '../../../src/gate/identity/descendants';

const coreOf = (below: (parents: string[]) => Iterable<Below>) =>
  ({ parts: new Map([[descendants, { below }]]), now: () => 0 }) as unknown as Core;
const none = new Set<string>();

it('descent: the shortest way counts, and what only a spared credential leads to is left out', async () => {
  const edges: [string, string][] = [
    ['key_a', 'key_b'],
    ['key_b', 'key_c'],
    ['key_a', 'key_c'],
    ['key_b', 'key_d'],
    ['key_d', 'key_e'],
    ['key_c', 'key_a'],
  ];
  const core = coreOf((parents) =>
    edges
      .filter(([via]) => parents.includes(via))
      .map(([via, id]) => ({ via, id, live: id === 'key_d' ? 0 : 1 })),
  );
  const { found, isCut } = await descentOf(core, 'key_a', none);
  expect([...found].map(([id, { depth, via, live }]) => [id, depth, via, live])).toEqual([
    ['key_b', 1, 'key_a', true],
    ['key_c', 1, 'key_a', true],
    ['key_d', 2, 'key_b', false],
    ['key_e', 3, 'key_d', true],
  ]);
  expect(isCut).toBe(false);
  expect([...(await descentOf(core, 'key_a', new Set(['key_b']))).found.keys()]).toEqual(['key_c']);
});

it('descent: follows a bounded number of session tokens, and every other credential', async () => {
  const core = coreOf(function* (parents) {
    if (!parents.includes('key_a')) return;
    for (let i = 0; i < 21_000; i++) yield { id: `tok_${i}`, via: 'key_a', live: 1 };
    yield { id: 'key_last', via: 'key_a', live: 1 };
  });
  const { found, isCut } = await descentOf(core, 'key_a', none);
  expect([found.size, found.has('key_last'), isCut]).toEqual([20_001, true, true]);
});
