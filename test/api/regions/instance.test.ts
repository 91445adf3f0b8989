// One replica from inside: when it leaves a request to the gate, and what it never loses or uses twice.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { AskGate } from '../../../src/gate/replicas/ask-gate';
import { nothingLooked } from '../../../src/gate/replicas/looked';
import { FORMAT, MARGIN, TERM } from '../../../src/gate/replicas/messages';
import { storedResponses } from '../../../src/gate/request/stored-responses';
import { Replica } from '../../../src/objects/replica';
import { createFollowing } from '../../../src/replica/following';
import { createLoans } from '../../../src/replica/loans';
import { newAgent, newSession } from '../../support/credentials';
import { slow } from '../../support/slow';
import {
  draft,
  from,
  general,
  type Inside,
  inReplica,
  regionOf,
  replicated,
  warm,
} from '../../support/storage/replicas';
import { DAY } from '../../support/time';
import { newSecret, useWorld } from '../../support/world';

useWorld();
afterEach(() => void vi.restoreAllMocks());

const MINUTE = 60_000;

/** The next record, which changes nothing that is read here. */
const take = ({ following }: Inside) =>
  following.take(following.term() as string, [{ ...general(), n: following.position() + 1 }]);

/** Something happens once a request has begun. */
function meanwhile(replica: Inside, happens: () => void) {
  const begin = replica.begin.bind(replica);
  replica.begin = () => {
    const turn = begin();
    happens();
    return turn;
  };
}

/** What keeps a replica from answering a request. */
const reasons: Record<string, (replica: Inside) => void> = {
  'its lease ends meanwhile': (replica) =>
    meanwhile(replica, () => {
      replica.lease = null;
    }),
  'a record comes meanwhile': (replica) =>
    meanwhile(replica, () => {
      take(replica);
      replica.following.settle(replica.following.position());
    }),
  'another request begins meanwhile': (replica) =>
    meanwhile(replica, () => {
      replica.requests++;
    }),
  'what it reads may not be everywhere': (replica) => void take(replica),
  'its loan is given back meanwhile': (replica) =>
    meanwhile(replica, () => {
      const { pending } = replica.loans;
      replica.loans.pending = () => {
        replica.loans.pending = pending;
        replica.loans.drop(() => true);
        return pending();
      };
    }),
  'a credential expires within seconds': ({ times }) => {
    const { watch } = times;
    times.watch = (now) => watch(now + 10 * MINUTE - 3000);
  },
};

/** A replica that has no rows yet, and whose gate says this. */
async function fresh<T>(gate: object, run: (replica: Inside) => Promise<T> | T): Promise<T> {
  const o = await replicated();
  return inReplica(o, 'oc', (replica) => {
    replica.isOf(o.id, 'oc');
    replica.gate = () => gate;
    return run(replica);
  });
}

const page = (position: number, next: [string, string] | null = null) =>
  ({ term: 'a term', position, rows: [], revised: {}, next }) as never;

/** A gate that takes no entries. */
const away = {
  takeEntries: async () => {
    throw new Error('away');
  },
};

describe('a replica', () => {
  for (const [reason, happens] of Object.entries(reasons))
    it(`leaves a request to the gate: ${reason}`, async () => {
      const o = await replicated();
      const { id } = await newSecret(o);
      const session = await newSession(o, { ttlSeconds: 600 });
      await warm(session.o, `/secrets/${id}`, 'oc');
      expect(regionOf(await session.o.get(`/secrets/${id}`, from('oc')))).toBe('oc');
      const before = await inReplica(o, 'oc', async (replica) => {
        await replica.flush();
        happens(replica);
        return replica.entries.count();
      });
      const answer = await session.o.get(`/secrets/${id}`, from('oc'));
      expect([answer.status, regionOf(answer)]).toEqual([200, 'gate']);
      expect([before, await inReplica(o, 'oc', ({ entries }) => entries.count())]).toEqual([0, 0]);
    });

  slow('of another release than the gate gets no lease, and the gate answers', async () => {
    const o = await replicated();
    const { id } = await newSecret(o);
    await warm(o, `/secrets/${id}`, 'oc');
    const follower = await inReplica(o, 'oc', (replica) => {
      const { follower: own } = replica;
      replica.follower = () => ({ ...own.call(replica), format: FORMAT + 1 });
      replica.lease = null;
      return own;
    });
    for (let n = 0; n < 5; n++) {
      const answer = await o.get(`/secrets/${id}`, from('oc'));
      expect([answer.status, regionOf(answer)]).toEqual([200, 'gate']);
      await inReplica(o, 'oc', (replica) => replica.renewed());
    }
    await inReplica(o, 'oc', (replica) => {
      expect(replica.lease).toBeNull();
      replica.follower = follower;
      replica.notBefore = 0;
    });
    await warm(o, `/secrets/${id}`, 'oc');
  });

  slow('takes no records of a gate of another release, and answers no more', async () => {
    const o = await replicated();
    const { id } = await newSecret(o);
    await warm(o, `/secrets/${id}`, 'oc');
    await inReplica(o, 'oc', async (replica) => {
      const { following } = replica;
      const n = following.position() + 1;
      const push = { term: following.term() as string, records: [{ ...general(), n }], stable: n };
      expect((await replica.push({ ...push, format: FORMAT + 1 })).term).toBeNull();
      expect(following.position()).toBe(n - 1);
      expect(replica.lease).toBeNull();
      expect((await replica.push({ ...push, format: FORMAT })).position).toBe(n);
    });
  });

  it('leaves a request of a Worker of another release to the gate', async () => {
    const o = await replicated();
    const { id } = await newSecret(o);
    await warm(o, `/secrets/${id}`, 'oc');
    const formats: number[] = [];
    const { answer: own } = Replica.prototype;
    vi.spyOn(Replica.prototype, 'answer').mockImplementation(function (this: Replica, ask, region, format) {
      formats.push(format);
      return own.call(this, ask, region, FORMAT + 1);
    });
    const answer = await o.get(`/secrets/${id}`, from('oc'));
    expect([answer.status, regionOf(answer), formats]).toEqual([200, 'gate', [FORMAT]]);
  });

  it('of another release than the one that stored its rows begins again', () =>
    fresh({}, ({ core, following }) => {
      following.load(page(3), page(3));
      const again = () => createFollowing(core.storage, core);
      expect([again().term(), again().position()]).toEqual(['a term', 3]);
      core.meta.set('follows', JSON.stringify(['a term', 3, FORMAT + 1]));
      expect(again().term()).not.toBe('a term');
      core.meta.set('follows', JSON.stringify(['a term', 3]));
      expect(again().term()).not.toBe('a term');
    }));

  it('is that of its name', async () => {
    const o = await replicated();
    const other = await replicated();
    await inReplica(o, 'oc', (replica) => {
      expect(replica.isOf(other.id, 'oc')).toBe(false);
      expect(replica.isOf(o.id, 'weur')).toBe(false);
      expect(replica.core.org).toBe('');
      expect(replica.isOf(o.id, 'oc')).toBe(true);
    });
  });

  it('reaching for what only the gate has is an exception', () =>
    fresh({}, ({ core }) => {
      expect(() => storedResponses(core)).toThrow(AskGate);
      expect(() => core.database.all).toThrow(AskGate);
      expect(() => core.outbox.put).toThrow(AskGate);
    }));

  it('counts its lease from when it asked', async () => {
    let asked = 0;
    const gate = {
      async lease() {
        asked = Date.now();
        await new Promise((done) => setTimeout(done, 50));
        return { kind: 'lease', last: 0, stable: 0, records: [], lent: [], taken: 0 };
      },
    };
    const until = await fresh(gate, async (replica) => {
      await replica.renewed();
      return replica.lease?.until;
    });
    expect(until).toBeLessThanOrEqual(asked + TERM - MARGIN);
  });

  it('follows from the position of the first page', async () => {
    const pages = [page(3, ['credential', '']), page(5)];
    const position = await fresh({ rowsFrom: async () => pages.shift() }, async (replica) => {
      await replica.join();
      return replica.following.position();
    });
    expect(position).toBe(3);
  });

  it('takes records in order, each once', () =>
    fresh({}, ({ following }) => {
      following.load(page(3), page(3));
      const positions = [5, 4, 4, 6, 5].map((n) => {
        following.take('a term', [{ ...general(), n }]);
        return following.position();
      });
      expect(positions).toEqual([3, 4, 4, 4, 5]);
      expect(following.take('another term', [{ ...general(), n: 6 }])).toBe(false);
    }));

  it('takes no records of another release, whose gate waits for its lease', () =>
    fresh({}, async (replica) => {
      const { following } = replica;
      following.load(page(3), page(3));
      const records = [{ ...general(), n: 4 }];
      const sent = { term: 'a term', records, stable: 4 };
      expect(await replica.push({ ...sent, format: FORMAT + 1 })).toMatchObject({ term: null });
      expect(following.position()).toBe(3);
      expect(await replica.push({ ...sent, format: FORMAT })).toMatchObject({ term: 'a term', position: 4 });
    }));

  it('ignores what was settled in another term', () =>
    fresh({}, async (replica) => {
      const { following } = replica;
      following.load(page(3), page(3));
      await replica.push({ format: FORMAT, term: 'another term', records: [], stable: 9 });
      expect(following.isUnsettled(nothingLooked())).toBe(true);
      await replica.push({ format: FORMAT, term: 'a term', records: [], stable: 3 });
      expect(following.isUnsettled(nothingLooked())).toBe(false);
    }));

  it('gives up loans of a credential that changes, and of those below it', async () => {
    const o = await replicated();
    const { id } = await newSecret(o);
    const agent = await newAgent(o, { scopes: ['secrets:read', 'tokens:write'] });
    const below = await newAgent(agent.o);
    const other = await newAgent(o);
    for (const one of [agent, below, other]) await warm(one.o, `/secrets/${id}`, 'oc');
    const lent = () => inReplica(o, 'oc', ({ loans }) => [...new Set(loans.credentials())].toSorted());
    expect(await lent()).toEqual([agent.id, below.id, other.id].toSorted());
    expect((await o.patch(`/agent-credentials/${agent.id}`, { rate_limit: 1 })).status).toBe(200);
    expect(await lent()).toEqual([other.id]);
  });

  it('its lease ends by a timer, also if the clock is set back', async () => {
    const gate = { lease: async () => ({ kind: 'lease', last: 0, stable: 0, records: [], lent: [] }) };
    await fresh(gate, async (replica) => {
      vi.useFakeTimers({ toFake: ['setTimeout'] });
      await replica.renewed();
      expect(replica.lease).not.toBeNull();
      vi.advanceTimersByTime(TERM);
      vi.useRealTimers();
      expect(replica.lease).toBeNull();
    });
  });

  slow('each request writes its own entry, whatever another one has noted', () =>
    fresh({}, (replica) => {
      const one = replica.begin();
      const other = replica.begin();
      one.core.auditLog.append(draft('req_one'), 200, Date.now());
      other.core.auditLog.append(draft('req_other'), 200, Date.now());
      expect(other.noted()).toMatchObject([{ draft: { request_id: 'req_other' } }]);
    }),
  );

  it('keeps its entries until the gate has taken them', () =>
    fresh(away, async (replica) => {
      const entry = { draft: draft('req_one'), status: 200, used: null, place: null };
      for (let n = 0; n < 2; n++) replica.entries.write(entry, Date.now());
      expect(await replica.flush()).toBe(2);
      replica.gate = () => ({ takeEntries: async () => 1 });
      expect(await replica.flush()).toBe(1);
      replica.gate = () => ({ takeEntries: async () => 2 });
      expect(await replica.flush()).toBe(0);
    }));

  it('does not leave before the gate has its entries', () =>
    fresh(away, async (replica) => {
      const entry = { draft: draft('req_one'), status: 200, used: null, place: null };
      replica.entries.write(entry, Date.now());
      expect(await replica.leave()).toBe(false);
      expect(replica.entries.count()).toBe(1);
    }));

  it('gives no number to an entry that the gate has', () =>
    fresh({}, async (replica) => {
      const entry = { draft: draft('req_one'), status: 200, used: null, place: null };
      replica.entries.write(entry, Date.now());
      const lent = { kind: 'lease', last: 0, stable: 0, records: [], lent: [], taken: 7 };
      replica.gate = () => ({ lease: async () => lent });
      await replica.renewed();
      expect(replica.entries.count()).toBe(0);
      replica.entries.write(entry, Date.now());
      expect(replica.entries.next(Date.now()).map(({ n }) => n)).toEqual([8]);
    }));

  it('returns loans once its entries are taken', () =>
    fresh(away, async (replica) => {
      const lent = { id: 'loan', credential: 'key_one', count: 5, limit: 60, remaining: 20 };
      replica.loans.add([lent], Date.now() + MINUTE);
      replica.entries.write({ draft: draft('req_one'), status: 200, used: null, place: null }, Date.now());
      expect((await replica.recall('key_one')).returns).toEqual([]);
      replica.gate = () => ({ takeEntries: async () => 1 });
      expect((await replica.recall('key_one')).returns).toEqual(['loan']);
    }));

  it('uses a loan only under the lease with which it came', () => {
    const { rateLimit, add } = createLoans();
    add([{ id: 'loan', credential: 'key_one', count: 5, limit: 60, remaining: 20 }], 1000);
    const takeAt = (now: number) => rateLimit.take([{ id: 'key_one', limit: 60 }] as never, now);
    expect(takeAt(999).ok).toBe(true);
    expect(() => takeAt(1000)).toThrow(AskGate);
  });

  slow('deletes sessions that ended long ago', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    const session = await newSession(o);
    await warm(session.o, `/secrets/${id}`, 'oc');
    await inReplica(o, 'oc', ({ core, following }) => {
      expect(core.rows.get('credential', session.id)).not.toBeNull();
      following.sweep(Date.now() + 30 * DAY);
      expect(core.rows.get('credential', session.id)).toBeNull();
      expect(core.rows.count('credential')).toBeGreaterThan(0);
    });
  });

  it('takes no record of an earlier instance for settled', async () => {
    const o = await replicated();
    const { id } = await newSecret(o, { value: 'one' });
    await warm(o, `/secrets/${id}`, 'oc');
    await inReplica(o, 'oc', (replica) => {
      const { core, following } = replica;
      const looked = { ids: new Set([id]), all: false };
      const storage = { sql: {}, transactionSync: (work: () => void) => work() } as never;
      // An instance that starts with the rows of the one before.
      const next = createFollowing(storage, core);
      expect(next.position()).toBe(following.position());
      next.settle(next.position() - 1);
      expect(next.isUnsettled(looked)).toBe(true);
      next.settle(next.position());
      expect(next.isUnsettled(looked)).toBe(false);
    });
  });
});
