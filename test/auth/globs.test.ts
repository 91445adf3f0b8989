// Glob patterns: held to a regular expression of the same meaning on short strings; containment, to automata and to every short text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contains, isPattern, matches } from '../../src/auth/globs';

// Few characters, so that patterns and names meet often; a dot and a dash, so that what regular expressions mean by them would show.
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '*', '?'), maxLength: 7 });
const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '/', '-'), maxLength: 7 });

const reference = (glob: string) =>
  new RegExp(`^${glob.replace(/[.*?/-]/g, (char) => (char === '*' ? '[^]*' : char === '?' ? '[^]' : `\\${char}`))}$`);

/** Every text of up to `length` of these characters. */
function all(chars: string[], length: number): string[] {
  let [texts, last] = [[''], ['']];
  for (let n = 0; n < length; n++) {
    last = last.flatMap((text) => chars.map((char) => text + char));
    texts = [...texts, ...last];
  }
  return texts;
}

describe('matching', () => {
  it('is that of a regular expression of the same meaning', () => {
    fc.assert(
      fc.property(pattern, name, (glob, text) => {
        expect([glob, text, matches(glob, text)]).toEqual([glob, text, reference(glob).test(text)]);
      }),
      { numRuns: 5000 },
    );
  });

  it('is so for every short pattern and every short name', () => {
    const names = all(['a', 'b'], 4);
    for (const glob of all(['a', 'b', '*', '?'], 4)) {
      const regex = reference(glob);
      for (const text of names) if (matches(glob, text) !== regex.test(text)) throw new Error(`${glob} on ${text}`);
    }
  });

  it.each([
    ['*', '', true],
    ['*', 'a/b/c', true],
    ['prod/*', 'prod/db/password', true],
    ['prod/*', 'prod/', true],
    ['prod/*', 'production/x', false],
    ['prod?', 'prod', false],
    ['DB_?', 'DB_1', true],
    ['DB_?', 'DB_12', false],
    ['*_KEY', 'API_KEY', true],
    ['*_KEY', 'API_KEYS', false],
    ['a.c', 'abc', false],
    ['A', 'a', false],
    ['', '', true],
    ['', 'a', false],
  ])('of %j and %j is %s', (glob, text, expected) => {
    expect(matches(glob, text)).toBe(expected);
  });
});

/**
 * Whether the language of one pattern lies within that of another, by definition: no text leads the automaton of the inner one to its
 * end where that of the outer one has not come to its end too. Takes exponential time at worst.
 */
function within(outer: string, inner: string): boolean {
  const spread = (glob: string, states: Iterable<number>) => {
    const all = new Set(states);
    for (const at of all) if (glob[at] === '*') all.add(at + 1);
    return [...all].sort((a, b) => a - b);
  };
  const step = (glob: string, states: number[], char: string) =>
    spread(
      glob,
      states.flatMap((at) => (glob[at] === '*' ? [at] : glob[at] === '?' || glob[at] === char ? [at + 1] : [])),
    );
  // No pattern names the tilde: it stands for every other character.
  const chars = new Set([...`${outer}${inner}~`].filter((char) => char !== '*' && char !== '?'));
  const seen = new Set<string>();
  const open: [number[], number[]][] = [[spread(inner, [0]), spread(outer, [0])]];
  for (let pair = open.pop(); pair; pair = open.pop()) {
    const [i, o] = pair;
    if (i.includes(inner.length) && !o.includes(outer.length)) return false;
    if (i.length === 0 || seen.has(`${i}|${o}`)) continue;
    seen.add(`${i}|${o}`);
    for (const char of chars) open.push([step(inner, i, char), step(outer, o, char)]);
  }
  return true;
}

describe('containing', () => {
  it('is inclusion of languages, by their automata', () => {
    let contained = 0;
    fc.assert(
      fc.property(pattern, pattern, (outer, inner) => {
        const expected = within(outer, inner);
        if (expected) contained++;
        expect([outer, inner, contains(outer, inner)]).toEqual([outer, inner, expected]);
      }),
      { numRuns: 10_000 },
    );
    expect(contained).toBeGreaterThan(100);
  });

  it('is so where the outer pattern is the inner one with parts of it widened', () => {
    // Such pairs are often contained, and where they are not, only just.
    const widened = fc.tuple(
      fc.string({ unit: fc.constantFrom('a', 'a', 'b', '*', '?', '?'), minLength: 2, maxLength: 9 }),
      fc.array(fc.tuple(fc.nat(9), fc.constantFrom('*', '?', '*?', '?*', '??', '')), { maxLength: 4 }),
    );
    let contained = 0;
    fc.assert(
      fc.property(widened, ([inner, edits]) => {
        let outer = inner;
        for (const [at, to] of edits) outer = outer.slice(0, at) + to + outer.slice(at + 1);
        const expected = within(outer, inner);
        if (expected) contained++;
        expect([outer, inner, contains(outer, inner)]).toEqual([outer, inner, expected]);
      }),
      { numRuns: 10_000 },
    );
    expect(contained).toBeGreaterThan(1000);
  });

  it('is so for every pair of short patterns, and every short name', () => {
    // A pair of these that is not contained differs in a text of eight characters at most: the stars need stand for three.
    const names = all(['a', 'b'], 8);
    const patterns = all(['a', '*', '?'], 4);
    const matched = new Map(patterns.map((glob) => [glob, new Set(names.filter((text) => matches(glob, text)))]));
    for (const [outer, wide] of matched)
      for (const [inner, narrow] of matched)
        if (contains(outer, inner) !== narrow.isSubsetOf(wide)) throw new Error(`${outer} and ${inner}`);
  });

  it('is of every pattern by itself and by the star, and of every name by what it matches', () => {
    fc.assert(
      fc.property(pattern, name, (glob, text) => {
        expect(contains(glob, glob)).toBe(true);
        expect(contains('*', glob)).toBe(true);
        expect(contains(glob, text)).toBe(matches(glob, text));
      }),
    );
  });

  it.each([
    ['prod/*', 'prod/db/*', true],
    ['prod/*', 'prod/?', true],
    ['prod/?', 'prod/*', false],
    ['prod/a', 'prod/?', false],
    ['prod/db/*', 'prod/*', false],
    ['prod/*', '*', false],
    ['*/a', '*/b/a', true],
    ['a*b', 'a*c*b', true],
    ['a*b', 'a*', false],
    ['?', '*', false],
    ['?', '?', true],
    ['??', '?*', false],
    ['?*', '*?', true],
    ['a?*', 'a*b', true],
    ['a*?b', 'a*b?', false],
    ['a?*b', 'a*b', false],
    ['*?a', 'a*a', true],
    ['*a?*', '*a*b', true],
    ['*aab*', 'a*aab', true],
    ['*a?b*', 'a*b', false],
    ['*??*', 'a*b', true],
    ['*a?*?b*', 'a?*b', false],
    ['*a?*?b*', 'a?*?b', true],
  ])('of %j and %j is %s', (outer, inner, expected) => {
    expect(contains(outer, inner)).toBe(expected);
  });
});

/** The same text; `looked` runs each time that a character of it is looked at. */
const watched = (text: string, looked: () => void): string =>
  new Proxy(Object(text) as object, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) looked();
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(text) : value;
    },
  }) as unknown as string;

describe('time', () => {
  it.each([
    ['stars before what never comes', `${'*a'.repeat(5)}b`, 'a'.repeat(256)],
    ['stars between long runs', `${'*'.concat('a'.repeat(49)).repeat(5)}b`, 'a'.repeat(256)],
    ['stars between question marks', `${'*?'.repeat(5)}${'a'.repeat(200)}b`, 'a'.repeat(256)],
    ['far more stars than are allowed', `${'*a'.repeat(128)}b`, 'a'.repeat(256)],
  ])('does not explode: %s', (_what, glob, text) => {
    // A matcher that tries every star against every other would take longer than any test may.
    for (let n = 0; n < 200; n++) {
      expect(matches(glob, text)).toBe(false);
      expect(contains(glob, text)).toBe(false);
    }
  });

  it('of containment is bounded by the product of the lengths, counted in characters of the inner pattern looked at', () => {
    const wide = fc.string({ unit: fc.constantFrom('a', 'a', 'a', '?', '?', '*', 'b'), maxLength: 256 });
    const count = (outer: string, inner: string) => {
      let looks = 0;
      contains(
        outer,
        watched(inner, () => looks++),
      );
      expect(looks).toBeLessThanOrEqual((outer.length + 2) * (inner.length + 2));
    };
    fc.assert(fc.property(wide, wide, count), { numRuns: 300 });
    for (const outer of [`*${'a'.repeat(127)}b*`, `${'*a'.repeat(5)}${'a'.repeat(120)}b`, `*${'?'.repeat(60)}a${'?'.repeat(60)}b*`])
      for (const inner of ['a'.repeat(256), `${'a'.repeat(60)}*`.repeat(4), `*${'?'.repeat(250)}*`]) count(outer, inner);
  });

  it('is at most that of every position of the name once for each of the pattern, counted in characters looked at', () => {
    let looks = 0;
    const [glob, text] = [`${'*a'.repeat(5)}b`, 'a'.repeat(10_000)];
    expect(
      matches(
        glob,
        watched(text, () => looks++),
      ),
    ).toBe(false);
    expect(looks).toBeGreaterThan(text.length);
    expect(looks).toBeLessThan(10 * text.length);
  });
});

describe('a pattern', () => {
  it.each(['*', 'a', 'A-z_0.9/?', '*****', 'a'.repeat(256)])('may be %j', (text) => expect(isPattern(text)).toBe(true));
  it.each(['', '******', '*a*a*a*a*a*', 'a'.repeat(257), 'a b', 'é', '[a]', 'a\n', '\\*', '{a,b}', 'a%'])('may not be %j', (text) =>
    expect(isPattern(text)).toBe(false),
  );
});
