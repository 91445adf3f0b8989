// What holds over all regions together, however requests are spread: a rate limit admits exactly what it
// says, and the audit log has one entry for each attempt.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newAgent } from '../../support/credentials';
import { evict, inCore } from '../../support/gate';
import { few, runs } from '../../support/slow';
import { from, inReplica, regionOf, replicated, warm } from '../../support/storage/replicas';
import { type Caller, newSecret, useWorld } from '../../support/world';

useWorld();

const FOUR = ['weur', 'oc', 'enam', 'apac-se'] as const;
type Region = (typeof FOUR)[number];
const LIMIT = 600;
/** How many requests are under way together. */
const WIDTH = 25;

/** How so many requests are spread over the regions. */
const patterns: Record<string, (n: number) => Region> = {
  'in turn': (n) => FOUR[n % 4] as Region,
  'one region after the other': (n) => FOUR[Math.floor(n / 150)] as Region,
  'nearly all from one region': (n) => (n % 20 === 0 ? (FOUR[(n / 20) % 4] as Region) : 'oc'),
  'in bursts': (n) => FOUR[Math.floor(n / 37) % 4] as Region,
};

describe('rate limit: requests over four regions', () => {
  it.each(few(Object.entries(patterns), 1))(
    'of 660, exactly 600 are admitted: %s',
    async (_pattern, regionAt) => {
      const o = await replicated([...FOUR]);
      const { id } = await newSecret(o);
      const path = `/secrets/${id}`;
      for (const region of FOUR) await warm(o, path, region);
      const agent = await newAgent(o, { scopes: ['secrets:read'], rate_limit: LIMIT });
      const statuses = new Map<number, number>();
      const answered = new Set<string | null>();
      for (let sent = 0; sent < LIMIT + 60; sent += WIDTH)
        await Promise.all(
          Array.from({ length: Math.min(WIDTH, LIMIT + 60 - sent) }, async (_, n) => {
            const region = regionAt(Math.min(sent + n, LIMIT - 1));
            const answer = await agent.o.get(path, from(region));
            statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
            answered.add(regionOf(answer));
          }),
        );
      expect(Object.fromEntries(statuses)).toEqual({ 200: LIMIT, 429: 60 });
      expect(answered.size).toBeGreaterThan(1);
    },
    60_000,
  );
});

/** What happens in a history. */
type Step =
  | { kind: 'read'; region: Region | 'none' }
  | { kind: 'burst'; region: Region }
  | { kind: 'change' }
  | { kind: 'refused'; region: Region }
  | { kind: 'gate ends' }
  | { kind: 'entries lost on the way'; region: Region }
  | { kind: 'entries sent twice'; region: Region };

const region = fc.constantFrom(...FOUR);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      region: fc.constantFrom(...FOUR, 'none' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('burst' as const), region }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('change' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('refused' as const), region }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('gate ends' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('entries lost on the way' as const), region }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('entries sent twice' as const), region }) },
);

/** The replica's next calls of the gate: one of entries whose reply is lost, or that arrives twice. */
const meddle = (o: Caller, at: Region, how: 'lost' | 'twice') =>
  inReplica(o, at, (replica) => {
    const gate = replica.gate.bind(replica);
    replica.gate = () => {
      replica.gate = gate;
      const real = gate() as { takeEntries(...args: unknown[]): Promise<number> };
      return {
        async takeEntries(...args: unknown[]) {
          const taken = await real.takeEntries(...args);
          if (how === 'twice') return real.takeEntries(...args);
          throw new Error(`the reply is lost: ${taken}`);
        },
        lease: () => Promise.reject(new Error('lost')),
      };
    };
  });

describe('audit: attempts over four regions', () => {
  it('after any history the chain has one entry for each answered attempt', async () => {
    const o = await replicated([...FOUR]);
    const { id } = await newSecret(o);
    const path = `/secrets/${id}`;
    for (const one of FOUR) await warm(o, path, one);
    const answered = new Set<string | null>();
    const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const attempts = new Map<string, string | null>();
      const noted = async (answer: Promise<Awaited<ReturnType<typeof o.get>>>) => {
        const { headers } = await answer;
        attempts.set(headers.get('request-id') as string, headers.get('svc-region'));
      };
      for (const one of steps) await take(o, path, one, noted);
      const found = await log(o);
      for (const [request, by] of attempts) {
        // That a change waited for a region or for D1 is an entry of the system.
        const entries = found.filter(
          ({ request_id, actor }) => request_id === request && actor.kind !== 'system',
        );
        const told = entries.map(({ action, region: at = 'gate' }) => `${action} at ${at}`);
        expect(told).toEqual([expect.stringMatching(new RegExp(` at ${by}$`))]);
        answered.add(by);
      }
      // The chain has no gap.
      const numbers = found.map(({ sequence }) => sequence).sort((a, b) => a - b);
      expect(numbers).toEqual(numbers.map((_, n) => (numbers[0] as number) + n));
    });
    await fc.assert(property, { numRuns: runs(6, 1), endOnFailure: true });
    expect(answered.size).toBeGreaterThan(runs(2, 0));
  }, 120_000);
});

interface Entry {
  request_id: string;
  action: string;
  actor: { kind: string };
  region?: string;
  sequence: number;
}

/** The whole audit log. */
async function log(o: Caller) {
  const all: Entry[] = [];
  // A region whose reply is lost is named; nothing of it is lost.
  await expect
    .poll(async () => (await o.get('/audit-log')).json.regions_missing, { timeout: 10_000 })
    .toBe(undefined);
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = (await o.get(`/audit-log?limit=100${cursor}`)).json;
    all.push(...data);
    if (next_cursor === null) return all;
    cursor = `&cursor=${next_cursor}`;
  }
}

async function take(
  o: Caller,
  path: string,
  one: Step,
  noted: (answer: ReturnType<Caller['get']>) => Promise<void>,
): Promise<void> {
  switch (one.kind) {
    case 'read':
      return noted(o.get(path, from(one.region)));
    case 'burst':
      await Promise.all(Array.from({ length: 8 }, () => noted(o.get(path, from(one.region)))));
      return;
    case 'change':
      return noted(o.patch(path, { value: crypto.randomUUID() }));
    case 'refused':
      return noted(o.get('/secrets/sec_00000000000000000000000', from(one.region)));
    case 'gate ends':
      await inCore(o, (core) => core.storage.sync());
      return evict(o);
    case 'entries lost on the way':
      return meddle(o, one.region, 'lost');
    case 'entries sent twice':
      return meddle(o, one.region, 'twice');
  }
}
