// Whatever D1, the gate and the network do: what is answered is what a vault would answer, and nothing is
// lost or done twice. HISTORIES and SEED choose how many, and which: a fixed seed in npm test, others in npm
// run test:long. A failure says the seed that shows it again.
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../support/slow';
import { useWorld } from '../support/world';
import { type Plan, plans, runHistory } from './history';

useWorld();

const { HISTORIES, SEED } = env as unknown as { HISTORIES?: string; SEED?: string };
const histories = Number(HISTORIES || runs(25, 4));

it(`model: ${histories} random histories agree with it`, { timeout: 7_200_000 }, async () => {
  const seed = { seed: Number(SEED || 20261122) };
  await fc.assert(fc.asyncProperty(plans, runHistory), {
    numRuns: histories,
    includeErrorInReport: true,
    ...seed,
  });
  expect(histories).toBeGreaterThan(0);
});

const op = { who: 0, target: 0, name: 'A', pick: 0, keyed: false } as const;

/** A session token is minted, expires, is revoked, and used. */
function revokedLate(after: 'work' | 'nothing'): Plan {
  const phase = (more: Partial<Plan['phases'][0]['ops'][0]>, pass = 0) => ({
    ops: [{ ...op, kind: 'bulk' as const, ...more }],
    after,
    pass,
  });
  const phases = [
    phase({ kind: 'mint' }, 1001),
    phase({}),
    phase({ kind: 'revoke', target: 1 }),
    phase({ who: 2 }),
  ];
  return { phases, fates: [], rpcs: [], delays: [0] };
}

/** What random histories have found, at its smallest. */
const found: Record<string, Plan> = {
  'a keyed create in doubt is not refused for the name that it has taken itself': {
    phases: [
      {
        ops: [
          { ...op, kind: 'create', keyed: true },
          { ...op, kind: 'mint' },
        ],
        after: 'nothing',
        pass: 61,
      },
      { ops: [{ ...op, kind: 'patch' }], after: 'nothing', pass: 691_200 },
    ],
    fates: ['after', null, 'reset late', 'late'],
    rpcs: [],
    delays: [0],
  },
  'a change whose reply was lost is not denied to its caller, who has been revoked meanwhile': {
    phases: [
      {
        ops: [
          { ...op, kind: 'delete' },
          { ...op, kind: 'patch' },
          { ...op, kind: 'create', who: 1 },
          { ...op, kind: 'revoke' },
        ],
        after: 'nothing',
        pass: 0,
      },
    ],
    fates: [],
    rpcs: [null, null, null, { fate: 'after', retryable: true }],
    delays: [1],
  },
  'an expired secret is rolled back while it is revived': {
    phases: [
      { ops: [{ ...op, kind: 'create', pick: 10 }], after: 'nothing', pass: 0 },
      { ops: [{ ...op, kind: 'rotate' }], after: 'nothing', pass: 691_200 },
      {
        ops: [
          { ...op, kind: 'patch', pick: 6 },
          { ...op, kind: 'rollback' },
          { ...op, kind: 'patch' },
        ],
        after: 'nothing',
        pass: 61,
      },
    ],
    fates: [],
    rpcs: [],
    delays: [12],
  },
  'a secret is created while a naming policy that forbids its name is enabled': {
    phases: [
      {
        ops: [
          { ...op, kind: 'create', name: 'C' },
          { ...op, kind: 'policy', pick: 2 },
        ],
        after: 'nothing',
        pass: 0,
      },
    ],
    fates: [],
    rpcs: [],
    delays: [1, 0, 1],
  },
  'a session token that is over is revoked, after it was cleared away': revokedLate('work'),
  'a session token that is over is revoked, before it was cleared away': revokedLate('nothing'),
};

it.each(Object.keys(found))('model: agrees where %s', async (what) => {
  await expect(runHistory(found[what] as Plan)).resolves.toBe(undefined);
});
