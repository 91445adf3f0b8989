// What a gate takes from its replicas: audit entries, and the requests that it lent.
import { describe, expect, it, vi } from 'vitest';
import { MOST_ENTRIES } from '../../../src/gate/audit/log';
import type { Core } from '../../../src/gate/core';
import { journal } from '../../../src/gate/journal/records';
import { rateLimit } from '../../../src/gate/limits/rate-limit';
import { CLOCKS, leases } from '../../../src/gate/replicas/leases';
import { lending } from '../../../src/gate/replicas/lending';
import type { Lent } from '../../../src/gate/replicas/messages';
import { TERM } from '../../../src/gate/replicas/messages';
import { lease, takeEntries } from '../../../src/gate/replicas/serve';
import { newAgent } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore, loseStorage } from '../../support/gate';
import { slow } from '../../support/slow';
import { askFor, draft, from, inReplica, replicated, silence, warm } from '../../support/storage/replicas';
import { DAY } from '../../support/time';
import { newSecret, useWorld } from '../../support/world';

useWorld();

const LIMIT = 60;

/** Lends 20 requests of a credential to the replica in `oc`. */
function lend(core: Core, credential: string): Lent {
  faults.clock ??= Date.now();
  silence(core);
  const given = lease(core, askFor(core, { wants: [{ credential, count: 20 }] }));
  const [lent] = 'lent' in given ? given.lent : [];
  expect(lent?.count).toBe(20);
  return lent as Lent;
}

const left = (core: Core, id: string) =>
  rateLimit(core).take([{ id, limit: LIMIT }] as never, core.now(), 'no').state.remaining;
const holders = (core: Core, id: string) =>
  lending(core)
    .holders([{ id, limit: LIMIT }] as never, core.now())
    .map(({ region }) => region);

/** The entry with a number. */
const entry = (n: number) => ({ n, draft: draft(`req_${n}`), status: 200, age: 0, used: null, place: null });

describe('entries of replicas', () => {
  it('an entry is taken once, and in order', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      const take = (...numbers: number[]) => takeEntries(core, 'oc', 'storage one', numbers.map(entry));
      expect(take(1, 2)).toBe(2);
      const { sequence } = core.auditLog.head();
      expect(take(1, 2)).toBe(2);
      expect(take(2, 4)).toBe(2);
      expect(core.auditLog.head().sequence).toBe(sequence);
      expect(take(2, 3, 4)).toBe(4);
      expect(core.auditLog.head().sequence).toBe(sequence + 2);
    });
  });

  it('a gate that knows nothing of a replica takes all that it still has', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      const take = (...numbers: number[]) => takeEntries(core, 'oc', 'storage one', numbers.map(entry));
      const { sequence } = core.auditLog.head();
      expect(take(8, 9)).toBe(9);
      // `replica.begin` comes before them.
      expect(core.auditLog.head().sequence).toBe(sequence + 3);
      expect(take(9, 10)).toBe(10);
      expect(core.auditLog.head().sequence).toBe(sequence + 4);
      // The gate took more, and was put back from a copy.
      expect(take(15, 16)).toBe(16);
      expect(core.auditLog.head().sequence).toBe(sequence + 7);
    });
  });

  slow('a gate that lost its storage goes on where the replica does', async () => {
    const o = await replicated();
    const { id } = await newSecret(o);
    await warm(o, `/secrets/${id}`, 'oc');
    await inReplica(o, 'oc', (replica) => replica.flush());
    await loseStorage(o);
    expect((await o.get('/secrets', from('none'))).status).toBe(200);
    const { headers } = await warm(o, `/secrets/${id}`, 'oc');
    expect(await inReplica(o, 'oc', (replica) => replica.flush())).toBe(0);
    const { data } = (await o.get('/audit-log?action=secret.read&limit=100')).json;
    const ids = data.map((one: { request_id: string }) => one.request_id);
    expect(ids).toContain(headers.get('request-id'));
  });

  it('the gate remembers entries of a storage with a lease, however long it is idle', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      faults.clock = Date.now();
      silence(core);
      lease(core, askFor(core));
      takeEntries(core, 'oc', 'storage one', [entry(1)]);
      faults.clock += 8 * DAY;
      takeEntries(core, 'weur', 'storage two', [entry(1)]);
      const { sequence } = core.auditLog.head();
      expect(takeEntries(core, 'oc', 'storage one', [entry(1)])).toBe(1);
      expect(core.auditLog.head().sequence).toBe(sequence);
    });
  });

  it('entries leave the rest of the audit log to requests that end access', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      const size = vi.spyOn(core.auditLog, 'size').mockReturnValueOnce(MOST_ENTRIES - 1);
      size.mockReturnValue(MOST_ENTRIES);
      expect(takeEntries(core, 'oc', 'storage one', [entry(1), entry(2)])).toBe(1);
      size.mockRestore();
      expect(takeEntries(core, 'oc', 'storage one', [entry(2)])).toBe(2);
    });
  });

  it('a containment has what replicas answered until it took effect', async () => {
    const o = await replicated();
    const { id } = await newAgent(o);
    const asked: string[] = [];
    await inCore(o, (core) => {
      silence(core);
      lease(core, askFor(core));
      const state = () => (core.rows.get('credential', id)?.revoked_at === null ? 'before' : 'after');
      const push = async () => ({
        holder: 'one',
        term: journal(core).term(),
        position: journal(core).last(),
      });
      core.replica = () => ({ push, flush: async () => asked.push(state()) && 0 }) as never;
    });
    expect((await o.post(`/credentials/${id}/contain`)).status).toBe(200);
    expect([asked[0], asked.at(-1)]).toEqual(['before', 'after']);
  });

  it('a region owes entries while its lease holds', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      faults.clock = Date.now();
      silence(core);
      lease(core, askFor(core));
      leases(core).settled('oc', core.now());
      expect(leases(core).owing()).toEqual(['oc']);
      leases(core).settled('oc', core.now() + TERM);
      expect(leases(core).owing()).toEqual([]);
    });
  });
});

describe('lent requests', () => {
  it('count as used until they are given back', async () => {
    const o = await replicated();
    const { id } = await newAgent(o, { rate_limit: LIMIT });
    await inCore(o, (core) => {
      const lent = lend(core, id);
      expect(left(core, id)).toBe(LIMIT - 20);
      lending(core).used(lent.id, core.now());
      expect(left(core, id)).toBe(LIMIT - 20);
      lending(core).returned([lent.id]);
      expect(left(core, id)).toBe(LIMIT - 1);
    });
  });

  it('are recalled before the gate refuses a request', async () => {
    const o = await replicated();
    const agent = await newAgent(o, { rate_limit: LIMIT });
    const recalled: string[] = [];
    await inCore(o, (core) => {
      const lent = lend(core, agent.id);
      for (let used = 20; used < LIMIT; used++)
        rateLimit(core).take([{ id: agent.id, limit: LIMIT }] as never, core.now());
      const recall = async (credential: string) => {
        recalled.push(credential);
        return { holder: 'one', returns: [lent.id] };
      };
      core.replica = () => ({ recall, push: async () => null }) as never;
    });
    expect((await agent.o.get('/secrets')).status).toBe(200);
    expect(recalled).toEqual([agent.id]);
  });

  it('a loan outlives the gate', async () => {
    const o = await replicated();
    const { id } = await newAgent(o, { rate_limit: LIMIT });
    await inCore(o, (core) => void lend(core, id));
    await evict(o);
    await inCore(o, (core) => {
      expect(holders(core, id)).toEqual(['oc']);
      expect(left(core, id)).toBe(LIMIT - 20);
    });
  });

  it('a gate that starts counts a loan as lent for a whole term and a minute', async () => {
    const o = await replicated();
    const { id } = await newAgent(o, { rate_limit: LIMIT });
    await inCore(o, (core) => {
      lend(core, id);
      // The end was stored by a machine whose clock is behind.
      core.storage.sql.exec('update loans set until = until - ?', CLOCKS + TERM - 1000);
    });
    faults.clock = null;
    await evict(o);
    await inCore(o, (core) => {
      faults.clock = Date.now() + CLOCKS;
      expect(holders(core, id)).toEqual(['oc']);
      expect(left(core, id)).toBe(LIMIT - 20);
    });
  });

  it('a loan of a region that does not answer ends a minute after its lease', async () => {
    const o = await replicated();
    const { id } = await newAgent(o, { rate_limit: LIMIT });
    await inCore(o, (core) => {
      lend(core, id);
      const ends = core.now() + TERM;
      faults.clock = ends + CLOCKS - 1;
      expect(holders(core, id)).toEqual(['oc']);
      faults.clock = ends + CLOCKS;
      expect(holders(core, id)).toEqual([]);
      expect(left(core, id)).toBe(LIMIT);
    });
  });
});
