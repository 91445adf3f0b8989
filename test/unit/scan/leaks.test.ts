// Places where values leaked are remembered for a day, and their number is bounded.
import { describe, expect, it } from 'vitest';
import { createLeaks, leakQuota } from '../../../src/domains/scans/gate/leaks';
import { inCore } from '../../support/gate';
import { DAY } from '../../support/time';
import { newOrg, useWorld } from '../../support/world';

useWorld();

describe('leaks', () => {
  it('a place is new once a day, per secret', async () => {
    await inCore(await newOrg(), ({ storage: { sql } }) => {
      const leaks = createLeaks(sql);
      expect(leaks.note('sec_1', ['a', 'b'], 'key_1', 1000)).toBe(2);
      expect(leaks.note('sec_1', ['b', 'c'], 'key_1', 2000)).toBe(1);
      expect(leaks.note('sec_2', ['a'], 'key_1', 2000)).toBe(1);
      expect(leaks.note('sec_1', ['a'], 'key_1', 1000 + DAY - 1)).toBe(0);
      expect(leaks.note('sec_1', ['a', 'c'], 'key_1', 1000 + DAY)).toBe(1);
    });
  });

  it('places of more than a day ago are deleted, and the oldest of too many: those of their own root first', async () => {
    await inCore(await newOrg(), ({ storage: { sql } }) => {
      const left = () =>
        sql
          .exec<{ place: string }>('select place from leaks order by at')
          .toArray()
          .map(({ place }) => place);
      const before = { ...leakQuota };
      Object.assign(leakQuota, { org: 5, root: 3 });
      try {
        const leaks = createLeaks(sql);
        leaks.note('sec_1', ['mine'], 'key_1', 999);
        for (const [at, place] of ['a', 'b', 'c', 'd', 'e'].entries())
          leaks.note('sec_1', [place], 'key_2', 1000 + at);
        expect(left()).toEqual(['mine', 'c', 'd', 'e']);
        for (const [at, place] of ['f', 'g'].entries()) leaks.note('sec_1', [place], 'key_3', 1005 + at);
        expect(left()).toEqual(['c', 'd', 'e', 'f', 'g']);
        leaks.sweep(1005 + DAY);
        expect(left()).toEqual(['g']);
      } finally {
        Object.assign(leakQuota, before);
      }
    });
  });
});
