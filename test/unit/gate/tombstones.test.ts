// Tombstones of deleted rows are bounded for each root and for the organisation: the newest stay.
import { expect, it } from 'vitest';
import { createTombstones } from '../../../src/gate/rows/tombstones';
import { inCore } from '../../support/gate';
import { newOrg, useWorld } from '../../support/world';

useWorld();

it('tombstones: those of a root leave beyond its quota, then the oldest of all', async () => {
  await inCore(await newOrg(), ({ storage: { sql } }) => {
    const bury = (id: string, root: string | null, at: number) =>
      sql.exec(
        "insert into rows (kind, id, revision, space, sweep_at) values ('secret', ?, 2, ?, ?)",
        id,
        root,
        at,
      );
    bury('mine', 'key_1', 1);
    bury('nobody', null, 2);
    for (let n = 0; n < 6; n++) bury(`other-${n}`, 'key_2', 3 + n);
    const left = () =>
      sql.exec<{ id: string }>('select id from rows where body is null order by sweep_at').toArray();
    const ids = () => left().map(({ id }) => id);
    expect(createTombstones(sql, { org: 100, root: 3 }).forgetOldest(2)).toBe(true);
    expect(ids()).toHaveLength(6);
    expect(createTombstones(sql, { org: 100, root: 3 }).forgetOldest(10)).toBe(false);
    expect(ids()).toEqual(['mine', 'nobody', 'other-3', 'other-4', 'other-5']);
    expect(createTombstones(sql, { org: 2, root: 3 }).forgetOldest(10)).toBe(false);
    expect(ids()).toEqual(['other-4', 'other-5']);
  });
});
