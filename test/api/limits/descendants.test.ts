// A credential with very many descendants or bulk reads: what contains and explains it takes bounded work.
import { describe, expect, it } from 'vitest';
import { exposed, MOST_STEPS } from '../../../src/domains/incidents/exposure';
import { newSlices, SLICE, type Slices } from '../../../src/http/slices';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { PATTERNS } from '../../support/limits/largest';
import { compared, useComparisons, workOf } from '../../support/limits/work';
import { addKeys, addSessions } from '../../support/people';
import { slow } from '../../support/slow';
import { newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
useComparisons();

describe('limits: contain and graph of a credential with very many descendants', () => {
  const KEYS = 5000;
  const SESSIONS = 3000;

  /** A key with so many keys and sessions below it; three of the keys hold the sessions. */
  async function crowd(keys: number, sessions: number) {
    const o = await newOrg();
    const root = await newKey(o);
    const ids: string[] = [];
    for (let at = 0; at < keys; at += 1000)
      ids.push(...(await addKeys(o, root.id, Math.min(1000, keys - at))));
    for (const id of ids.slice(0, 3)) await addSessions(o, id, sessions / 3);
    return { o, root };
  }

  slow(
    'take work in proportion to their number, and return bounded lists',
    { timeout: 240_000 },
    async () => {
      // On a slow machine the gate's tasks would begin in between.
      faults.isAlarmHeld = true;
      for (const part of [0.2, 1]) {
        const keys = KEYS * part;
        const sessions = SESSIONS * part;
        const { o, root } = await crowd(keys, sessions);
        const graphed = () => workOf(o, () => o.get(`/credentials/${root.id}/graph`));
        // Tasks of other gates that began earlier count too: the lesser of two.
        const both = [await graphed(), await graphed()].sort((a, b) => a.work.read - b.work.read);
        const graph = both[0] as (typeof both)[number];
        expect([graph.answer.status, graph.answer.json.children.length]).toEqual([200, keys + sessions]);
        expect(graph.answer.text.length).toBeLessThan(300 * (keys + sessions));
        expect(graph.work.statements).toBeLessThan(4 * (keys + sessions));
        expect(graph.work.read).toBeLessThan(12 * (keys + sessions));

        // How many statements had been made before each call of a gate.
        const before: number[] = [];
        let calls = 0;
        faults.rpc = (_, org) => {
          before.push(faults.statements);
          if (org === o.id) calls++;
          return null;
        };
        const { answer, work } = await workOf(o, () => o.post(`/credentials/${root.id}/contain`, {}));
        const below = keys + sessions;
        expect([answer.status, answer.json.revoked.length, answer.json.credentials.length]).toEqual([
          200,
          below + 1,
          below,
        ]);
        expect(answer.text.length).toBeLessThan(200 * below);
        const perCall = [...before.slice(1), work.statements].map(
          (after, at) => after - (before[at] as number),
        );
        // A commit revokes 1,000, and each looks at all that are left: the longest call is linear, and so is
        // the number of calls. Each revoked row is counted anew for its root.
        expect(Math.max(...perCall)).toBeLessThan(7 * below);
        // Of its own gate: tasks of other organisations may run meanwhile.
        expect(calls).toBeGreaterThan(keys / 1000);
        expect(calls).toBeLessThan(100 + keys / 250);
        expect(work.read).toBeLessThan(12 * (keys + sessions) * (2 + keys / 1000));
        // The commits, and the events of the revoked keys, which move to D1.
        expect(work.d1).toBeLessThan(30 + (2 * keys) / 1000);
      }
    },
  );
});

describe('limits: the exposure report of a credential with very many bulk reads', () => {
  const standing = (many: number) =>
    new Map(
      Array.from({ length: many }, (_, n) => {
        const row = {
          id: `sec_${n}`,
          environment: 'env',
          name: `${'ab'.repeat(120)}-${n}`,
          version: 1,
          expires_at: null,
          at: 1,
        };
        return [row.id, { ...row, deleted: false, revoked: false }];
      }),
    );
  const bulk = (patterns: string[], n: number) => ({
    environment: 'env',
    shown: 'production',
    revision: 1,
    time: n,
    sequence: n,
    last: n,
    prefix: '',
    patterns,
    withheld: new Set<string>(),
  });

  it('takes bounded steps, in slices, and counts a secret as read after that', async () => {
    const bulks = Array.from({ length: 200 }, (_, n) => bulk([...PATTERNS.slice(1), `none-${n}`], n));
    compared.count = 0;
    const whole = newSlices('o.key', MOST_STEPS);
    let mostInSlice = 0;
    const slices: Slices = {
      ...whole,
      rest(steps) {
        const rest = whole.rest(steps);
        mostInSlice = Math.max(mostInSlice, compared.count - at);
        if (rest) at = compared.count;
        return rest;
      },
    };
    let at = 0;
    const found = await exposed(bulks, standing(200), [], [], new Map(), slices);
    whole.end();
    expect(compared.count).toBeLessThan(125_000_000);
    expect(mostInSlice).toBeLessThan(2 * SLICE);
    expect(found.length).toBeGreaterThan(0);
    // Once for a version, however many reads gave it away.
    expect(found.length).toBeLessThanOrEqual(200);
    const few = newSlices('o.key', MOST_STEPS);
    expect(await exposed(bulks.slice(0, 5), standing(200), [], [], new Map(), few)).toEqual([]);
    few.end();
  });

  slow('distinguishes 1,000 kinds of bulk reads, and ends', async () => {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    const other = await newSecret(o, { name: 'OTHER' });
    const key = await newKey(o, { scopes: ['secrets:read'] });
    const read = async (prefix: string) =>
      (await key.o.get(`/environments/production/values?prefix=${prefix}`)).json.values;
    expect(await read('KEPT')).toEqual({ KEPT: kept.value });
    const namesRead = async () =>
      (await o.post(`/credentials/${key.id}/contain`, {})).json.read.map(
        ({ secret_id }: { secret_id: string }) => secret_id,
      );
    for (let n = 0; n < 999; n++) {
      faults.clock = Date.now() + n * 100;
      await read(`none-${n}`);
    }
    await read('one-more');
    expect((await namesRead()).sort()).toEqual([kept.id, other.id].sort());
  });
});
