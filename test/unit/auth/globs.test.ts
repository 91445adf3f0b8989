// Glob patterns: held to a regular expression of the same meaning on short strings; containment, to automata
// and to every short text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contains, isPattern, matches, mostSteps } from '../../../src/auth/globs';
import { slow } from '../../support/slow';

// Few characters, so that patterns and names meet often; a dot and a dash, so that what regular expressions
// mean by them would show.
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '*', '?'), maxLength: 7 });
const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '/', '-'), maxLength: 7 });

const reference = (glob: string) =>
  new RegExp(
    `^${glob.replace(/[.*?/-]/g, (char) => (char === '*' ? '[^]*' : char === '?' ? '[^]' : `\\${char}`))}$`,
  );

/** Every text of up to `length` of these characters. */
function all(chars: string[], length: number): string[] {
  let texts = [''];
  let last = [''];
  for (let n = 0; n < length; n++) {
    last = last.flatMap((text) => chars.map((char) => text + char));
    texts = [...texts, ...last];
  }
  return texts;
}

describe('name pattern: match', () => {
  slow('agrees with a regular expression of the same meaning', () => {
    fc.assert(
      fc.property(pattern, name, (glob, text) => {
        expect([glob, text, matches(glob, text)]).toEqual([glob, text, reference(glob).test(text)]);
      }),
      { numRuns: 5000 },
    );
  });

  it('agrees with it for every short pattern and every short name', () => {
    const names = all(['a', 'b'], 4);
    for (const glob of all(['a', 'b', '*', '?'], 4)) {
      const regex = reference(glob);
      for (const text of names)
        if (matches(glob, text) !== regex.test(text)) throw new Error(`${glob} on ${text}`);
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
 * Whether the language of one pattern lies within that of another, by definition: no text leads the automaton
 * of the inner one to its end where that of the outer one has not come to its end too. Takes exponential time
 * at worst.
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
      states.flatMap((at) =>
        glob[at] === '*' ? [at] : glob[at] === '?' || glob[at] === char ? [at + 1] : [],
      ),
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

describe('name pattern: containment', () => {
  slow('is inclusion of languages, by their automata', () => {
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

  slow('holds if the outer pattern is the inner one with widened parts', () => {
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

  it('holds for every pair of short patterns, and every short name', () => {
    // A pair of these that is not contained differs in a text of eight characters at most: the stars need
    // stand for three.
    const names = all(['a', 'b'], 8);
    const patterns = all(['a', '*', '?'], 4);
    const matched = new Map(
      patterns.map((glob) => [glob, new Set(names.filter((text) => matches(glob, text)))]),
    );
    for (const [outer, wide] of matched)
      for (const [inner, narrow] of matched)
        if (contains(outer, inner) !== narrow.isSubsetOf(wide)) throw new Error(`${outer} and ${inner}`);
  });

  it('every pattern contains itself and is contained in the star; every name is contained in the patterns that match it', () => {
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

describe('name pattern: steps', () => {
  const chars = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-';
  const narrow = fc.constantFrom('a', 'a', 'a', 'b', '?', '?');
  const broad = fc.constantFrom(...chars, '?');
  const longest = [narrow, broad].map((unit) => fc.string({ unit, maxLength: 256, size: 'max' }));
  /** Any pattern that `isPattern` allows, long ones above all. */
  const anyPattern = fc
    .tuple(fc.oneof(...longest), fc.array(fc.nat(255), { maxLength: 5 }))
    .map(([text, stars]) =>
      stars.reduce((glob, at) => `${glob.slice(0, at)}*${glob.slice(at + 1)}`, text || 'a'),
    );
  const anyName = fc.oneof(
    ...[fc.constantFrom('a', 'a', 'a', 'b'), fc.constantFrom(...chars)].map((unit) =>
      fc.string({ unit, maxLength: 255, size: 'max' }),
    ),
  );

  const hold = (pattern: string, name: string, inner: string) => {
    expect(isPattern(pattern)).toBe(true);
    const steps = { count: 0 };
    matches(pattern, name, steps);
    expect(steps.count).toBeGreaterThan(0);
    expect(steps.count).toBeLessThanOrEqual(mostSteps(pattern.length, name.length));
    steps.count = 0;
    contains(pattern, inner, steps);
    expect(steps.count).toBeGreaterThan(0);
    expect(steps.count).toBeLessThanOrEqual(mostSteps(pattern.length, inner.length));
  };

  slow('are bounded by the lengths, for any pattern, name and inner pattern', () => {
    fc.assert(fc.property(anyPattern, anyName, anyPattern, hold), { numRuns: 2000 });
  });

  const hostile = [
    `${'*a'.repeat(5)}b`,
    `${'*'.concat('a'.repeat(49)).repeat(5)}b`,
    `${'*?'.repeat(5)}${'a'.repeat(200)}b`,
    `*${'a'.repeat(127)}b*`,
    `*${'?a'.repeat(126)}b*`,
    `*${'?'.repeat(60)}a${'?'.repeat(60)}b*`,
    `*${'?'.repeat(254)}*`,
    `${'?'.repeat(255)}a`,
    chars.repeat(3),
  ];
  it.each(hostile)('are bounded for the hostile pattern %s', (glob) => {
    for (const name of ['a'.repeat(255), `${'a'.repeat(254)}b`, 'ab'.repeat(127), chars.repeat(3)])
      for (const inner of [...hostile, name, `${'a'.repeat(60)}*`.repeat(4), '*****', '?'.repeat(256)])
        hold(glob, name, inner);
  });

  it('are at most 3,163 for one call', () => expect(mostSteps(256, 256)).toBe(3163));

  it('do not explode with more stars than are allowed', () => {
    const glob = `${'*a'.repeat(128)}b`;
    const text = 'a'.repeat(256);
    const steps = { count: 0 };
    expect(matches(glob, text, steps)).toBe(false);
    expect(contains(glob, text, steps)).toBe(false);
    expect(steps.count).toBeLessThanOrEqual(2 * mostSteps(glob.length, text.length));
  });
});

describe('name pattern: long patterns', () => {
  // More than 32 states: runs that span the words of the automaton.
  const long = fc
    .tuple(
      fc.string({ unit: fc.constantFrom('a', 'a', 'a', 'b', '?'), minLength: 20, maxLength: 120 }),
      fc.array(fc.nat(119), { maxLength: 5 }),
    )
    .map(([text, stars]) => stars.reduce((glob, at) => `${glob.slice(0, at)}*${glob.slice(at + 1)}`, text));
  /** A text that the pattern matches, or just does not. */
  const near = fc
    .tuple(
      long,
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 40 }), { minLength: 6 }),
      fc.nat(400),
    )
    .map(([glob, fill, at]): [string, string] => {
      let stars = 0;
      const text = [...glob]
        .map((char) => (char === '*' ? (fill[stars++ % fill.length] as string) : char === '?' ? 'a' : char))
        .join('');
      return [glob, at < text.length ? `${text.slice(0, at)}b${text.slice(at + 1)}` : text];
    });
  slow('match as a regular expression of the same meaning does', () => {
    let matched = 0;
    fc.assert(
      fc.property(near, ([glob, text]) => {
        const expected = reference(glob).test(text);
        if (expected) matched++;
        expect([glob, text, matches(glob, text)]).toEqual([glob, text, expected]);
        expect(contains(glob, text)).toBe(expected);
        expect(contains(glob, glob)).toBe(true);
        expect(contains(`*${glob}`, glob)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(matched).toBeGreaterThan(200);
  });

  slow('contain each other as their automata do', () => {
    let contained = 0;
    const edits = fc.array(fc.tuple(fc.nat(119), fc.constantFrom('*', '?', '*?', '?*', '')), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(long, edits, (inner, changes) => {
        let outer = inner;
        for (const [at, to] of changes) outer = outer.slice(0, at) + to + outer.slice(at + 1);
        const expected = within(outer, inner);
        if (expected) contained++;
        expect([outer, inner, contains(outer, inner)]).toEqual([outer, inner, expected]);
      }),
      { numRuns: 300 },
    );
    expect(contained).toBeGreaterThan(50);
  });
});

describe('name pattern: validation', () => {
  it.each(['*', 'a', 'A-z_0.9/?', '*****', 'a'.repeat(256)])('accepts %j', (text) =>
    expect(isPattern(text)).toBe(true),
  );
  it.each(['', '******', '*a*a*a*a*a*', 'a'.repeat(257), 'a b', 'é', '[a]', 'a\n', '\\*', '{a,b}', 'a%'])(
    'refuses %j',
    (text) => expect(isPattern(text)).toBe(false),
  );
});
