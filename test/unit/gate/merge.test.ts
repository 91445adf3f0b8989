import { describe, expect, it } from 'vitest';
import { isNewer } from '../../../src/gate/journal/merge';

describe('adoption: the row of D1 and the row of the gate', () => {
  it.each([
    ['the higher revision wins', { revision: 2 }, { revision: 1 }, true],
    ['the same revision stays', { revision: 2 }, { revision: 2 }, false],
    ['an older revision stays', { revision: 1 }, { revision: 2 }, false],
    [
      'what has ended on either side stays ended: in D1',
      { revision: 1, revoked_at: 5 },
      { revision: 3, revoked_at: null },
      true,
    ],
    [
      'what has ended on either side stays ended: here',
      { revision: 3, revoked_at: null },
      { revision: 1, revoked_at: 5 },
      false,
    ],
    [
      'what was deleted in D1 stays deleted',
      { revision: 1, deleted_at: 5 },
      { revision: 3, deleted_at: null },
      true,
    ],
    [
      'of two that have ended, the higher revision wins',
      { revision: 4, revoked_at: 9 },
      { revision: 3, revoked_at: 5 },
      true,
    ],
    ['a panic in D1 counts', { revision: 1, generation: 2 }, { revision: 3, generation: 1 }, true],
    ['a panic here counts', { revision: 3, generation: 1 }, { revision: 1, generation: 2 }, false],
  ])('%s', (_what, stored, here, is) => {
    expect(isNewer(stored, here)).toBe(is);
  });
});
