// Vendors whose variables have one value for each target or context: whatever stands there, a sync changes
// its own part alone, all of it, and once.
import fc from 'fast-check';
import { expect } from 'vitest';
import type { SyncAdapter } from '../../src/adapters/sync/adapter';
import { netlify } from '../../src/adapters/sync/netlify';
import { vercel } from '../../src/adapters/sync/vercel';
import { slow } from '../packages/slow.ts';
import { startNetlify } from './fakes/netlify.ts';
import type { Fake } from './fakes/server.ts';
import { startVercel } from './fakes/vercel.ts';
import { running, sync } from './sync';

const KEYS = ['A', 'B', 'C'];
const seed = Number(process.env.SEED || 20261122);

/** What a target holds, seen from each of its parts. */
interface Held {
  parts: readonly string[];
  value(key: string, part: string): string | undefined;
}

const seen = ({ parts, value }: Held, isSeen: (key: string, part: string) => boolean) =>
  KEYS.flatMap((key) =>
    parts.filter((part) => isSeen(key, part)).map((part) => `${key} ${part} ${value(key, part)}`),
  );

/**
 * Some answers are lost, after what was asked is done or before: of one call at most two, so that a sync goes
 * on.
 */
function losing(every: number): Fake['interrupt'] {
  const lost = new Map<string, number>();
  return ({ method, path, text }, n) => {
    const call = `${method} ${path} ${text}`;
    const times = lost.get(call) ?? 0;
    if (!every || n % every || times === 2) return null;
    lost.set(call, times + 1);
    return (n / every) % 2 ? 'after' : 'drop';
  };
}

async function changesItsPart(
  adapter: SyncAdapter,
  config: Record<string, unknown>,
  ours: string[],
  fake: Fake,
  held: Held,
  given: Given,
) {
  const { secrets, every } = given;
  const isOurs = (key: string, part: string) => key in secrets && ours.includes(part);
  const theirs = seen(held, (key, part) => !isOurs(key, part));
  fake.interrupt = losing(every);
  const first = await sync(adapter, config, fake, secrets);
  expect(first.results.filter(({ action }) => action === 'failed')).toEqual([]);
  const all = seen({ ...held, value: (key) => secrets[key] }, isOurs);
  expect(seen(held, isOurs)).toEqual(all);
  expect(seen(held, (key, part) => !isOurs(key, part))).toEqual(theirs);
  fake.interrupt = null;
  const writes = fake.writes().length;
  const again = await sync(adapter, config, fake, secrets, { owned: first.owned });
  expect(again.results.every(({ action }) => action === 'unchanged')).toBe(true);
  expect(fake.writes()).toHaveLength(writes);
  fake.interrupt = losing(every);
  const pruned = await sync(
    adapter,
    config,
    fake,
    {},
    { owned: again.owned, gone: again.owned.map(({ name }) => name) },
  );
  expect(pruned.results.filter(({ action }) => action !== 'deleted')).toEqual([]);
  return theirs;
}

interface Given {
  secrets: Record<string, string>;
  every: number;
}

const given = {
  secrets: fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom('ours', 'ours too', 'theirs'), {
    noNullPrototype: true,
  }),
  every: fc.constantFrom(0, 2, 3, 5),
};
/** Each part with the group that it belongs to: a variable for each group, none for the group 0. */
const groups = (parts: readonly string[]) =>
  fc.array(fc.integer({ min: 0, max: 3 }), { minLength: parts.length, maxLength: parts.length });
const grouped = (parts: readonly string[], of: number[]) =>
  [1, 2, 3].map((group) => parts.filter((_, i) => of[i] === group)).filter((some) => some.length);

slow(
  'sync: vercel changes only our targets, regardless of existing variables and lost responses',
  async () => {
    const parts = ['production', 'preview', 'development'];
    const types = fc.constantFrom('plain', 'encrypted', 'sensitive');
    const there = fc.record({ rows: groups(parts), type: types, branch: fc.boolean() });
    const cases = fc.record({
      ...given,
      targets: fc.subarray(parts, { minLength: 1 }),
      there: fc.array(there, { minLength: 3, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ targets, there, ...rest }) => {
        const fake = await running(startVercel());
        there.forEach(({ rows, type, branch }, i) => {
          const key = KEYS[i] as string;
          for (const target of grouped(parts, rows))
            fake.add({
              key,
              value: 'theirs',
              target,
              type: type === 'sensitive' && target.includes('development') ? 'encrypted' : type,
            });
          if (branch) fake.add({ key, value: 'a branch', target: ['preview'], gitBranch: 'feature' });
        });
        const branches = fake.envs.filter(({ gitBranch }) => gitBranch).map((env) => ({ ...env }));
        const config = { token: fake.token, projectId: fake.project, targets };
        const held = { parts, value: (key: string, part: string) => fake.value(key, part) };
        const theirs = await changesItsPart(vercel, config, targets, fake, held, rest);
        const isOurs = (key: string, part: string) => key in rest.secrets && targets.includes(part);
        expect(seen(held, (key, part) => !isOurs(key, part))).toEqual(theirs);
        expect(fake.envs.filter(({ gitBranch }) => gitBranch)).toEqual(branches);
      }),
      { numRuns: 40, seed },
    );
  },
);

slow(
  'sync: netlify changes only our contexts, regardless of existing variables and lost responses',
  async () => {
    const parts = ['production', 'deploy-preview', 'branch-deploy', 'dev'];
    const there = fc.record({ rows: groups(parts), all: fc.boolean(), isSecret: fc.boolean() });
    const cases = fc.record({
      ...given,
      contexts: fc.subarray(parts, { minLength: 1 }),
      there: fc.array(there, { minLength: 3, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ contexts, there, ...rest }) => {
        const fake = await running(startNetlify());
        there.forEach(({ rows, all, isSecret }, i) => {
          const values = Object.fromEntries(
            grouped(parts, rows)
              .flat()
              .map((context) => [context, 'theirs']),
          );
          const more: Record<string, string> = all && !isSecret ? { all: 'theirs' } : {};
          if (Object.keys({ ...values, ...more }).length)
            fake.add(KEYS[i] as string, { ...values, ...more }, { is_secret: isSecret });
        });
        const config = { token: fake.token, accountId: fake.account, siteId: fake.site, contexts };
        const held = { parts, value: (key: string, part: string) => fake.value(key, part) };
        const theirs = await changesItsPart(netlify, config, contexts, fake, held, rest);
        const isOurs = (key: string, part: string) => key in rest.secrets && contexts.includes(part);
        expect(seen(held, (key, part) => !isOurs(key, part))).toEqual(theirs);
      }),
      { numRuns: 40, seed },
    );
  },
);
