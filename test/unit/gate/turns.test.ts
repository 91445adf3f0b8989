// Work in turns: how the steps of one are counted, and that work continues in the next.

import { describe, expect, it } from 'vitest';
import { beginTurn, inTurns, MOST_LONG, spend, TURN } from '../../../src/gate/request/yielding';
import { slow } from '../../support/slow';

const newCore = () => ({ rows: {} }) as never;

describe('turns: comparing names with policies', () => {
  it('continues in another turn when the steps of one are spent, and acts in the turn of its verdict', async () => {
    const core = newCore() as { rows: never };
    const done = new Set<number>();
    const order: string[] = [];
    const judge = () => {
      order.push('turn');
      for (let name = 0; name < 5; name++) {
        if (done.has(name)) continue;
        spend(core.rows, TURN / 2);
        done.add(name);
      }
      return 'verdict';
    };
    const found = await inTurns(core, 'key_1', judge, (verdict) => {
      order.push('act');
      return verdict;
    });
    expect(found).toBe('verdict');
    // Five names, two in each turn. The test of imports shows that other requests run in between.
    expect(order).toEqual(['turn', 'turn', 'turn', 'act']);
  });

  it('compares at least one name in each turn, however many steps it takes', () => {
    const core = newCore() as { rows: never };
    beginTurn(core);
    expect(() => spend(core.rows, 10 * TURN)).not.toThrow();
    expect(() => spend(core.rows, 1)).toThrow();
  });

  slow('is refused after many turns, and what another error throws is not repeated', async () => {
    const core = newCore() as { rows: never };
    const endless = () => {
      spend(core.rows, TURN);
      spend(core.rows, 1);
    };
    await expect(inTurns(core, 'key_1', endless)).rejects.toMatchObject({
      refusal: { code: 'OVERLOADED', retry_after: 1 },
    });
    let runs = 0;
    const failing = () => {
      runs++;
      throw new Error('of another kind');
    };
    await expect(inTurns(core, 'key_1', failing)).rejects.toThrow('of another kind');
    expect(runs).toBe(1);
  });

  it('has few requests of one root at a time, so that another root waits for few turns', async () => {
    const core = newCore() as { rows: never };
    const turns: string[] = [];
    /** Work of so many turns. */
    const work = (root: string, most: number) => {
      let turn = 0;
      return inTurns(core, root, () => {
        turns.push(root);
        spend(core.rows, TURN);
        if (++turn < most) spend(core.rows, 1);
        return 'done';
      }).catch(({ refusal }) => refusal.code as string);
    };
    const flood = Array.from({ length: 50 }, () => work('key_1', 20));
    const other = work('key_2', 4);
    expect(await other).toBe('done');
    // Each of the flood has its first turn. Then three of them take turns with the other.
    expect(turns.length).toBeLessThanOrEqual(50 + 4 * (MOST_LONG + 1));
    const codes = await Promise.all(flood);
    expect(codes.filter((code) => code === 'done')).toHaveLength(MOST_LONG);
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(50 - MOST_LONG);
    // What is over counts no more, and short work never does.
    expect(await work('key_1', 4)).toBe('done');
    expect(await Promise.all(Array.from({ length: 9 }, () => work('key_1', 1)))).toEqual(
      Array(9).fill('done'),
    );
  });
});
