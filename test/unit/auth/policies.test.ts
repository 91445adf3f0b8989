// Policies as pure functions: which apply, which names a pattern allows, and when a value is due.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matches } from '../../../src/auth/globs';
import { isFound, patternProblem } from '../../../src/auth/policies/naming';
import { appliesTo, type PolicyTarget } from '../../../src/auth/policies/policies';
import { cronProblem, dueSince, nextTimes, type RotationRule } from '../../../src/auth/policies/rotation';
import { type SecretType, secretTypes } from '../../../src/db/schema';
import { DAY, HOUR, MINUTE } from '../../support/time';

const name = fc.stringMatching(/^[a-z/_-]{1,12}$/);

describe('policy: its targets', () => {
  const target = { environment_id: 'env_1', type: 'password' as const, name: 'app/db' };
  it.each([
    [{}, true],
    [{ environments: ['env_1', 'env_2'] }, true],
    [{ environments: ['env_2'] }, false],
    [{ types: ['password'] }, true],
    [{ types: ['json'] }, false],
    [{ names: ['web/*', 'app/*'] }, true],
    [{ names: ['app/?'] }, false],
    [{ environments: ['env_1'], types: ['password'], names: ['app/*'] }, true],
    [{ environments: ['env_1'], types: ['password'], names: ['web/*'] }, false],
    [{ environments: ['env_2'], types: ['password'], names: ['app/*'] }, false],
    [{ environments: [] }, false],
  ])('%j: %s', (bounds, applies) => {
    expect(appliesTo({ environments: null, types: null, names: null, ...(bounds as object) }, target)).toBe(
      applies,
    );
  });

  it('is all of its bounds together, for any bounds and target', () => {
    const type = fc.constantFrom<SecretType>(...secretTypes);
    const list = <T>(item: fc.Arbitrary<T>) => fc.option(fc.array(item, { maxLength: 3 }));
    const environment = fc.constantFrom<string>('env_1', 'env_2', 'env_3');
    const patterns = list(fc.constantFrom('*', 'a*', '*b', 'a?', 'a/b'));
    fc.assert(
      fc.property(
        fc.record({ environments: list(environment), types: list(type), names: patterns }),
        fc.record<PolicyTarget>({ environment_id: environment, type, name }),
        (bounds, aim) => {
          const expected =
            (bounds.environments?.includes(aim.environment_id) ?? true) &&
            (bounds.types?.includes(aim.type) ?? true) &&
            (bounds.names?.some((pattern) => matches(pattern, aim.name)) ?? true);
          expect(appliesTo(bounds, aim)).toBe(expected);
        },
      ),
    );
  });
});

describe('naming policy: patterns', () => {
  it.each([
    '^[A-Z][A-Z0-9_]*$',
    'a|b',
    '(?i)^app/',
    '^(dev|prod)-.{1,100}$',
    '\\d{2,}',
    '^[a-z]{1,255}$',
    '',
    'x'.repeat(256),
    '\\Q{300}\\E',
  ])('accepts %s', (pattern) => expect(patternProblem(pattern)).toBeNull());

  it.each([
    '(',
    'a**',
    '(a)\\1',
    '(?=a)',
    '(?!a)',
    '(?<=a)b',
    '\\pL',
    '[z-a]',
    'a{1001}',
    '[a-z]{600}',
    '(a){65}',
    '((a){9}){9}',
    '(?P<n',
  ])('refuses %s', (pattern) => expect(patternProblem(pattern)).not.toBeNull());

  it('can match anywhere in a name, and the whole name only if anchored', () => {
    expect([
      isFound('DB', 'MY_DB_URL'),
      isFound('^DB', 'MY_DB_URL'),
      isFound('^MY_.*_URL$', 'MY_DB_URL'),
      isFound('', 'x'),
    ]).toEqual([...[true, false, true, true]]);
    expect([isFound('^app/[a-z]+$', 'app/x\nevil'), isFound('(?i)^DB$', 'db')]).toEqual([false, true]);
  });

  it("agrees with the platform's regular expressions, if both accept a pattern", () => {
    const part = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      'a*',
      'b+',
      'a?',
      '(a|b)',
      '(ab)*',
      '^',
      '$',
      '\\w',
      'a{1,3}',
    );
    const pattern = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        pattern,
        fc.stringMatching(/^[abc]{0,10}$/),
        (source, text) => isFound(source, text) === new RegExp(source).test(text),
      ),
    );
  });

  it('takes no longer for a pattern that makes others backtrack', () => {
    const hostile = ['^(a+)+$', '^(a|a)*$', '^(a*)*b$', '(a?){60}a{60}', '^(([a-z])+.)+[A-Z]$'];
    for (const pattern of hostile) {
      expect(patternProblem(pattern)).toBeNull();
      // Any of these would keep a backtracking engine busy for longer than the sun burns.
      expect(isFound(pattern, `${'a'.repeat(254)}!`)).toBe(pattern.startsWith('(a?)'));
    }
  });

  it('states that do not fit into its memory are rebuilt, and the result stays correct', () => {
    const pattern = '(a|b)*a(a|b){40}$';
    const text = (n: number) =>
      Array.from({ length: 200 }, (_, at) => ((n * 7919 + at * at * 31) % 3 ? 'a' : 'b')).join('');
    for (let n = 0; n < 50; n++) expect(isFound(pattern, text(n))).toBe(text(n).at(-41) === 'a');
  });
});

describe('rotation policy: cron expressions', () => {
  it.each([
    '0 3 * * *',
    '30 4 1,15 * MON',
    '0 0 29 2 *',
    '59 23 31 DEC SUN',
    '5 */2 * * 1-5',
    '00 0 1 JAN *',
  ])('accepts %s', (cron) => expect(cronProblem(cron)).toBeNull());

  it.each([
    ...[
      '',
      '* * * * *',
      '*/5 * * * *',
      '0,30 * * * *',
      '0 0 0 * * *',
      '0 0 * *',
      '@hourly',
      '61 0 * * *',
      '0 24 * * *',
      '0 0 0 * *',
    ],
    ...[
      '0 0 30 2 *',
      '0 0 31 4,6,9,11 *',
      '0 0 L * *',
      '0 0 15W * *',
      '0 0 * * 5#2',
      '0  0 * * *',
      ' 0 0 * * *',
      '0 0 1 * * ',
      '0 0 ? * *',
      'a b c d e',
    ],
    ...['-1 0 * * *', '0 0 * * +1', '0 0 1-0 * *', `0 0 ${'1,'.repeat(30)}1 * *`],
  ])('refuses %j', (cron) => expect(cronProblem(cron)).not.toBeNull());

  it('have their next five times in UTC, over leap days and years', () => {
    const now = Date.parse('2027-12-31T23:59:59.999Z');
    expect(nextTimes('0 0 29 2 *', now).map((time) => new Date(time).toISOString())).toEqual(
      [2028, 2032, 2036, 2040, 2044].map((year) => `${year}-02-29T00:00:00.000Z`),
    );
    expect(nextTimes('0 0 * * *', now)[0]).toBe(Date.parse('2028-01-01T00:00:00.000Z'));
  });
});

describe('rotation policy: when a value is due', () => {
  const start = Date.parse('2027-01-01T00:00:00.000Z');
  const every = (days: number): RotationRule => ({ every: days * DAY });
  const monthly: RotationRule = { cron: '0 3 1 * *' };

  it('from the end of its period on, and again with each further one', () => {
    const at = (days: number) => dueSince([every(10)], start, start + days * DAY);
    expect([at(0), at(9.99), at(10), at(19.99), at(20), at(35)]).toEqual([
      null,
      null,
      ...[10, 10, 20, 30].map((days) => start + days * DAY),
    ]);
  });

  it('by cron, from the first time after it was made', () => {
    const time = Date.parse('2027-02-01T03:00:00.000Z');
    const at = (now: number, since = start + DAY) => dueSince([monthly], since, now);
    expect([at(time - 1), at(time), at(time + 30 * MINUTE), at(time + 27 * DAY)]).toEqual([
      null,
      time,
      time,
      time,
    ]);
    expect([at(time + HOUR, time), at(time + HOUR, time - 1), at(time + HOUR, time + 1)]).toEqual([
      null,
      time,
      null,
    ]);
  });

  it('by whichever rule is due; of several the shortest gives the periods', () => {
    const at = (days: number, ...rules: RotationRule[]) => dueSince(rules, start, start + days * DAY);
    expect(at(100)).toBeNull();
    expect(at(25, every(90), every(10))).toBe(start + 20 * DAY);
    expect(at(95, every(90), every(10))).toBe(start + 90 * DAY);
    expect(at(95, every(10), every(94))).toBe(start + 90 * DAY);
    expect(at(32, every(90), monthly)).toBe(Date.parse('2027-02-01T03:00:00.000Z'));
    expect(at(45, every(40), monthly)).toBe(Date.parse('2027-02-01T03:00:00.000Z'));
    expect(at(45, every(20), monthly)).toBe(start + 40 * DAY);
  });

  it('its period never ends before it begins, and only moves on', () => {
    const rule = fc.oneof(
      fc.integer({ min: 1, max: 400 }).map(every),
      fc.constantFrom<RotationRule>(monthly, { cron: '0 0 * * 1' }, { cron: '30 12 * * *' }),
    );
    const span = fc.integer({ min: 0, max: 1000 * DAY });
    fc.assert(
      fc.property(rule, span, span, (one, age, later) => {
        const now = start + age;
        const first = dueSince([one], start, now);
        const second = dueSince([one], start, now + later);
        if (first === null) return;
        expect(first).toBeGreaterThan(start);
        expect(first).toBeLessThanOrEqual(now);
        expect(second).toBeGreaterThanOrEqual(first);
      }),
    );
  });
});
