// The three-way merge behind “Keep my change”: what the member touched ends as theirs to decide, and
// everything else as the colleague left it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differencesOf } from '../../src/changes/differences.ts';
import { byLine, changedOf, mergedDraft } from '../../src/changes/merge.ts';

describe('console: merge of a form with the current state', () => {
  it.each([
    ['a field that I did not touch', { a: 1, b: 1 }, { a: 1, b: 2 }, { a: 9, b: 1 }, { a: 9, b: 2 }],
    ['a field that both changed', { a: 1 }, { a: 2 }, { a: 3 }, { a: 2 }],
    [
      'a key of an object',
      { c: { days: 90, auto: false } },
      { c: { days: 90, auto: true } },
      { c: { days: 7 } },
      { c: { days: 7, auto: true } },
    ],
    [
      'a key that they removed',
      { c: { a: 1, b: 1 } },
      { c: { a: 1, b: 2 } },
      { c: { b: 1 } },
      { c: { b: 2 } },
    ],
    [
      'a key that I removed',
      { c: { a: 1, b: 1 } },
      { c: { a: 1 } },
      { c: { a: 1, b: 3, d: 4 } },
      { c: { a: 1, d: 4 } },
    ],
    [
      'a list to which both added',
      { l: ['a'] },
      { l: ['a', 'b'] },
      { l: ['a', 'c'] },
      { l: ['a', 'c', 'b'] },
    ],
    [
      'an entry that they removed',
      { l: ['a', 'b'] },
      { l: ['a', 'b', 'c'] },
      { l: ['a'] },
      { l: ['a', 'c'] },
    ],
    ['an entry that I removed', { l: ['a', 'b'] }, { l: ['b'] }, { l: ['a', 'b', 'c'] }, { l: ['b', 'c'] }],
    ['a list that became null', { l: ['a'] }, { l: ['a', 'b'] }, { l: null }, { l: ['a', 'b'] }],
    ['all or some', { e: '*' }, { e: ['a'] }, { e: ['b'] }, { e: ['a'] }],
    ['lists of objects', { l: [{ a: 1 }] }, { l: [{ a: 2 }] }, { l: [{ a: 3 }] }, { l: [{ a: 2 }] }],
  ])('%s', (_, base, mine, theirs, result) => {
    expect(mergedDraft<object>(base, mine, theirs)).toEqual(result);
  });

  it('never ends with an empty list, which may mean no restriction, if neither of us emptied it', () => {
    expect(mergedDraft({ l: ['a', 'b'] }, { l: ['a'] }, { l: ['b'] })).toEqual({ l: ['a'] });
    expect(mergedDraft({ l: 'a\nb' }, { l: 'a' }, { l: 'b' }, { l: byLine })).toEqual({ l: 'a' });
    expect(mergedDraft({ l: ['a', 'b'] }, { l: [] }, { l: ['a'] })).toEqual({ l: [] });
  });

  it('keeps a restriction whole where one of us removed it: no entry of mine is lost', () => {
    expect(mergedDraft({ l: ['a'] }, { l: ['a', 'b'] }, { l: [] })).toEqual({ l: ['a', 'b'] });
    expect(mergedDraft({ l: ['a'] }, { l: [] }, { l: ['a', 'b'] })).toEqual({ l: [] });
    expect(mergedDraft({ l: 'a' }, { l: 'a\nb' }, { l: '' }, { l: byLine })).toEqual({ l: 'a\nb' });
  });

  it('merges the lines of a text by their key', () => {
    const beforeColon = (line: string) => line.slice(0, line.indexOf(':'));
    const tags = (base: string, mine: string, theirs: string) =>
      mergedDraft({ t: base }, { t: mine }, { t: theirs }, { t: beforeColon }).t;
    expect(tags('a: 1\nb: 2', 'a: 9\nb: 2', 'a: 1\nb: 2\nc: 3')).toBe('a: 9\nb: 2\nc: 3');
    expect(tags('a: 1', 'a: 2', 'a: 3')).toBe('a: 2');
    // Lines with the same key are one entry: patterns of a claim do not add up to more than either of us
    // allowed.
    expect(tags('a: 1', 'a: 2', 'a: 3\na: 4')).toBe('a: 2');
    expect(mergedDraft({ n: 'x\ny' }, { n: 'x\ny\n\n z ' }, { n: 'y' }, { n: byLine }).n).toBe('y\nz');
    expect(mergedDraft({ n: 'x' }, { n: 'x\n\n y' }, { n: 'x' }, { n: byLine }).n).toBe('x\n\n y');
    // Without a key function, a text is one value.
    expect(mergedDraft({ n: 'x' }, { n: 'x\ny' }, { n: 'x\nz' }).n).toBe('x\ny');
  });

  it('a field named __proto__ is a field like any other', () => {
    const object = (text: string) => JSON.parse(text) as object;
    const merged = mergedDraft({ t: {} }, { t: object('{"__proto__":"mine"}') }, { t: { a: 1 } });
    expect(JSON.stringify(merged)).toBe('{"t":{"a":1,"__proto__":"mine"}}');
    expect(({} as { mine?: unknown }).mine).toBeUndefined();
  });

  it('only fields that differ are sent, an object as a whole', () => {
    expect(
      changedOf(
        { name: 'a', config: { days: 7, auto: false } },
        { name: 'a', config: { days: 7, auto: true } },
      ),
    ).toEqual({
      config: { days: 7, auto: true },
    });
  });

  const leaf = fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.boolean(),
    fc.constantFrom('x', 'y'),
    fc.constant(null),
  );
  const list = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
  const fields = fc.dictionary(fc.constantFrom('p', 'q', 'r', '__proto__'), leaf);
  const draft = fc.record({ one: leaf, other: leaf, list, fields, nested: fc.record({ list, fields }) });

  it('property: without a change of theirs the result is mine, without one of mine it is theirs', () => {
    fc.assert(
      fc.property(draft, draft, (base, other) => {
        expect(mergedDraft(base, other, base)).toEqual(other);
        expect(mergedDraft(base, base, other)).toEqual(other);
        expect(mergedDraft(base, other, other)).toEqual(other);
      }),
    );
  });

  it('property: each value ends as mine if I touched it, and as theirs otherwise', () => {
    const keysOf = (...objects: object[]) => new Set(objects.flatMap(Object.keys));
    type Fields = Record<string, unknown>;
    const at = (object: Fields, key: string) => (Object.hasOwn(object, key) ? object[key] : undefined);
    fc.assert(
      fc.property(draft, draft, draft, (base, mine, theirs) => {
        const result = mergedDraft(base, mine, theirs);
        for (const key of ['one', 'other'] as const)
          expect(result[key]).toBe(mine[key] === base[key] ? theirs[key] : mine[key]);
        for (const pick of [(of: typeof base) => of.fields, (of: typeof base) => of.nested.fields] as ((
          of: typeof base,
        ) => Fields)[])
          for (const key of keysOf(pick(base), pick(mine), pick(theirs)))
            expect(at(pick(result), key)).toBe(
              at(pick(mine), key) === at(pick(base), key) ? at(pick(theirs), key) : at(pick(mine), key),
            );
        for (const pick of [(of: typeof base) => of.list, (of: typeof base) => of.nested.list]) {
          const [before, own, now, end] = [base, mine, theirs, result].map(pick) as [
            string[],
            string[],
            string[],
            string[],
          ];
          const expected = [...'abcde'].filter((item) =>
            (own.includes(item) === before.includes(item) ? now : own).includes(item),
          );
          const isChanged = [own, now].every((one) => JSON.stringify(one) !== JSON.stringify(before));
          const isOwn = isChanged && (before.length ? !own.length || !now.length || !expected.length : false);
          expect([...end].sort()).toEqual(isOwn ? [...own].sort() : expected);
        }
      }),
    );
  });

  it('differences name the parts of objects, not JSON', () => {
    expect(
      differencesOf(
        { config: { days: 90 }, tags: { a: '1' }, l: ['a'], revision: 1 },
        { config: { days: 7 }, tags: {}, l: [], revision: 2, rotation: null },
      ),
    ).toEqual([
      { label: 'Days', before: '90', now: '7' },
      { label: 'Tags › a', before: '1', now: 'not set' },
      { label: 'L', before: 'a', now: 'none' },
    ]);
  });
});
