// Calls of upstreams whose steps are cut off or repeated: whatever fails, a call has one entry, is sent once
// at most, and leaves no place taken; a Worker that is lost leaves word of it.
import { exports } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { VersionRow } from '../../src/db/schema';
import { intents } from '../../src/domains/upstreams/gate/intents';
import { ciphertexts } from '../../src/gate/journal/ciphertexts';
import { runTasks } from '../../src/gate/tasks/run';
import { type Fault, faults, faultsOf } from '../support/faults';
import { inCore } from '../support/gate';
import { begin, newUpstream, tell } from '../support/integrations/upstreams';
import { slow } from '../support/slow';
import { BOOTSTRAP, type Caller, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

let sent = 0;
beforeEach(() => {
  faults.clock = Date.now();
  sent = 0;
  vi.stubGlobal('fetch', async (url: string) => {
    if (new URL(url).hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    sent += 1;
    return new Response('answer');
  });
});
afterEach(() => vi.unstubAllGlobals());

const entries = async (o: Caller, id: string, action = 'secret.use') =>
  (await o.get(`/audit-log?action=${action}&resource=${id}`)).json.data;
const later = async (o: Caller, ms: number) => {
  faults.clock = (faults.clock as number) + ms;
  await inCore(o, (core) => runTasks(core));
};
const underWay = (o: Caller) => inCore(o, (core) => intents(core).underWay(core.now()));

/** One call over HTTP: its status, or null if the answer broke off. */
async function called(o: Caller, name: string): Promise<number | null> {
  const url = `http://localhost/api/v1/orgs/${o.id}/use/${name}/v1/x`;
  try {
    const answer = await exports.default.fetch(url, { headers: { Authorization: `Bearer ${o.token}` } });
    await answer.text();
    return answer.status;
  } catch {
    return null;
  }
}

describe('faults: a call of an upstream', () => {
  slow('audit: whichever step fails, a call has one entry and leaves no place taken', async () => {
    const o = await newOrg();
    const { name: secret } = await newSecret(o);
    Object.assign(faults, { gate: 0, statements: 0 });
    const first = await newUpstream(o, {}, secret);
    Object.assign(faults, { gate: 0, statements: 0 });
    expect(await called(o, first.name)).toBe(200);
    await inCore(o, () => {});
    const counts = { statements: faults.statements, d1: 0, gate: faults.gate };
    const all: Fault[] = [...faultsOf(counts)];
    expect(counts.gate).toBeGreaterThan(1);
    for (const { what, how } of all) {
      const { id, name } = await newUpstream(o, {}, secret);
      sent = 0;
      Object.assign(faults, { gate: 0, statements: 0, ...how });
      const status = await called(o, name);
      Object.assign(faults, { rpc: null, storage: null });
      await later(o, 61_000);
      const written = await entries(o, id);
      expect([what, sent <= 1, await underWay(o)]).toEqual([what, true, []]);
      const ofCall = written.filter((one: { use?: object }) => one.use);
      // A call that was never let through has none, and then nothing was sent.
      const isRight = ofCall.length <= 1 && ofCall.length >= sent;
      expect([what, isRight], JSON.stringify({ status, sent, written })).toEqual([what, true]);
      if (status === 200) expect([what, ofCall[0]?.status]).toEqual([what, 200]);
      await o.del(`/upstreams/${id}`);
    }
  });

  it('audit: a Worker that is lost in the middle of an answer leaves its end, once', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    const { data } = await begin(o, name);
    const intent = data?.intent as string;
    await tell(o, 'answered', { intent, status: 200, code: null, request_bytes: 1 });
    await later(o, 16_000);
    expect(await underWay(o)).toEqual([]);
    await later(o, 61_000);
    await later(o, 61_000);
    expect(await entries(o, id, 'secret.use_end')).toMatchObject([
      { outcome: 'failed', reason: 'unknown', use: { ended: 'unknown' } },
    ]);
    // What comes late changes nothing, and no further byte may pass.
    expect(await tell(o, 'alive', { intent })).toEqual({ may: false });
    await tell(o, 'ended', { intent, response_bytes: 7, how: 'complete', isNoted: true });
    expect(await entries(o, id, 'secret.use_end')).toHaveLength(1);
    const [entry, ...more] = await entries(o, id);
    expect([entry.status, more]).toEqual([200, []]);
  });

  it('audit: an answer that is told again after it was given up may not be given', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    const intent = (await begin(o, name)).data?.intent as string;
    await later(o, 46_000);
    const answer = { intent, status: 200, code: null, request_bytes: 1 };
    expect(await tell(o, 'answered', answer, { repeated: true })).toEqual({ may: false });
    expect(await entries(o, id)).toMatchObject([{ outcome: 'failed', reason: 'unknown' }]);
  });

  it('audit: an answer under way has its end before its gate is given up', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    const intent = (await begin(o, name)).data?.intent as string;
    await tell(o, 'answered', { intent, status: 200, code: null, request_bytes: 1 });
    const body = { reason: 'its storage is broken' };
    await send('POST', `/api/v1/orgs/${o.id}/gate/reset`, { token: BOOTSTRAP, body });
    expect(await entries(o, id, 'secret.use_end')).toHaveLength(1);
  });

  it('audit: a call that has ended leaves no second word of its end', async () => {
    const o = await newOrg();
    const { id, name } = await newUpstream(o);
    expect(await called(o, name)).toBe(200);
    const { data } = await begin(o, name);
    await tell(o, 'answered', {
      intent: data?.intent,
      status: null,
      code: 'TARGET_TIMEOUT',
      request_bytes: 0,
    });
    await later(o, 200_000);
    expect(await entries(o, id)).toHaveLength(2);
    expect(await entries(o, id, 'secret.use_end')).toEqual([]);
  });

  it('integrity: a value that does not open ends its call, and frees its place', async () => {
    const o = await newOrg();
    const { id: secret, name: placed } = await newSecret(o);
    const { id, name } = await newUpstream(o, {}, placed);
    await inCore(o, (core) => {
      const version = ciphertexts(core).get(secret, 1, 0) as VersionRow;
      ciphertexts(core).drop(secret);
      ciphertexts(core).keep({ ...version, created_by: 'key_else' }, 0);
    });
    expect(await called(o, name)).toBe(500);
    expect([sent, await underWay(o)]).toEqual([0, []]);
    await later(o, 61_000);
    expect(await entries(o, id)).toMatchObject([{ status: 500, outcome: 'failed' }]);
  });
});
