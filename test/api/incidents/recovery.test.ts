// Recovery with the bootstrap token: a new first key; with `contain`, nothing else of the organisation works
// from its answer on.
import { describe, expect, it } from 'vitest';
import { problemOf } from '../../model/invariants';
import { alive, newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults, reset } from '../../support/faults';
import { loseStorage } from '../../support/gate';
import { slow } from '../../support/slow';
import { byMember, newSignedInMember } from '../../support/storage/planted';
import { BOOTSTRAP, type Caller, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const recover = (o: Caller, fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  send('POST', `/api/v1/orgs/${o.id}/recovery`, {
    token: BOOTSTRAP,
    body: { reason: 'the key was lost', ...fields },
    headers,
  });

describe('recovery', () => {
  it('leaves a lost key alive, as the answer says', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A', value: 'v' });
    for (const contain of [{}, { contain: false }]) {
      const { status, json } = await recover(o, contain);
      expect(status).toBe(201);
      expect(json.warning).toMatch(/Every other credential .* still works, .* lost API key .* contain: true/);
      expect([json.ended_at, json.incident_id]).toEqual([undefined, undefined]);
      expect(await alive(o.as(json.api_key.token))).toBe(200);
    }
    expect((await o.get(`/secrets/${id}`)).json.value).toBe('v');
  });

  it('with contain ends every other credential and session, also those of an earlier recovery', async () => {
    const o = await newOrg();
    const { session } = await newSignedInMember(o);
    const earlier = o.as((await recover(o)).json.api_key.token);
    const others = [
      o,
      earlier,
      (await newKey(o)).o,
      (await newSession(o)).o,
      (await newAgent(o)).o,
      (await newProvider(o)).o,
    ];
    others.push((await newBreakGlass(o)).o);
    for (const one of others) expect(await alive(one)).toBe(200);
    const { status, json } = await recover(o, { contain: true });
    expect(status).toBe(201);
    expect(Object.keys(json).sort()).toEqual(['api_key', 'ended_at', 'enrolment_url', 'incident_id']);
    for (const one of others) expect(await alive(one)).toBe('TOKEN_REVOKED');
    expect((await byMember(o, session, 'caller.read')).outcome).toMatchObject({
      refusal: { code: 'TOKEN_REVOKED' },
    });
    const next = o.as(json.api_key.token);
    expect(await alive(next)).toBe(200);
    const [entry] = (await next.get('/audit-log?action=org.recover')).json.data;
    expect(entry).toMatchObject({
      reason: 'the key was lost',
      incident: { id: json.incident_id, status: 'open' },
      status: 201,
    });
    expect((await next.get(`/incidents/${json.incident_id}`)).json).toMatchObject({
      kind: 'panic',
      reason: 'the key was lost',
    });
    // What is made afterwards lives, and the end survives the loss of the gate.
    const later = await newKey(next);
    await loseStorage(o);
    expect([await alive(o), await alive(later.o), await alive(next)]).toEqual(['TOKEN_REVOKED', 200, 200]);
    expect(await problemOf(next)).toBe(null);
  });

  slow(
    'with contain takes effect while D1 is away, and a repeat under the same key shows the same token',
    async () => {
      const o = await newOrg();
      const key = { 'Idempotency-Key': 'recovery-1' };
      faults.fail = (kind) => (kind === 'batch' ? 'before' : null);
      const first = await recover(o, { contain: true }, key);
      expect([first.status, await alive(o)]).toEqual([201, 'TOKEN_REVOKED']);
      reset();
      const again = await recover(o, { contain: true }, key);
      expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
      expect([await alive(o), await alive(o.as(first.json.api_key.token))]).toEqual(['TOKEN_REVOKED', 200]);
      expect((await recover(o, { contain: 'yes' })).json.error.code).toBe('VALIDATION_FAILED');
    },
  );
});
