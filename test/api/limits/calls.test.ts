// How many calls a request takes: of the gate, and of D1.
import { evictAllDurableObjects } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { newSignedIn } from '../../support/browser';
import { newAgent, newBreakGlass, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { type Answer, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

/** The calls that one request takes. */
async function costOf(request: () => Promise<Answer>) {
  Object.assign(faults, { gate: 0, d1: 0 });
  const answer = await request();
  return { status: answer.status, gate: faults.gate, d1: faults.d1 };
}

describe('a request takes', () => {
  it('one gate call and no D1 to read a warm secret, by id or by name', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A' });
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
    expect(await costOf(() => o.get('/secrets/by-name/A'))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('one gate call and one query to read a version that is not at hand, and none the next time', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await inCore(o, ({ ciphertexts }) => ciphertexts.drop(id));
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('no more after the gate has been evicted', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await evictAllDurableObjects();
    const cost = await costOf(() => o.get(`/secrets/${id}`));
    expect(cost).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('one query more in an isolate that has just started, and holds no key yet', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    faults.isolate++;
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costOf(() => o.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
  });

  it('one gate call to list secrets, and one query more to list versions', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    expect(await costOf(() => o.get('/secrets'))).toEqual({ status: 200, gate: 1, d1: 0 });
    expect(await costOf(() => o.get(`/secrets/${id}/versions`))).toEqual({ status: 200, gate: 1, d1: 1 });
  });

  it('one gate call and no D1 for warm bulk values, with or without a 304', async () => {
    const o = await newOrg();
    for (let i = 0; i < 5; i++) await newSecret(o);
    const first = await o.get('/environments/production/values');
    expect(await costOf(() => o.get('/environments/production/values'))).toEqual({ status: 200, gate: 1, d1: 0 });
    const etag = first.headers.get('etag') as string;
    expect(await costOf(() => o.get('/environments/production/values', { 'If-None-Match': etag }))).toEqual({
      status: 304,
      gate: 1,
      d1: 0,
    });
  });

  it('one gate call and one batch to create, PATCH, rotate, mint and revoke; two calls where a value is generated', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { type: 'password' });
    expect(await costOf(() => o.post('/secrets', { name: 'N', type: 'generic', value: 'v' }))).toEqual({ status: 201, gate: 1, d1: 1 });
    expect(await costOf(() => o.patch(`/secrets/${id}`, { value: 'v' }))).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costOf(() => o.post(`/secrets/${id}/rotate`, { value: 'w' }))).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costOf(() => o.post(`/secrets/${id}/rotate`))).toEqual({ status: 200, gate: 2, d1: 1 });
    expect(await costOf(() => o.post('/access-tokens', { ttlSeconds: 60 }))).toEqual({ status: 201, gate: 1, d1: 1 });
    const token = await newSession(o);
    expect(await costOf(() => o.del(`/access-tokens/${token.id}`))).toEqual({ status: 204, gate: 1, d1: 1 });
  });

  it('one gate call and one batch to issue, rotate and revoke as a provider; a call more where this isolate does not know whose the name is', async () => {
    const o = await newOrg();
    const { token } = (await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] })).json;
    const costs = (verb: string, fields: object) =>
      costOf(() => send('POST', `/api/v1/provider/${verb}`, { token, body: { environment: 'production', ...fields } }));
    const issue = (secretName: string) => costs('issue', { secretName, value: 'v', ttlSeconds: 60 });
    expect(await issue('A')).toEqual({ status: 201, gate: 1, d1: 1 });
    expect(await issue('A')).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('rotate', { secretName: 'A', newValue: 'w' })).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('revoke', { secretName: 'A' })).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('revoke', { secretName: 'A' })).toEqual({ status: 200, gate: 1, d1: 0 });
    await newSecret(o, { name: 'B' });
    await newSecret(o, { name: 'C' });
    expect(await issue('B')).toEqual({ status: 200, gate: 2, d1: 1 });
    expect(await issue('B')).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('rotate', { secretName: 'C', newValue: 'w' })).toEqual({ status: 200, gate: 2, d1: 1 });
    expect(await costs('rotate', { secretName: 'C', newValue: 'x' })).toEqual({ status: 200, gate: 1, d1: 1 });
    expect(await costs('rotate', { secretName: 'nobody', newValue: 'x' })).toEqual({ status: 404, gate: 1, d1: 0 });
  });

  it('one gate call and no D1 to read a warm secret, by whatever kind of credential', async () => {
    const { o, browser } = await newSignedIn();
    const { id } = await newSecret(o);
    const agent = await newAgent(o);
    const child = await newAgent((await newAgent(o, { scopes: ['*'] })).o);
    const callers = [(await newSession(o)).o, agent.o, child.o, (await newBreakGlass(o)).o, browser.o];
    for (const caller of callers) {
      // The first request of a member in an isolate fetches the keys that check the signature.
      await caller.get('/secrets');
      expect(await costOf(() => caller.get(`/secrets/${id}`))).toEqual({ status: 200, gate: 1, d1: 0 });
      expect(await costOf(() => caller.get('/environments/production/values'))).toEqual({ status: 200, gate: 1, d1: 0 });
    }
  });

  it('one gate call and one batch to end everything, however many there are', async () => {
    const o = await newOrg();
    await Promise.all(Array.from({ length: 30 }, () => newSession(o)));
    expect(await costOf(() => o.post('/panic', { reason: 'a rehearsal' }))).toEqual({ status: 200, gate: 1, d1: 1 });
  });

  it('nothing at all for a junk token', async () => {
    const o = await newOrg();
    const junk = `${o.token.slice(0, -1)}${o.token.endsWith('a') ? 'b' : 'a'}`;
    expect(await costOf(() => send('GET', `/api/v1/orgs/${o.id}/secrets`, { token: junk }))).toEqual({ status: 401, gate: 0, d1: 0 });
  });
});
