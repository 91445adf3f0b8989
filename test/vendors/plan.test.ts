import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Remote, SyncAdapter } from '../../src/adapters/sync/adapter';
import { environmentName } from '../../src/adapters/sync/names';
import { type Item, itemOf, type Owned, plan } from '../../src/adapters/sync/steps';

const digestOf = (target: string, value: string) =>
  createHmac('sha256', 'test').update(`${target}\0${value}`).digest('hex');

const adapter = (folds: boolean): SyncAdapter =>
  ({
    folds,
    name: (name: string) => environmentName(name),
    value: (value: string) => (value === '' ? { code: 'VALUE_NOT_ALLOWED', message: 'x' } : null),
  }) as never;

/** Few names and values, so that they meet. */
const names = fc.constantFrom('A', 'a', 'A_B', 'A-B', 'a.b', 'A/B', '1A', 'C', 'c');
const targets = fc.constantFrom('A', 'a', 'A_B', 'a_b', 'C', 'c', 'FOREIGN');
const values = fc.constantFrom('', 'one', 'two');

const worlds = fc.record({
  folds: fc.boolean(),
  reads: fc.boolean(),
  secrets: fc.dictionary(names, values, { noNullPrototype: false }),
  remotes: fc.uniqueArray(
    fc.record({
      target: targets,
      value: fc.option(values, { nil: undefined }),
      handle: fc.option(fc.constant('id'), { nil: undefined }),
    }),
    {
      selector: ({ target }) => target,
    },
  ),
  owned: fc.uniqueArray(fc.record({ target: targets, name: names, value: values }), {
    selector: ({ target }) => target,
  }),
  gone: fc.array(names),
});

type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never;

function planned({ folds, reads, secrets, remotes, owned, gone }: World) {
  const fold = (target: string) => (folds ? target.toUpperCase() : target);
  // A target that folds case holds no two names that differ in case alone, and neither do we remember two.
  const once = <T extends { target: string }>(list: T[]) => [
    ...new Map(list.map((one) => [fold(one.target), one])).values(),
  ];
  const there: Remote[] = once(remotes);
  const known: Owned[] = once(owned).map(({ target, name, value }) => ({
    target,
    name,
    digest: digestOf(target, value),
  }));
  const items: Item[] = Object.entries(secrets).map(([name, value]) =>
    itemOf(adapter(folds), {}, name, value, (target) => digestOf(target, value)),
  );
  const prunable = known.filter(({ name }) => (gone as string[]).includes(name));
  const made = plan(adapter(folds), { items, remotes: there, owned: known, prunable, digestOf, reads });
  return { made, items, there, known, prunable, fold };
}

const holds = (name: string, property: (world: World, result: ReturnType<typeof planned>) => void) =>
  it(`sync plan: ${name}`, () => {
    fc.assert(
      fc.property(worlds, (world) => property(world, planned(world))),
      { numRuns: 1000 },
    );
  });

holds('each secret has one result or one step, and each step one target', ({ secrets }, { made, fold }) => {
  const puts = made.steps.filter(({ kind }) => kind === 'put');
  const said = [...made.results, ...puts].map(({ name }) => name);
  expect([...said].sort()).toEqual(Object.keys(secrets).sort());
  const written = made.steps.map(({ target }) => fold(target));
  expect(new Set(written).size).toBe(written.length);
});

holds('secrets that would share a name all fail, and none of them is written', (_, { made, items, fold }) => {
  for (const { name, target } of items) {
    const sharing = items.filter(
      (other) => target !== null && other.target !== null && fold(other.target) === fold(target),
    );
    const result = made.results.find((one) => one.name === name);
    if (sharing.length > 1) expect(result).toMatchObject({ action: 'failed', code: 'NAME_COLLISION' });
    else expect(result?.code).not.toBe('NAME_COLLISION');
    if (sharing.length > 1)
      expect(made.steps.some((step) => step.kind === 'put' && step.name === name)).toBe(false);
  }
});

holds('a name or a value that the target does not take fails, and is not written', (_, { made, items }) => {
  for (const { name, problem } of items.filter(({ problem }) => problem)) {
    expect(made.results.find((one) => one.name === name)?.action).toBe('failed');
    expect(made.steps.some((step) => step.kind === 'put' && step.name === name)).toBe(false);
    expect(problem?.code).toMatch(/^(NAME_INVALID|VALUE_NOT_ALLOWED)$/);
  }
});

holds(
  'only names that this service wrote last and whose secrets are gone are deleted, and no name of a selected secret',
  (_, { made, items, there, known, prunable, fold }) => {
    const has = (list: { target: string | null }[], target: string) =>
      list.some((one) => one.target !== null && fold(one.target) === fold(target));
    const removed = made.steps.filter(({ kind }) => kind === 'remove').map(({ target }) => target);
    for (const target of removed) {
      expect([has(known, target), has(prunable, target), has(there, target), has(items, target)]).toEqual([
        true,
        true,
        true,
        false,
      ]);
    }
    // Of somebody else, as far as the listed value tells.
    const isForeign = ({ target, value }: Remote, digest: string) =>
      value !== undefined && digestOf(target, value ?? '') !== digest;
    for (const { target, digest } of prunable) {
      const remote = there.find((one) => fold(one.target) === fold(target));
      if (remote && !has(items, target))
        expect(removed.includes(remote.target)).toBe(!isForeign(remote, digest));
    }
  },
);

holds(
  'a name is unchanged only if its plain value is equal, or its last write is equal and it is still listed',
  ({ secrets, reads }, { made, there, known, fold }) => {
    for (const { name, targetName } of made.results.filter(({ action }) => action === 'unchanged')) {
      const remote = there.find(({ target }) => fold(target) === fold(targetName as string));
      const before = known.find(({ target }) => fold(target) === fold(targetName as string));
      expect(remote && !reads).toBe(true);
      if (remote?.value !== undefined) expect(remote.value).toBe(secrets[name]);
      else expect(before?.digest).toBe(digestOf(targetName as string, secrets[name] as string));
    }
  },
);

holds(
  'what is there is updated with its handle, whoever wrote it; what is not there is created',
  (_, { made, there, fold }) => {
    for (const step of made.steps) {
      const remote = there.find(({ target }) => fold(target) === fold(step.target));
      expect(step.remote).toEqual(
        remote
          ? { target: remote.target, ...(remote.handle !== undefined && { handle: remote.handle }) }
          : null,
      );
      expect(JSON.stringify(step.remote)).not.toContain('value');
    }
  },
);

it('sync plan: a remote value that is not text equals none, regardless of earlier writes', () => {
  const items = [itemOf(adapter(false), {}, 'A', 'one', (target) => digestOf(target, 'one'))];
  const owned = [{ target: 'A', name: 'A', digest: digestOf('A', 'one') }];
  const made = plan(adapter(false), {
    items,
    remotes: [{ target: 'A', value: null }],
    owned,
    prunable: [],
    digestOf,
    reads: false,
  });
  expect(made.steps.map(({ name, kind }) => [name, kind])).toEqual([['A', 'put']]);
});

it('sync plan: only names recorded as written are deleted, even if others are reported as gone', () => {
  const gone = [{ target: 'FOREIGN', name: 'A', digest: 'made up' }];
  const made = plan(adapter(false), {
    items: [],
    remotes: [{ target: 'FOREIGN' }],
    owned: [],
    prunable: gone,
    digestOf,
    reads: false,
  });
  expect(made).toEqual({ steps: [], results: [], missing: [] });
});

it('sync plan: a name of ours that somebody else has written since is not deleted, and one that is not listed is reported', () => {
  const mine = { target: 'A', name: 'A', digest: digestOf('A', 'one') };
  const removed = (remote: Remote) =>
    plan(adapter(false), {
      items: [],
      remotes: [remote],
      owned: [mine],
      prunable: [mine],
      digestOf,
      reads: false,
    }).steps.length;
  const remotes: Remote[] = [
    { target: 'A' },
    { target: 'A', value: 'one' },
    { target: 'A', value: 'two' },
    { target: 'A', value: null },
    { target: 'A', otherForm: true },
    { target: 'A', value: 'one', otherForm: true },
  ];
  expect(remotes.map(removed)).toEqual([1, 1, 0, 0, 0, 0]);
  const listed = { items: [], owned: [mine], prunable: [], digestOf, reads: false };
  expect(
    plan(adapter(false), { ...listed, remotes: [{ target: 'B' }], ownedElsewhere: ['B', 'C'] }).missing,
  ).toEqual(['A', 'C']);
  expect(plan(adapter(true), { ...listed, remotes: [{ target: 'a' }] }).missing).toEqual([]);
});
