// Places where values leaked are remembered for a day, and their number is bounded.
import { describe, expect, it } from 'vitest';
import { createLeaks } from '../../../src/gate/leaks';
import { inCore } from '../../support/gate';
import { DAY } from '../../support/time';
import { newOrg, useWorld } from '../../support/world';

useWorld();

describe('leaks', () => {
  it('a place is new once a day, per secret', async () => {
    await inCore(await newOrg(), ({ storage: { sql } }) => {
      const leaks = createLeaks(sql);
      expect(leaks.note('sec_1', ['a', 'b'], 1000)).toBe(2);
      expect(leaks.note('sec_1', ['b', 'c'], 2000)).toBe(1);
      expect(leaks.note('sec_2', ['a'], 2000)).toBe(1);
      expect(leaks.note('sec_1', ['a'], 1000 + DAY - 1)).toBe(0);
      expect(leaks.note('sec_1', ['a', 'c'], 1000 + DAY)).toBe(1);
    });
  });

  it('places of more than a day ago are deleted, and the oldest of too many', async () => {
    await inCore(await newOrg(), ({ storage: { sql } }) => {
      const left = () =>
        sql
          .exec<{ place: string }>('select place from leaks order by at')
          .toArray()
          .map(({ place }) => place);
      const leaks = createLeaks(sql, 3);
      for (const [at, place] of ['a', 'b', 'c', 'd', 'e'].entries()) leaks.note('sec_1', [place], 1000 + at);
      expect(left()).toEqual(['c', 'd', 'e']);
      leaks.sweep(1003 + DAY);
      expect(left()).toEqual(['e']);
    });
  });
});
