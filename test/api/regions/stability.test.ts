// What a reply of the gate waits for: until replicas have all that it looked at, or may no longer answer.
import { describe, expect, it } from 'vitest';
import { journal } from '../../../src/gate/journal/records';
import { lookAt, nothingLooked, restsOn } from '../../../src/gate/replicas/looked';
import { TERM } from '../../../src/gate/replicas/messages';
import { MOST_RETAINED } from '../../../src/gate/replicas/pushes';
import { lease } from '../../../src/gate/replicas/serve';
import { stability } from '../../../src/gate/replicas/stability';
import { newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { slow } from '../../support/slow';
import {
  askFor,
  decidedAfter,
  general,
  inReplica,
  replicated,
  silence,
  warm,
} from '../../support/storage/replicas';
import { type Caller, newSecret, useWorld } from '../../support/world';

useWorld();

/** Gives a lease to a replica that acknowledges nothing. Returns the number of the last record. */
const leased = (o: Caller) =>
  inCore(o, (core) => {
    silence(core);
    expect(lease(core, askFor(core))).toMatchObject({ kind: 'lease' });
    return journal(core).last();
  });

/** All leases end. */
const endLeases = (o: Caller) =>
  inCore(o, (core) => {
    faults.clock = Date.now() + TERM;
    stability(core).advance();
  });

describe('stability', () => {
  it('the reply of a change, and of a read of what it changed, waits until leases have ended', async () => {
    const o = await replicated();
    const one = await newSecret(o);
    const other = await newSecret(o);
    const last = await leased(o);
    const answered: string[] = [];
    const noted = async <T>(name: string, call: Promise<T>) => {
      const answer = await call;
      answered.push(name);
      return answer;
    };
    const change = noted('change', o.patch(`/secrets/${one.id}`, { value: 'two' }));
    await decidedAfter(o, last);
    const read = noted('read', o.get(`/secrets/${one.id}`));
    const list = noted('list', o.get('/secrets'));
    expect((await o.get(`/secrets/${other.id}`)).status).toBe(200);
    await new Promise((done) => setTimeout(done, 100));
    expect(answered).toEqual([]);
    await endLeases(o);
    expect((await change).headers.get('svc-regions-waited-out')).toBe('oc');
    expect((await read).json.value).toBe('two');
    expect((await list).status).toBe(200);
  });

  it('the end of a session token waits, and a new one does not', async () => {
    const o = await replicated();
    await leased(o);
    const session = await newSession(o);
    const last = await inCore(o, (core) => journal(core).last());
    expect(await inCore(o, (core) => stability(core).restsOn('everything'))).toBe(0);
    const ended = o.del(`/access-tokens/${session.id}`);
    await decidedAfter(o, last);
    expect(await inCore(o, (core) => stability(core).restsOn('everything'))).toBe(last + 1);
    await endLeases(o);
    expect((await ended).headers.get('svc-regions-waited-out')).toBe('oc');
  });

  slow('the end of a session token reaches a replica whose region was taken out', async () => {
    const o = await replicated(['oc']);
    const { id } = await newSecret(o);
    const session = await newSession(o);
    await warm(session.o, `/secrets/${id}`, 'oc');
    // The replica is not told yet that it has to leave.
    faults.isAlarmHeld = true;
    expect((await o.patch('', { regions: [] })).status).toBe(200);
    expect((await o.del(`/access-tokens/${session.id}`)).status).toBe(204);
    const ended = () =>
      inReplica(o, 'oc', ({ core }) => core.rows.get('credential', session.id)?.revoked_at ?? null);
    expect(await ended()).not.toBeNull();
  });

  it('a change that was not stable when the gate ended is not stable when it starts', async () => {
    const o = await replicated();
    faults.isAlarmHeld = true;
    const n = await inCore(o, (core) => journal(core).append(general()));
    await leased(o);
    await evict(o);
    await inCore(o, (core) => {
      silence(core);
      expect(stability(core).restsOn('everything')).toBe(n);
    });
  });

  it('records that are not stable stay in the journal, however many came after', async () => {
    const o = await replicated();
    const last = await leased(o);
    await inCore(o, (core) => {
      core.storage.transactionSync(() => {
        for (let n = 0; n <= MOST_RETAINED; n++) journal(core).append(general());
      });
      journal(core).advance(journal(core).last());
      expect(
        journal(core)
          .after(last, 1, 1)
          ?.map(({ n }) => n),
      ).toEqual([last + 1]);
    });
  });

  it('a list rests on each change of a secret, and a read on those of its own', () => {
    const changes = [{ n: 3, isGeneral: false, secrets: new Set(['secret_one']) }];
    const on = (id: string | null) => {
      const looked = nothingLooked();
      lookAt(looked, 'secret', id);
      return restsOn(changes, looked);
    };
    expect([on(null), on('secret_one'), on('secret_two')]).toEqual([3, 3, 0]);
  });

  it('a name that is not found counts as a list', async () => {
    const o = await replicated();
    await inCore(o, (core) => {
      const looks: unknown[] = [];
      const unwatch = core.rows.watch((kind, id) => looks.push([kind, id]));
      expect(core.rows.find('secret', 'env_none', 'absent')).toBeNull();
      unwatch();
      core.rows.find('secret', 'env_none', 'absent');
      expect(looks).toEqual([['secret', null]]);
    });
  });
});
