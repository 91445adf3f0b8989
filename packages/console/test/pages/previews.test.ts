// The conversion of form input: patterns, claims and policies, without a browser.
import { describe, expect, it } from 'vitest';
import { linesOf, matches } from '../../src/globs.ts';
import { placesOf, readsOver, seenOf } from '../../src/pages/blast/data.ts';
import { claimLines, claimsOf, platforms } from '../../src/pages/credentials/platforms.ts';
import { commonOf, configOf, draftOf, emptyDraft } from '../../src/pages/policies/draft.ts';
import type { Policy } from '../../src/pages/policies/words.ts';
import { type Draft, patchOf } from '../../src/pages/secrets/bulk.ts';

describe('console: previews', () => {
  it('patterns match whole names, as in the API', () => {
    const cases: [string, string, boolean][] = [
      ['billing/*', 'billing/a/b', true],
      ['billing/*', 'billing', false],
      ['*KEY', 'STRIPE_KEY', true],
      ['*KEY', 'KEYS', false],
      ['a?c', 'abc', true],
      ['a?c', 'ac', false],
      ['*a*b*c', 'xxaxxbxxbc', true],
      ['*a*b*c', 'xxaxxcxxb', false],
      ['*', '', true],
      ['a.c', 'abc', false],
    ];
    for (const [pattern, name, is] of cases)
      expect([pattern, name, matches(pattern, name)]).toEqual([pattern, name, is]);
    expect(linesOf(' a \n\nb\na')).toEqual(['a', 'b']);
  });

  it('the cost of a backtracking pattern is at most the product of the lengths', () => {
    expect(matches(`${'*a'.repeat(60)}b`, 'a'.repeat(20_000))).toBe(false);
  });

  it('an edit of several secrets sends what it changes in each, and nothing of one that stays as it is', () => {
    const secret = { tags: { team: 'core', old: '1' }, expires_at: null, rotate_every_seconds: 86_400 };
    const untouched: Draft = {
      tags: {},
      untag: '',
      lifetime: 'keep',
      lifetimeDays: '90',
      rotation: 'keep',
      rotationDays: '90',
    };
    const cases: [Partial<Draft>, object][] = [
      [{}, {}],
      [{ tags: { team: 'core' }, untag: 'none', lifetime: 'none', rotation: 'days', rotationDays: '1' }, {}],
      [{ tags: { team: 'web' }, untag: 'old' }, { tags: { team: 'web' } }],
      [{ lifetime: 'days', lifetimeDays: '0.5' }, { ttlSeconds: 43_200 }],
      [{ rotation: 'none' }, { rotate_every_seconds: null }],
    ];
    for (const [part, patch] of cases) expect(patchOf(secret, { ...untouched, ...part })).toEqual(patch);
  });

  it('a secret is in the blast radius from its first read on, in its environment or without one', () => {
    const at = (time: number, environment: string | null, secret_id = `sec_${time}`) => ({
      secret_id,
      name: null,
      environment,
      version: 1,
      time: new Date(time).toISOString(),
    });
    const seen = seenOf({
      read: [at(5000, 'production', 'sec_a'), at(2000, 'production', 'sec_a'), at(3000, null)],
      used: [at(9000, 'gone')],
    });
    expect(seen.map(({ id, time }) => [id, time])).toEqual([
      ['sec_a', 2000],
      ['sec_3000', 3000],
      ['sec_9000', 9000],
    ]);
    const reach = { environments: [{ environment: 'production', secrets: 4 }] } as never;
    const counts = (until: number) =>
      placesOf(reach, seen, until).map(({ environment, reachable, seen: { length } }) => [
        environment,
        reachable,
        length,
      ]);
    expect(counts(1000)).toEqual([['production', 4, 0]]);
    expect(counts(9000)).toEqual([
      ['production', 4, 1],
      [null, 0, 1],
      ['gone', 0, 1],
    ]);
    expect(readsOver(seen, 1000, 9000).reduce((sum, { all }) => sum + all, 0)).toBe(3);
  });

  it('claims are unchanged after formatting and parsing', () => {
    const values = {
      repository: 'acme/app',
      branch: 'main',
      owner: '65',
      project: '20',
      org: 'o',
      namespace: 'shop',
      account: 'api',
      sub: '1',
    };
    for (const { claims } of platforms) expect(claimsOf(claimLines(claims(values)))).toEqual(claims(values));
    expect(claimsOf('sub: a:b: c\nref: x\nref: y')).toEqual({ sub: 'a:b: c', ref: ['x', 'y'] });
  });

  it('a policy is unchanged after loading it into the form', () => {
    const configs: [Policy['kind'], Policy['config']][] = [
      ['naming', { pattern: '^[A-Z]+$' }],
      ['rotation', { max_age_days: 30, auto_rotate: true }],
      ['rotation', { cron: '0 6 1 * *', auto_rotate: false }],
      [
        'approval',
        { operations: ['secret.read'], required: 2, approvers: { role: 'owner' }, allow_break_glass: false },
      ],
      [
        'approval',
        {
          operations: ['policy.change'],
          required: 1,
          approvers: { team_id: 'team_1' },
          allow_break_glass: true,
        },
      ],
    ];
    const applies_to = { environments: ['production'], types: null, names: ['a/*', 'b'] };
    for (const [kind, config] of configs) {
      const policy = { kind, config, name: 'Rule', enabled: false, applies_to } as Policy;
      const draft = draftOf(policy);
      expect({ ...commonOf(draft), ...configOf(draft) }).toEqual({
        name: 'Rule',
        enabled: false,
        applies_to,
        kind,
        config,
      });
    }
    expect(commonOf(emptyDraft()).applies_to).toEqual({ environments: null, types: null, names: null });
  });
});
