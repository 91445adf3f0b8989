import { expect, it } from 'vitest';
import { CONCURRENCY, type EachTarget, type Remote, TargetError } from '../../src/adapters/sync/adapter';
import { apply, foreseen, type Work } from '../../src/adapters/sync/apply';
import type { Result } from '../../src/adapters/sync/steps';

const work = (name: string, more: Partial<Work> = {}): Work => ({
  name,
  target: name,
  kind: 'put',
  remote: null,
  digest: '',
  value: `value of ${name}`,
  token: name,
  begun: false,
  ...more,
});
const rejected = (ends: TargetError['ends']) =>
  new TargetError({ code: 'TARGET_REJECTED', message: 'made up' }, ends);
const names = Array.from({ length: 12 }, (_, i) => `N${String(i).padStart(2, '0')}`);
const short = (results: Result[]) =>
  results.map(({ name, action, code }) => `${name} ${code ?? action}`).sort();

/** A target in memory; `each` runs before a write. */
function memory(there: Record<string, string>, each: (name: string) => Promise<void> | void = () => {}) {
  const values = new Map(Object.entries(there));
  const calls: string[] = [];
  const target: EachTarget = {
    list: async () => [...values.keys()].map((target): Remote => ({ target })),
    async put({ target, value, remote }) {
      calls.push(`put ${target}`);
      await each(target);
      values.set(target, value);
      return { action: remote ? 'updated' : 'created' };
    },
    async remove({ target }) {
      calls.push(`remove ${target}`);
      await each(target);
      values.delete(target);
      return { action: 'deleted' };
    },
  };
  const reading: EachTarget = {
    ...target,
    async read({ target }) {
      calls.push(`read ${target}`);
      return values.get(target) ?? null;
    },
  };
  return { target, reading, values, calls };
}

it('sync apply: at most four names are written at a time', async () => {
  let now = 0;
  let most = 0;
  const { target } = memory({}, async () => {
    most = Math.max(most, ++now);
    await new Promise(setImmediate);
    now--;
  });
  const { results } = await apply(
    target,
    names.map((name) => work(name)),
  );
  expect(results).toHaveLength(names.length);
  expect(most).toBe(CONCURRENCY);
});

it('sync apply: a name that fails stops no other', async () => {
  const { target, values } = memory({}, (name) => {
    if (name === 'N03') throw rejected('name');
  });
  const { results, end } = await apply(
    target,
    names.map((name) => work(name)),
  );
  expect(short(results).filter((line) => !line.endsWith('created'))).toEqual(['N03 TARGET_REJECTED']);
  expect([values.size, end]).toEqual([11, null]);
});

it('sync apply: an error that ends the sync leaves unbegun names alone', async () => {
  for (const ends of ['sync', 'stop'] as const) {
    const { target, calls } = memory({}, async (name) => {
      await new Promise(setImmediate);
      if (name === 'N00') throw rejected(ends);
    });
    const { results, end } = await apply(
      target,
      names.map((name) => work(name)),
    );
    expect(end?.ends).toBe(ends);
    expect(calls.length).toBeLessThan(names.length);
    expect(results).toHaveLength(calls.length);
  }
});

it('sync apply: a begun step is settled by reading, and is created or updated as planned', async () => {
  const { reading, calls, values } = memory({ A: 'value of A', B: 'value of B', C: 'before' });
  const begun = [
    work('A', { begun: true }),
    work('B', { begun: true, remote: { target: 'B' } }),
    work('C', { begun: true }),
    work('D', { begun: true }),
  ];
  expect(short((await apply(reading, begun)).results)).toEqual([
    'A created',
    'B updated',
    'C created',
    'D created',
  ]);
  expect(calls.filter((call) => call.startsWith('put')).sort()).toEqual(['put C', 'put D']);
  expect(values.get('C')).toBe('value of C');
});

it('sync apply: values are read before a write if each write creates a version, unless the listing contained them', async () => {
  const there = { remote: { target: 'A' } };
  const reads = memory({ A: 'value of A' });
  expect(short((await apply(reads.reading, [work('A', there), work('B')])).results)).toEqual([
    'A unchanged',
    'B created',
  ]);
  expect(reads.calls).toEqual(['read A', 'put B']);
  const lists = memory({ A: 'before' });
  expect(short((await apply({ ...lists.reading, listsValues: true }, [work('A', there)])).results)).toEqual([
    'A updated',
  ]);
  expect(lists.calls).toEqual(['put A']);
});

it('sync apply: a value that somebody else has written since is not deleted, nor does a dry run say so', async () => {
  const { reading, target, calls } = memory({ A: 'ours', B: 'theirs' });
  const removal = (name: string) =>
    work(name, {
      kind: 'remove',
      remote: { target: name },
      value: null,
      isOurs: (value) => value === 'ours',
    });
  const planned = [removal('A'), removal('B')];
  expect(short(await foreseen(reading, planned))).toEqual(['A deleted']);
  const applied = await apply(reading, planned);
  expect([short(applied.results), applied.foreign]).toEqual([['A deleted'], ['B']]);
  expect(calls.filter((call) => call.startsWith('remove'))).toEqual(['remove A']);
  // Without a way to read, the listing decides.
  expect(short((await apply(target, [removal('B')])).results)).toEqual(['B deleted']);
});

it('sync apply: a secret without text to compare is not deleted, unless an interrupted consumer began to', async () => {
  const { reading, calls } = memory({});
  const removal = (fields: Partial<Work>) =>
    work('A', { kind: 'remove', remote: { target: 'A' }, value: null, isOurs: () => true, ...fields });
  expect(await foreseen(reading, [removal({})])).toEqual([]);
  expect((await apply(reading, [removal({})])).foreign).toEqual(['A']);
  expect(calls.filter((call) => call.startsWith('remove'))).toEqual([]);
  expect(short((await apply(reading, [removal({ begun: true })])).results)).toEqual(['A deleted']);
});

it('sync apply: a name without a result in a batch has failed, and an error fails each of its names', async () => {
  const list = async () => [];
  const some = await apply({ list, write: async () => new Map([['N00', { action: 'created' }]]) }, [
    work('N00'),
    work('N01'),
  ]);
  expect(short(some.results)).toEqual(['N00 created', 'N01 TARGET_REJECTED']);
  const none = await apply({ list, write: () => Promise.reject(rejected('sync')) }, [
    work('N00'),
    work('N01'),
  ]);
  expect(short(none.results)).toEqual(['N00 TARGET_REJECTED', 'N01 TARGET_REJECTED']);
  expect(none.end?.ends).toBe('sync');
});

it('sync apply: a dry run writes nothing, and reads what a sync would read', async () => {
  const { reading, target, calls } = memory({ A: 'value of A', B: 'before', C: 'gone' });
  const planned = [
    work('A', { remote: { target: 'A' } }),
    work('B', { remote: { target: 'B' } }),
    work('C', { kind: 'remove', remote: { target: 'C' }, value: null }),
    work('D'),
  ];
  expect(short(await foreseen(reading, planned))).toEqual([
    'A unchanged',
    'B updated',
    'C deleted',
    'D created',
  ]);
  expect(calls).toEqual(['read A', 'read B']);
  expect(short(await foreseen(target, planned))).toEqual([
    'A updated',
    'B updated',
    'C deleted',
    'D created',
  ]);
  expect(calls).toHaveLength(2);
  const dead = { ...reading, read: () => Promise.reject(rejected('sync')) };
  expect(short(await foreseen(dead, planned)).filter((line) => /^[AB] /.test(line))).toEqual([
    'A TARGET_REJECTED',
    'B TARGET_REJECTED',
  ]);
  expect(
    await foreseen(
      dead,
      names.map((name) => work(name, { remote: { target: name } })),
    ),
  ).toHaveLength(names.length);
});
