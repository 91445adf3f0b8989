// A D1 whose calls are timed answers as the one inside.
import { expect, it } from 'vitest';
import { timed } from '../../../src/metrics/timed';
import { db, useWorld } from '../../support/world';

useWorld();

it('metrics: each call of D1 is timed once, and answers as without it', async () => {
  const noted: number[] = [];
  const within = timed(db, (ms) => noted.push(ms));
  const sql = 'select ? as one, ? as two';
  const bound = (of: D1Database) => of.prepare(sql).bind(1, 'b');
  expect(await bound(within).first()).toEqual(await bound(db).first());
  expect(await bound(within).first('two')).toBe('b');
  expect((await bound(within).all()).results).toEqual([{ one: 1, two: 'b' }]);
  expect(await bound(within).raw()).toEqual([[1, 'b']]);
  expect(await bound(within).raw({ columnNames: true } as never)).toEqual([
    ['one', 'two'],
    [1, 'b'],
  ]);
  const batch = await within.batch([bound(within), within.prepare('select 3 as three')]);
  expect(batch.map(({ results }) => results)).toEqual([[{ one: 1, two: 'b' }], [{ three: 3 }]]);
  expect(noted).toHaveLength(6);
  await expect(within.prepare('no sql').all()).rejects.toThrow('syntax error');
  expect(noted).toHaveLength(7);
});
