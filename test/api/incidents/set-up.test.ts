// What a contained credential and its descendants set up besides secrets and credentials: log streams,
// domains and connections to identity providers, with names for those who may list them.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { contain, newKey } from '../../support/credentials';
import { append } from '../../support/governance/audit';
import { newStream, useTargets } from '../../support/integrations/log-streams';
import { addConnection } from '../../support/signin/sso';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
beforeEach(() => void useTargets());
afterEach(() => vi.unstubAllGlobals());

const LISTS = ['log_streams', 'domains', 'sso_connections'] as const;

it('contain: lists the log streams, domains and connections that one of them made or changed', async () => {
  const o = await newOrg();
  const key = await newKey(o);
  const below = await newKey(key.o);
  const stream = await newStream(below.o);
  const { json: domain } = await key.o.post('/domains', { domain: 'leaked.example.com' });
  await o.post('/domains', { domain: 'kept.example.com' });
  await newStream(o);
  // Refused: it did nothing.
  expect((await key.o.post('/domains', { domain: 'leaked.example.com' })).status).toBe(409);
  const expected = {
    log_streams: [{ id: stream.id, name: 'To https', action: 'log_stream.create' }],
    domains: [{ id: domain.id, name: 'leaked.example.com', action: 'domain.create' }],
    sso_connections: [],
  };
  const preview = (await contain(o, key.id, { dry_run: true })).json;
  expect(preview).toMatchObject(expected);
  const { json } = await contain(o, key.id);
  expect(json).toMatchObject(expected);
  expect((await o.get(`/incidents/${json.incident_id}`)).json.report).toMatchObject(expected);
  expect((await o.get(`/log-streams/${stream.id}`)).json).toMatchObject({
    status: 'disabled',
    disabled_reason: 'maker',
  });
  // Listed, and not deleted.
  expect((await o.get('/domains')).json.data).toHaveLength(2);
});

it('contain: what the caller may not list has no name, and whoever may list the rest has no streams', async () => {
  const o = await newOrg();
  const key = await newKey(o);
  const connection = await addConnection(o);
  await key.o.post('/domains', { domain: 'names.example.com' });
  await newStream(key.o);
  await append(o, 1, () => ({
    actor: { kind: 'api_key', id: key.id, parent_id: null, name: 'k' },
    action: 'sso_connection.update',
    resource: connection,
  }));
  const namesFor = async (by: Caller) => {
    const { json } = await contain(by, key.id, { dry_run: true });
    return LISTS.map((list) => json[list].map(({ name }: { name: string | null }) => name));
  };
  expect(await namesFor(o)).toEqual([['To https'], ['names.example.com'], ['Provider']]);
  const scopes = ['tokens:write', 'audit:read'];
  expect(await namesFor((await newKey(o, { scopes })).o)).toEqual([[null], [null], [null]]);
  const reader = await newKey(o, { scopes: [...scopes, 'sso:read'] });
  expect(await namesFor(reader.o)).toEqual([[null], ['names.example.com'], ['Provider']]);
  const streams = await newKey(o, { scopes: [...scopes, 'webhooks:write'] });
  expect(await namesFor(streams.o)).toEqual([['To https'], [null], [null]]);
  // Log streams are of the whole organisation.
  const bounded = { scopes: [...scopes, 'webhooks:write'], environments: ['development'] };
  expect((await namesFor((await newKey(o, bounded)).o))[0]).toEqual([null]);
});

it('contain: tells environments as the list of secrets does; two that a caller may not tell apart look the same', async () => {
  const o = await newOrg();
  const key = await newKey(o);
  const seen = await newKey(o, { scopes: ['tokens:write', 'secrets:list'], environments: ['staging'] });
  const blind = await newKey(o, { scopes: ['tokens:write'] });
  const looks: unknown[] = [];
  for (const environment of ['staging', 'production']) {
    const { id, name } = await newSecret(o, { environment });
    await key.o.get(`/secrets/${id}`);
    const of = async (by: Caller) => {
      const { json } = await contain(by, key.id, { dry_run: true });
      const {
        time: _,
        secret_id: __,
        ...read
      } = json.read.find(({ secret_id }: { secret_id: string }) => secret_id === id);
      return read;
    };
    expect(await of(o)).toEqual({ name, environment, version: 1 });
    looks.push(await of(blind.o));
    expect((await of(seen.o)).environment).toBe(environment === 'staging' ? 'staging' : null);
  }
  expect(looks[0]).toEqual(looks[1]);
  expect(looks[0]).toEqual({ name: null, environment: null, version: 1 });
});
