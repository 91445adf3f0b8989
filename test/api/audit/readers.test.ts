// Who read a secret last: each reader once, kept without a write a request, and shown to those who may see
// the audit entries.
import { beforeEach, describe, expect, it } from 'vitest';
import { readers as keptReaders, MOST_READERS } from '../../../src/gate/archive/readers';
import { newAgent, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { append } from '../../support/governance/audit';
import { slow } from '../../support/slow';
import { MINUTE } from '../../support/time';
import { BOOTSTRAP, type Caller, codeOf, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();
beforeEach(() => {
  faults.clock = Date.now();
});

const later = () => {
  faults.clock = (faults.clock as number) + MINUTE;
};
const readers = async (o: Caller, id: string, query = '') =>
  (await o.get(`/secrets/${id}/readers${query}`)).json;
/** Moves the log to D1 and starts the gate anew: what is left was written down. */
const moveOn = async (o: Caller) => {
  await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
  await evict(o);
};
type Shown = { actor: { id: string; kind: string }; version: number; count: number; via: string };
const brief = ({ data }: { data: Shown[] }) =>
  data.map(({ actor, version, count, via }) => [actor.id, version, count, via]);

describe('secret readers', () => {
  it('name each credential once, the last first, with time, version and count; sessions of a key are one reader', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const key = await newKey(o);
    await key.o.get(`/secrets/${id}`);
    later();
    await o.patch(`/secrets/${id}`, { value: 'second' });
    const a = (await key.o.post('/access-tokens', { ttlSeconds: 600 })).json;
    const b = (await key.o.post('/access-tokens', { ttlSeconds: 600 })).json;
    await o.as(a.token).get(`/secrets/${id}`);
    later();
    await o.as(b.token).get(`/secrets/${id}`);
    later();
    await o.get(`/secrets/${id}?version=1`);
    const expected = [
      [o.keyId, 1, 1, 'read'],
      [b.id, 2, 2, 'read'],
      [key.id, 1, 1, 'read'],
    ];
    const shown = await readers(o, id);
    expect(brief(shown)).toEqual(expected);
    expect(shown.data[1]).toMatchObject({
      actor: { kind: 'session', parent_id: key.id },
      last_read_at: expect.stringMatching(/Z$/),
    });
    // From what was written down, from entries that still lie in the gate, and from both.
    await evict(o);
    expect(await readers(o, id)).toEqual(shown);
    await moveOn(o);
    expect(await readers(o, id)).toEqual(shown);
    await o.as(b.token).get(`/secrets/${id}`);
    await evict(o);
    expect(brief(await readers(o, id))).toContainEqual([b.id, 2, 3, 'read']);
    const first = await readers(o, id, '?limit=2');
    const rest = await readers(o, id, `?limit=2&cursor=${encodeURIComponent(first.next_cursor)}`);
    expect([...first.data, ...rest.data]).toEqual((await readers(o, id)).data);
    expect([first.has_more, rest.has_more]).toEqual([true, false]);
  });

  it('refused reads, reads of others and lists do not count', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const other = await newSecret(o);
    const { o: low } = await newKey(o, { scopes: ['secrets:list'] });
    await low.get(`/secrets/${id}`);
    await o.get(`/secrets/${other.id}`);
    await o.get('/secrets');
    expect(await readers(o, id)).toEqual({ data: [], next_cursor: null, has_more: false });
  });

  slow('bulk reads count by the requested prefix and by the reach of a limited reader', async () => {
    const o = await newOrg();
    const inside = await newSecret(o, { name: 'app/a' });
    const outside = await newSecret(o, { name: 'db/a' });
    const agent = await newAgent(o, { scopes: ['secrets:read'], secrets: ['app/*'] });
    const values = '/environments/production/values';
    expect((await agent.o.get(values)).status).toBe(200);
    later();
    expect((await o.get(`${values}?prefix=db/`)).status).toBe(200);
    const check = async () => {
      expect(brief(await readers(o, inside.id))).toEqual([[agent.id, 1, 1, 'bulk']]);
      expect(brief(await readers(o, outside.id))).toEqual([[o.keyId, 1, 1, 'bulk']]);
    };
    await check();
    await evict(o);
    await check();
    await moveOn(o);
    await check();
    later();
    await o.patch(`/secrets/${inside.id}`, { value: 'changed' });
    expect(brief(await readers(o, inside.id))).toEqual([[agent.id, null, 1, 'bulk']]);
    later();
    await agent.o.get(`/secrets/${inside.id}`);
    expect(brief(await readers(o, inside.id))).toEqual([[agent.id, 2, 2, 'read']]);
  });

  it('a read costs no write for it', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await o.get(`/secrets/${id}`);
    const rows = () =>
      inCore(o, ({ storage }) => storage.sql.exec<{ n: number }>('select count(*) n from readers').one().n);
    for (let n = 0; n < 5; n++) await o.get(`/secrets/${id}`);
    expect(await rows()).toBe(0);
    expect(brief(await readers(o, id))).toEqual([[o.keyId, 1, 6, 'read']]);
  });

  it(`are bounded: ${MOST_READERS} of a secret, the newest, and go with the secret`, async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const actor = (n: number) => ({ kind: 'api_key', id: `key_${n}`, parent_id: null, name: null });
    await append(o, 400, (n) => ({ action: 'secret.read', resource: id, version: 1, actor: actor(n) }));
    later();
    await append(o, 1, () => ({ action: 'secret.read', resource: id, version: 1, actor: actor(7) }));
    await moveOn(o);
    const kept = await inCore(o, (core) => keptReaders(core).of(id));
    expect([kept.size, kept.get('key_7')?.count]).toEqual([MOST_READERS, 2]);
    expect((await o.del(`/secrets/${id}?permanent=true`)).status).toBe(204);
    expect(await inCore(o, (core) => keptReaders(core).of(id).size)).toBe(0);
    expect(codeOf(await o.get(`/secrets/${id}/readers`))).toEqual([404, 'NOT_FOUND']);
  });

  it('permission: needs audit:read and the secret within reach; a limited caller sees what its view of the log shows', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'app/a' });
    await o.get(`/secrets/${id}`);
    later();
    const bulk = await newKey(o);
    await bulk.o.get('/environments/production/values');
    const { o: plain } = await newKey(o, { scopes: ['secrets:read'] });
    expect(codeOf(await plain.get(`/secrets/${id}/readers`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const { o: elsewhere } = await newKey(o, { scopes: ['audit:read'], secrets: ['db/*'] });
    expect(codeOf(await elsewhere.get(`/secrets/${id}/readers`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const { o: limited } = await newKey(o, { scopes: ['audit:read'], secrets: ['app/*'] });
    expect(brief(await readers(limited, id))).toEqual([[o.keyId, 1, 1, 'read']]);
    expect(brief(await readers(o, id)).length).toBe(2);
    const other = await newOrg();
    expect(codeOf(await other.get(`/secrets/${id}/readers`))).toEqual([404, 'NOT_FOUND']);
  });
});
