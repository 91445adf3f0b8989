// Effects: which policies a change meets, and patterns that meet.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intersects, matches } from '../../../src/auth/globs';
import { holds } from '../../../src/auth/policies/effect';
import { weakens } from '../../../src/auth/policies/effects';
import type { ApprovalConfig, PolicyRow } from '../../../src/db/schema';

const config: ApprovalConfig = {
  operations: ['secret.read', 'secret.update'],
  required: 2,
  approvers: { role: 'admin' },
};
const policy = (fields: Partial<PolicyRow> = {}): PolicyRow => ({
  org_id: 'org_1',
  id: 'pol_1',
  name: 'p',
  kind: 'approval',
  enabled: 1,
  environments: null,
  types: null,
  names: null,
  config,
  of_agent: null,
  created_by: 'mem_1',
  created_at: 1,
  updated_at: 1,
  revision: 1,
  mac: '',
  ...fields,
});
const area = (environments: string[] | null, names: string[] | null, row: PolicyRow) =>
  holds(
    { row, applies: () => false },
    { operations: ['secret.read'], reach: { area: { environments, names } }, targets: [] },
  );

describe('approval policy: an area', () => {
  it('meets it if environments and patterns can overlap', () => {
    const row = policy({ environments: ['env_1'], names: ['prod/*'] });
    expect(area(null, null, row)).toBe(true);
    expect(area(['env_1'], ['*db'], row)).toBe(true);
    expect(area(['env_2'], null, row)).toBe(false);
    expect(area(null, ['dev/*', 'staging/?'], row)).toBe(false);
  });

  it('counts long lists of patterns as overlapping', () => {
    const long = (start: string) => Array.from({ length: 200 }, (_, n) => `${start}/${n}`);
    expect(area(null, long('a').slice(0, 3), policy({ names: long('b').slice(0, 3) }))).toBe(false);
    expect(area(null, long('a'), policy({ names: long('b') }))).toBe(true);
  });
});

describe('approval policy: two patterns', () => {
  it('intersect if and only if some text matches both', () => {
    const glob = fc
      .array(fc.constantFrom('a', 'b', '?', '*'), { minLength: 1, maxLength: 5 })
      .map((parts) => parts.join(''));
    // A character that is a star's in both patterns can be left out. So the shortest common text has one for
    // each other character of the two at most: 8 where both have a star, else 5.
    const texts = [''];
    for (let length = 1, from = 0; length <= 8; length++) {
      const end = texts.length;
      for (let at = from; at < end; at++) texts.push(`${texts[at]}a`, `${texts[at]}b`);
      from = end;
    }
    fc.assert(
      fc.property(glob, glob, (one, other) => {
        expect(intersects(one, other)).toBe(texts.some((text) => matches(one, text) && matches(other, text)));
      }),
      { numRuns: 300, examples: [['aaa*', '*baaa']] },
    );
  });
});

describe('approval policy: a change of it', () => {
  it('weakens it if it holds less, or has other approvers', () => {
    const before = policy({ names: ['a', 'b'] });
    const changed = (fields: Partial<ApprovalConfig>, row: Partial<PolicyRow> = {}) =>
      policy({ names: ['a', 'b'], ...row, config: { ...config, ...fields } });
    for (const weaker of [
      null,
      changed({}, { enabled: 0 }),
      changed({ required: 1 }),
      changed({ operations: ['secret.read'] }),
      changed({ approvers: { role: 'owner' } }),
      changed({ allow_break_glass: true }),
      changed({}, { names: ['a'] }),
      changed({}, { types: ['password'] }),
      changed({}, { environments: [] }),
    ])
      expect(weakens(before, weaker)).toBe(true);
    for (const other of [
      changed({}),
      changed({ required: 3 }),
      changed({ operations: ['secret.read', 'secret.update', 'secret.delete'] }),
      changed({}, { names: null }),
      changed({}, { names: ['a', 'b', 'c'], name: 'q' }),
    ])
      expect(weakens(before, other)).toBe(false);
    expect(weakens(policy({ enabled: 0 }), null)).toBe(false);
    expect(weakens(policy({ kind: 'naming' }), null)).toBe(false);
  });
});
