// Long reads in steps: how they take turns, and for whom they go on.
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../src/auth/authorize';
import { type Refusal, refuse } from '../../../src/errors';
import type { Call } from '../../../src/gate/request/call';
import { again, type Walk, walked } from '../../../src/gate/request/progress';
import { inTurns, TURN, TurnSpent } from '../../../src/gate/request/yielding';

/** A call of whoever has these scopes, and is refused from the next turn on if there is a refusal. */
function callOf(recheck: (call: Call<unknown>) => Refusal | null = () => null) {
  const call = {
    core: { rows: {} },
    caller: { permissions: [{ scopes: ['*'] }] },
  } as unknown as Call<unknown>;
  call.recheck = () => recheck(call);
  return call;
}

/** Counts to a number, in steps of half a turn. */
function* counting(to: number, seen: number[] = []): Walk<number[]> {
  for (let n = 1; n <= to; n++) {
    seen.push(n);
    yield TURN / 2;
  }
  return seen;
}

const run = (call: Call<unknown>, make: () => Walk<number[]>) => {
  let turns = 0;
  return inTurns(call.core, null, () => {
    turns++;
    return { seen: walked(call, make), turns };
  });
};

describe('yielding: a walk', () => {
  it('takes several turns, and continues where it stopped', async () => {
    const { seen, turns } = await run(callOf(), () => counting(9));
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(turns).toBe(4);
  });

  it('ends in a refusal for a caller who may no longer', async () => {
    const call = callOf(() => refuse('TOKEN_REVOKED'));
    await expect(run(call, () => counting(9))).rejects.toMatchObject({ refusal: { code: 'TOKEN_REVOKED' } });
  });

  it('begins again for a caller whose permissions have changed', async () => {
    let begun = 0;
    const call = callOf((one) => {
      one.caller = { permissions: [{ scopes: ['secrets:list'] }] } as unknown as Caller;
      return null;
    });
    const { seen } = await run(call, () => {
      begun++;
      return counting(5);
    });
    expect([begun, seen]).toEqual([2, [1, 2, 3, 4, 5]]);
  });

  it('repeats a step that needs another turn itself', async () => {
    let tried = 0;
    function* step(): Walk<number[]> {
      return yield* again(() => {
        if (++tried < 3) throw new TurnSpent();
        return [tried];
      });
    }
    expect((await run(callOf(), step)).seen).toEqual([3]);
  });
});
