// GET /metrics: who may read it, and what it counts.
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/env';
import { journal } from '../../../src/gate/journal/records';
import type { Metrics } from '../../../src/objects/metrics';
import { faults } from '../../support/faults';
import { inCore, inGate } from '../../support/gate';
import { slow } from '../../support/slow';
import { newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const METRICS_TOKEN = 'metrics-token-of-the-tests-0123456789';
let address = 0;
beforeEach(() => {
  faults.variables = { METRICS_TOKEN };
  faults.isolate++;
  address++;
});
afterEach(() => {
  faults.variables = {};
  faults.isolate++;
});

const read = (token = METRICS_TOKEN, method = 'GET') =>
  send(method, '/metrics', { token, headers: { 'CF-Connecting-IP': `198.51.100.${address}` } });

/** The value of a series; 0 if there is none. */
async function seriesOf(series: string): Promise<number> {
  const { text } = await read();
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

/** By how much series grow. */
async function growth(series: string[], act: () => Promise<unknown>): Promise<number[]> {
  const before = await Promise.all(series.map(seriesOf));
  await act();
  const after = await Promise.all(series.map(seriesOf));
  return after.map((value, i) => value - (before[i] as number));
}

const sums = () =>
  (env as unknown as { METRICS: DurableObjectNamespace<Metrics> }).METRICS.getByName('deployment');

describe('metrics', () => {
  it('without METRICS_TOKEN the path does not exist', async () => {
    faults.variables = {};
    faults.isolate++;
    const { status, json } = await read();
    expect([status, json.error.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('a METRICS_TOKEN that is too short stops the service', async () => {
    faults.variables = { METRICS_TOKEN: 'short' };
    faults.isolate++;
    const { status, json } = await read('short');
    expect([status, json.error.code]).toEqual([503, 'MISCONFIGURED']);
    expect(json.error.message).toContain('METRICS_TOKEN');
    expect(json.error.message).not.toContain('short');
  });

  it('the token is needed, and nothing else is accepted', async () => {
    const o = await newOrg();
    const bootstrap = (env as unknown as Env).BOOTSTRAP_TOKEN as string;
    for (const token of ['', `${METRICS_TOKEN}x`, METRICS_TOKEN.slice(1), o.token, bootstrap]) {
      const { status, json, text } = await read(token);
      expect([status, json.error.code], token).toEqual([401, 'UNAUTHENTICATED']);
      expect(text).not.toContain('svc_');
    }
    expect((await read()).status).toBe(200);
    expect((await send('GET', '/api/v1/whoami', { token: METRICS_TOKEN })).status).toBe(401);
  });

  slow('attack: the token cannot be guessed: an address has 20 attempts a minute', async () => {
    for (let attempt = 0; attempt < 20; attempt++) expect((await read('guess')).status).toBe(401);
    const { status, json, headers } = await read('guess');
    expect([status, json.error.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('it is Prometheus text, and other methods are refused', async () => {
    const { status, headers, text } = await read();
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    for (const line of text.trimEnd().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) svc_\w+ .+|svc_\w+(\{(\w+="[^"\n]*",?)+\})? [0-9.e+-]+)$/);
    expect((await read(METRICS_TOKEN, 'POST')).status).toBe(405);
    expect((await read(METRICS_TOKEN, 'HEAD')).text).toBe('');
  });

  slow('requests are counted by route, method and status, refusals by code', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const route = '/api/v1/orgs/{org_id}/secrets/{id}';
    const grown = await growth(
      [
        `svc_requests_total{route="${route}",method="GET",status="200"}`,
        `svc_requests_total{route="${route}",method="GET",status="404"}`,
        `svc_request_duration_seconds_count{route="${route}",method="GET"}`,
        'svc_refusals_total{code="NOT_FOUND"}',
        'svc_gate_duration_seconds_count',
      ],
      async () => {
        for (let reads = 0; reads < 3; reads++) await o.get(`/secrets/${id}`);
        await o.get('/secrets/sec_0123456789ABCDEFGHIJKL');
      },
    );
    expect(grown).toEqual([3, 1, 4, 1, 4]);
  });

  slow('attack: no label has an id, a name or a path as sent', async () => {
    const o = await newOrg();
    const marks = ['markone', 'marktwo', 'MARKTHREE', 'markfour'];
    const { id } = await newSecret(o, { name: 'markone' });
    await o.get(`/secrets/${id}`);
    await o.get('/secrets/by-name/production/markone');
    await send('GET', '/marktwo', { token: o.token });
    await send('GET', '/v1/markfour/data/markfour', { token: o.token });
    await send('GET', `/compat/aws/${o.id}/markfour`, { token: o.token });
    await send('MARKTHREE', '/api/v1/whoami', { token: o.token }).catch(() => {});
    const { text } = await read();
    for (const mark of [...marks, o.id, id, o.token]) expect(text).not.toContain(mark);
  });

  slow('calls of D1 by gates and by Workers are timed', async () => {
    const o = await newOrg();
    const [first = 0] = await growth(['svc_d1_duration_seconds_count'], () => newSecret(o));
    expect(first).toBeGreaterThan(0);
    const [second = 0] = await growth(['svc_d1_duration_seconds_count'], () => o.get('/audit-log/verify'));
    expect(second).toBeGreaterThan(0);
  });

  slow('a change that D1 lacks is told by its age', async () => {
    const o = await newOrg();
    await newSecret(o);
    faults.lags = true;
    faults.fail = () => 'before';
    faults.isAlarmHeld = true;
    await newSecret(o);
    const decided = await inCore(o, (core) => journal(core).extent().since as number);
    faults.isAlarmHeld = false;
    vi.setSystemTime(decided + 30_000);
    await inGate(o, (gate) => gate.alarm()).finally(() => vi.useRealTimers());
    expect(await seriesOf('svc_mirror_lag_seconds')).toBe(30);
  });

  it('is unavailable while the object with the sums does not answer', async () => {
    const away = () => Promise.reject(new Error('internal error'));
    const METRICS = { getByName: () => ({ add: away, read: away }) };
    faults.variables = { METRICS_TOKEN, METRICS } as never;
    faults.isolate++;
    const { status, json, headers } = await read();
    expect([status, json.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(headers.get('retry-after')).toBe('2');
  });

  slow('the sums survive the end of their object', async () => {
    const o = await newOrg();
    const series = 'svc_requests_total{route="/api/v1/whoami",method="GET",status="200"}';
    await send('GET', '/api/v1/whoami', { token: o.token });
    const before = await seriesOf(series);
    const since = await seriesOf('svc_start_time_seconds');
    expect(before).toBeGreaterThan(0);
    await runInDurableObject(sums(), (object) => object.alarm());
    await evictDurableObject(sums());
    expect(await seriesOf(series)).toBe(before);
    expect(await seriesOf('svc_start_time_seconds')).toBe(since);
  });
});
