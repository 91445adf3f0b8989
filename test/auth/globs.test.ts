// Glob patterns: held to a regular expression of the same meaning on short strings; containment never claims too much.
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

describe('containing', () => {
  it('is sound: what matches the inner pattern matches the outer one', () => {
    fc.assert(
      fc.property(pattern, pattern, name, (outer, inner, text) => {
        if (contains(outer, inner) && matches(inner, text))
          expect([outer, inner, text, matches(outer, text)]).toEqual([outer, inner, text, true]);
      }),
      { numRuns: 10_000 },
    );
  });

  it('is sound for every pair of short patterns, and every short name', () => {
    const names = all(['a', 'b'], 5);
    const patterns = all(['a', '*', '?'], 4);
    const matched = new Map(patterns.map((glob) => [glob, names.filter((text) => matches(glob, text))]));
    let contained = 0;
    for (const outer of patterns) {
      for (const inner of patterns) {
        if (!contains(outer, inner)) continue;
        contained++;
        for (const text of matched.get(inner) ?? [])
          if (!matches(outer, text)) throw new Error(`${outer} does not contain ${inner}: ${text}`);
      }
    }
    expect(contained).toBeGreaterThan(patterns.length);
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
  ])('of %j and %j is %s', (outer, inner, expected) => {
    expect(contains(outer, inner)).toBe(expected);
  });
});

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

  it('is at most that of every position of the name once for each of the pattern, counted in characters looked at', () => {
    let looks = 0;
    const counted = (text: string) =>
      new Proxy(Object(text) as object, {
        get: (target, key) => {
          if (typeof key === 'string' && /^\d+$/.test(key)) looks++;
          const value = Reflect.get(target, key);
          return typeof value === 'function' ? value.bind(text) : value;
        },
      });
    const [glob, text] = [`${'*a'.repeat(5)}b`, 'a'.repeat(10_000)];
    expect(matches(glob, counted(text) as unknown as string)).toBe(false);
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
