// Log streams: who may use them, what they may be given, and what a change, an end or an attack does to one.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { noteCut } from '../../../src/gate/archive/gaps';
import { contain, newAgent, newBreakGlass, newKey, statusOrCode } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { append } from '../../support/governance/audit';
import {
  configOf,
  type Kind,
  newStream,
  S3_SECRET,
  sendAll,
  sendFor,
  useTargets,
} from '../../support/integrations/log-streams';
import { signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { DAY, MINUTE } from '../../support/time';
import { BOOTSTRAP, type Caller, codeOf, newOrg, send, useWorld } from '../../support/world';

useWorld();

let now = 0;
const at = (time: number) => {
  now = time;
  faults.clock = time;
};
const later = (ms: number) => at(now + ms);
let targets: ReturnType<typeof useTargets>;
beforeEach(() => {
  at(Date.now());
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const sequences = (host: string) => (targets.entries[host] ?? []).map(({ sequence }) => sequence);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const head = (o: Caller) => inCore(o, ({ auditLog }) => auditLog.head().sequence);
const show = async (o: Caller, id: string) => (await o.get(`/log-streams/${id}`)).json;
const events = async (o: Caller, type: string) => (await o.get(`/events?types=${type}`)).json.data;
const create = (o: Caller, kind: string, config: unknown, fields = {}) =>
  o.post('/log-streams', { name: 'SIEM', kind, config, ...fields });
const both = ['audit:read', 'webhooks:write'];
const sent = async (o: Caller) => {
  later(5000);
  await sendAll(o);
};

describe('log streams: use', () => {
  it('log stream: it is created, listed, changed and deleted, and shows no credential', async () => {
    const o = await newOrg();
    for (const kind of ['splunk', 'datadog', 's3', 'otlp', 'https'] as Kind[]) {
      const config = { ...configOf(kind) };
      const created = await create(o, kind, config);
      expect(created.status).toBe(201);
      expect(created.json.secret).toEqual(kind === 'https' ? expect.stringMatching(/^whsec_/) : undefined);
      const { id } = created.json;
      const read = await o.get(`/log-streams/${id}`);
      const changed = await o.patch(`/log-streams/${id}`, { name: 'Other', config });
      const list = await o.get('/log-streams');
      for (const { text } of [created, read, changed, list])
        for (const secret of ['hec-token', 'dd-key', S3_SECRET, 'AKIDEXAMPLE', 'otlp-token', 'X-Tenant'])
          expect(text).not.toContain(secret);
      expect(read.headers.get('etag')).toBe('"r1"');
      expect(changed.json).toMatchObject({ name: 'Other', revision: 2 });
    }
    const stored = await inCore(o, ({ storage }) =>
      JSON.stringify(storage.sql.exec("select body from rows where kind = 'log_stream'").toArray()),
    );
    for (const secret of ['hec-token', 'dd-key', S3_SECRET, 'otlp-token'])
      expect(stored).not.toContain(secret);
    const { data } = (await o.get('/log-streams')).json;
    expect(data).toHaveLength(5);
    expect((await o.del(`/log-streams/${data[0].id}`)).status).toBe(204);
    expect((await o.get(`/log-streams/${data[0].id}`)).status).toBe(404);
    const changes = (await events(o, 'LOG_STREAM_CHANGED')).map(
      (event: { data: { change: string } }) => event.data.change,
    );
    expect(changes.sort()).toEqual([...Array(5).fill('created'), 'deleted', ...Array(5).fill('updated')]);
  });

  it('log stream: If-Match of another revision is refused', async () => {
    const o = await newOrg();
    const { id } = await newStream(o);
    expect((await o.patch(`/log-streams/${id}`, { name: 'a' }, { 'If-Match': '"r1"' })).status).toBe(200);
    for (const stale of [
      await o.patch(`/log-streams/${id}`, { name: 'b' }, { 'If-Match': '"r1"' }),
      await o.patch(`/log-streams/${id}`, { config: configOf('https') }, { 'If-Match': '"r1"' }),
      await o.del(`/log-streams/${id}`, undefined, { 'If-Match': '"r1"' }),
    ])
      expect(codeOf(stale)).toEqual([412, 'REVISION_CONFLICT']);
  });

  slow('log stream: an organisation has 20 at most', async () => {
    const o = await newOrg();
    for (let n = 0; n < 20; n++) await newStream(o, 'https', { enabled: false });
    expect(codeOf(await create(o, 'https', configOf('https')))).toEqual([409, 'LIMIT_REACHED']);
  });

  it('log stream: a repeat under an Idempotency-Key makes no second one, and shows the same secret', async () => {
    const o = await newOrg();
    const config = configOf('https');
    const key = { 'Idempotency-Key': 'one-stream' };
    const body = { name: 'a', kind: 'https', config };
    const first = await o.post('/log-streams', body, key);
    const again = await o.post('/log-streams', body, key);
    expect([again.status, again.json.id, again.json.secret]).toEqual([201, first.json.id, first.json.secret]);
    expect((await o.get('/log-streams')).json.data).toHaveLength(1);
  });
});

describe('log streams: who', () => {
  it('permission: log streams take both scopes, without limits', async () => {
    const o = await newOrg();
    const { id } = await newStream(o);
    const calls = (o: Caller) =>
      Promise.all([
        create(o, 'https', configOf('https')),
        o.get('/log-streams'),
        o.get(`/log-streams/${id}`),
        o.patch(`/log-streams/${id}`, { name: 'x' }),
        o.del(`/log-streams/${id}`),
        o.post(`/log-streams/${id}/seek`, { sequence: 1 }),
        o.post(`/log-streams/${id}/test`),
      ]);
    for (const fields of [
      { scopes: ['audit:read'] },
      { scopes: ['webhooks:write'] },
      { scopes: both, environments: ['production'] },
      { scopes: both, secrets: ['app/*'] },
    ]) {
      const { o: other } = await newKey(o, { name: 'k', ...fields });
      for (const answer of await calls(other)) expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    }
    const agent = await newAgent(o, { scopes: both, environments: ['production'] });
    for (const answer of await calls(agent.o)) expect(answer.status).toBe(403);
    const glass = await newBreakGlass(o);
    for (const answer of await calls(glass.o)) expect(answer.status).toBe(403);
    expect(targets.got).toHaveLength(0);
    const { o: whole } = await newKey(o, { name: 'k', scopes: both });
    expect((await create(whole, 'https', configOf('https'))).status).toBe(201);
  });

  it('permission: a stream of another organisation does not exist', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const { id } = await newStream(o);
    expect((await other.get(`/log-streams/${id}`)).status).toBe(404);
    expect((await other.patch(`/log-streams/${id}`, { enabled: false })).status).toBe(404);
    expect((await other.post(`/log-streams/${id}/test`)).status).toBe(404);
    const across = await send('GET', `/api/v1/orgs/${o.id}/log-streams/${id}`, { token: other.token });
    expect([403, 404]).toContain(across.status);
    expect(across.text).not.toContain('example.com');
  });
});

describe('log streams: targets', () => {
  it('egress: a target that is not public, has credentials or is no URL is refused', async () => {
    const o = await newOrg();
    for (const url of [
      'http://siem.example.com/in',
      'https://127.0.0.1/in',
      'https://[::1]/in',
      'https://169.254.169.254/latest',
      'https://10.0.0.1:8088',
      'https://siem.internal/in',
      'https://user:pass@siem.example.com/in',
      'https://siem.example.com:22/in',
      'https://siem.example.com/in#x',
      'https://siem.example.com/in\r\nX-A: b',
      'file:///etc/passwd',
      'siem.example.com',
    ])
      for (const [kind, config] of [
        ['https', { url }],
        ['otlp', { url }],
        ['splunk', { url, token: 't' }],
        ['datadog', { url, api_key: 'k' }],
        ['s3', { ...configOf('s3'), endpoint: url }],
      ] as [string, object][]) {
        const answer = await create(o, kind, config);
        expect([url, kind, ...codeOf(answer)]).toEqual([url, kind, 400, 'VALIDATION_FAILED']);
      }
    expect(targets.got).toHaveLength(0);
  });

  it('egress: a name that leads to a private address later gets nothing', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.names[stream.host] = '10.0.0.7';
    await sent(o);
    expect(targets.got).toHaveLength(0);
    expect(await show(o, stream.id)).toMatchObject({
      status: 'failing',
      last_error: { status: null, message: expect.stringContaining('not public') },
    });
    expect(codeOf(await o.post(`/log-streams/${stream.id}/test`))).toEqual([502, 'TARGET_UNREACHABLE']);
  });

  it('log stream: headers of a config replace none of the service, and inject none', async () => {
    const o = await newOrg();
    const { url } = configOf('https');
    for (const headers of [
      { Host: 'internal.example.com' },
      { 'content-length': '0' },
      { 'Content-Type': 'text/plain' },
      { 'Transfer-Encoding': 'chunked' },
      { Connection: 'close' },
      { 'webhook-signature': 'v1,x' },
      { 'X-Svc-Signature': 'x' },
      { 'CF-Connecting-IP': '127.0.0.1' },
      { 'User-Agent': 'x' },
      { 'X-A': 'b\r\nX-C: d' },
      { 'X-A': 'b\u0000' },
      { 'X-A': 'é' },
      { 'X A': 'b' },
      { 'X-A\r\nHost': 'b' },
      { 'X-A': '1', 'x-a': '2' },
      { 'X-A': '' },
    ]) {
      const answer = await create(o, 'https', { url, headers });
      expect([headers, ...codeOf(answer)]).toEqual([headers, 400, 'VALIDATION_FAILED']);
      expect(answer.text).not.toContain('internal.example.com');
    }
    for (const [kind, field, value] of [
      ['splunk', 'token', 'a\r\nX: y'],
      ['datadog', 'api_key', 'a b'],
      ['s3', 'bucket', '../other'],
      ['s3', 'prefix', '/a'],
      ['s3', 'prefix', 'a/../b'],
      ['s3', 'prefix', `${'a'.repeat(500)}?`],
      ['s3', 'endpoint', 'https://s3.example.com/path'],
      ['s3', 'endpoint', 'https://s3.example.com/?x=y'],
      ['https', 'unknown', 'x'],
    ] as [Kind, string, string][])
      expect([field, (await create(o, kind, { ...configOf(kind), [field]: value })).status]).toEqual([
        field,
        400,
      ]);
  });

  it('log stream: a URL that is itself a credential is shown as its origin', async () => {
    const o = await newOrg();
    const { json } = await create(o, 'https', { url: 'https://siem.example.com/in?token=hunter2' });
    expect(json.config).toEqual({ url: 'https://siem.example.com' });
    expect((await o.get(`/log-streams/${json.id}`)).text).not.toContain('hunter2');
  });

  it('log stream: a URL with a token in its path is shown as its origin, one with names as it is', async () => {
    const o = await newOrg();
    const shown = async (path: string) =>
      (await create(o, 'https', { url: `https://siem.example.com${path}` })).json.config.url;
    for (const path of [
      '/receiver/v1/http/ZaVnC4dhaV3kq9PzR8sTuVwXyZ0123==',
      '/in/0f8fad5b-d9cb-469f-a165-70867728950e',
      '/hooks/c0ffee00c0ffee00c0ffee00/logs',
    ])
      expect(await shown(path)).toBe('https://siem.example.com');
    for (const path of ['/services/collector/event', '/v1/my-audit-log-of-production-2026/in'])
      expect(await shown(path)).toBe(`https://siem.example.com${path}`);
  });

  slow('log stream: a test says what the target answered, and is no entry', async () => {
    const o = await newOrg();
    for (const kind of ['splunk', 'datadog', 's3', 'otlp', 'https'] as Kind[]) {
      const stream = await newStream(o, kind, { enabled: false });
      const ok = await o.post(`/log-streams/${stream.id}/test`);
      expect([ok.status, ok.json]).toEqual([
        200,
        { delivered: true, status: kind === 'datadog' ? 202 : 200 },
      ]);
      expect(targets.entries[stream.host]).toMatchObject([{ test: true, log_stream_id: stream.id }]);
      targets.answers[stream.host] = () => new Response('SECRET OF THE TARGET', { status: 403 });
      const refused = await o.post(`/log-streams/${stream.id}/test`);
      expect(codeOf(refused)).toEqual([502, 'TARGET_REJECTED']);
      expect(refused.text).not.toContain('SECRET OF');
    }
  });

  it('tampering: neither an exchanged target nor exchanged credentials are used', async () => {
    const o = await newOrg();
    const a = await newStream(o, 'https');
    const b = await newStream(o, 'splunk');
    await inCore(o, (core) => {
      const first = core.rows.get('log_stream', a.id);
      const second = core.rows.get('log_stream', b.id);
      if (!first || !second) throw new Error('no rows');
      core.rows.put('log_stream', { ...first, config: { url: 'https://evil.example.com' } });
      core.rows.put('log_stream', { ...second, credentials_sealed: first.credentials_sealed });
    });
    await sent(o);
    expect(targets.got).toHaveLength(0);
    expect((await show(o, a.id)).last_error.message).toContain('altered');
  });

  it('tampering: a row whose MAC is wrong is not used', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    await inCore(o, (core) => {
      const row = core.rows.get('log_stream', stream.id);
      if (row) core.rows.put('log_stream', { ...row, format: 'ocsf' });
    });
    await sent(o);
    expect(targets.got).toHaveLength(0);
  });
});

describe('log streams: changes', () => {
  it('log stream: the old target gets the entries up to that of a change, the new one the others', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    await o.get('/secrets');
    const config = configOf('https');
    const host = new URL(String(config.url)).host;
    const changed = await o.patch(`/log-streams/${stream.id}`, { config });
    expect(changed.json.secret).not.toBe(stream.secret);
    const of = await head(o);
    await o.get('/secrets');
    await sent(o);
    const last = await head(o);
    expect(targets.entries[stream.host]?.at(-1)).toMatchObject({ action: 'log_stream.update', sequence: of });
    expect(sequences(host)).toEqual(range(of + 1, last));
  });

  for (const [what, act] of [
    ['disabled', (o: Caller, id: string) => o.patch(`/log-streams/${id}`, { enabled: false })],
    ['deleted', (o: Caller, id: string) => o.del(`/log-streams/${id}`)],
  ] as const)
    it(`log stream: one that is ${what} first sends the entries up to that change`, async () => {
      const o = await newOrg();
      const stream = await newStream(o);
      await act(o, stream.id);
      const of = await head(o);
      await o.get('/secrets');
      await sent(o);
      expect(sequences(stream.host).at(-1)).toBe(of);
      later(DAY);
      await sent(o);
      expect(sequences(stream.host).at(-1)).toBe(of);
    });

  slow(
    'log stream: what the old target did not take within a minute is told, and goes to the new one',
    async () => {
      const o = await newOrg();
      const stream = await newStream(o);
      const first = await head(o);
      targets.answers[stream.host] = () => new Response('no', { status: 500 });
      await sent(o);
      const config = configOf('https');
      await o.patch(`/log-streams/${stream.id}`, { config });
      const of = await head(o);
      for (let n = 0; n < 14; n++) await sent(o);
      const told = (await events(o, 'LOG_STREAM_CHANGED')).filter(
        (event: { data: object }) => 'missing' in event.data,
      );
      expect(told).toMatchObject([{ data: { log_stream_id: stream.id, missing: { from: first, to: of } } }]);
      expect(sequences(new URL(String(config.url)).host)[0]).toBe(first);
    },
  );

  it('log stream: a change of the target that another overtook is refused', async () => {
    const o = await newOrg();
    const stream = await newStream(o, 'https', { enabled: false });
    const changes = Array.from({ length: 8 }, (_, n) =>
      o.patch(`/log-streams/${stream.id}`, { config: { url: `https://https-r${n}.example.com` } }),
    );
    const answers = await Promise.all(changes);
    const done = answers.filter(({ status }) => status === 200);
    expect(done.length).toBeLessThan(8);
    for (const answer of answers)
      if (answer.status !== 200) expect(codeOf(answer)).toEqual([409, 'CONFLICT']);
    expect((await show(o, stream.id)).revision).toBe(1 + done.length);
  });

  it('log stream: earlier targets that wait are bounded', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    const answers = [];
    for (let n = 0; n < 12; n++)
      answers.push(await o.patch(`/log-streams/${stream.id}`, { config: configOf('https') }));
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(200), 409, 409]);
    await sent(o);
    expect((await o.patch(`/log-streams/${stream.id}`, { config: configOf('https') })).status).toBe(200);
  });

  it('log stream: deleted ones that still get entries are bounded', async () => {
    const o = await newOrg();
    const made = async () => {
      const answer = await create(o, 'https', configOf('https'));
      if (answer.status === 201) expect((await o.del(`/log-streams/${answer.json.id}`)).status).toBe(204);
      return codeOf(answer);
    };
    for (let n = 0; n < 20; n++) expect(await made()).toEqual([201, undefined]);
    expect(await made()).toEqual([409, 'CONFLICT']);
    later(2 * MINUTE);
    await sendAll(o);
    expect(await made()).toEqual([201, undefined]);
  });

  it('log stream: a seek sends again from there, never further on', async () => {
    const o = await newOrg();
    const stream = await newStream(o, 'https', { from: 'beginning' });
    await append(o, 20);
    await sent(o);
    const { position } = await show(o, stream.id);
    const ahead = await o.post(`/log-streams/${stream.id}/seek`, { sequence: position.sequence + 1 });
    expect(codeOf(ahead)).toEqual([400, 'VALIDATION_FAILED']);
    const back = await o.post(`/log-streams/${stream.id}/seek`, { sequence: 5 });
    expect([back.status, back.json.position.sequence]).toEqual([200, 4]);
    const count = sequences(stream.host).length;
    await sent(o);
    expect(sequences(stream.host).slice(count)).toEqual(range(5, await head(o)));
  });

  it('rate limit: entries from before are sent at 10 MB a minute at most', async () => {
    const o = await newOrg();
    await append(o, 200, () => ({ reason: 'x'.repeat(80_000) }));
    const stream = await newStream(o, 'https', { from: 'beginning' });
    later(5000);
    await sendAll(o, 60);
    const bytes = () => targets.got.reduce((sum, { body }) => sum + body.length, 0);
    expect(bytes()).toBeLessThanOrEqual(10_000_000);
    expect(bytes()).toBeGreaterThan(8_000_000);
    later(MINUTE);
    await sendAll(o, 60);
    expect(sequences(stream.host)).toEqual(range(1, await head(o)));
  });

  it('audit retention: a stream holds nothing back, and what left meanwhile is told', async () => {
    const o = await newOrg();
    await append(o, 10);
    const stream = await newStream(o, 'https', { from: 'beginning' });
    targets.answers[stream.host] = () => new Response('no', { status: 500 });
    await sent(o);
    await send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
    // As retention notes it, at the end of a segment.
    await inCore(o, (core) => noteCut(core, { sequence: 8, hash: '' }));
    expect(await show(o, stream.id)).toMatchObject({ position: { sequence: 0 } });
    later(MINUTE);
    await sendFor(o, stream.id);
    const told = (await events(o, 'LOG_STREAM_CHANGED')).filter(
      (event: { data: object }) => 'missing' in event.data,
    );
    expect(told).toMatchObject([{ data: { missing: { from: 1, to: 8 } } }]);
    expect((await show(o, stream.id)).position.sequence).toBe(8);
  });
});

describe('log streams: makers', () => {
  /** After what ends its maker, a stream sends nothing until somebody who may takes it over. */
  async function stops(o: Caller, stream: { id: string; host: string }): Promise<void> {
    const before = targets.got.length;
    await o.get('/secrets');
    await sent(o);
    await sendFor(o, stream.id);
    expect(targets.got.length).toBe(before);
    expect(await show(o, stream.id)).toMatchObject({
      enabled: true,
      status: 'disabled',
      disabled_reason: 'maker',
    });
    expect(await events(o, 'LOG_STREAM_DISABLED')).toMatchObject([
      { data: { log_stream_id: stream.id, reason: 'maker' } },
    ]);
    const taken = await o.patch(`/log-streams/${stream.id}`, { enabled: true });
    expect(taken.json).toMatchObject({ status: 'active', disabled_reason: null });
    await sent(o);
    const all = sequences(stream.host);
    expect(all).toEqual(range(all[0] as number, await head(o)));
  }

  for (const [what, end] of [
    ['is revoked', (o: Caller, id: string) => o.del(`/api-keys/${id}`)],
    ['is contained', (o: Caller, id: string) => contain(o, id)],
  ] as const)
    it(`log stream: it stops once the API key that made it ${what}`, async () => {
      const o = await newOrg();
      const key = await newKey(o, { name: 'siem', scopes: [...both, 'secrets:list'] });
      const stream = await newStream(key.o);
      await sent(o);
      const ended = await end(o, key.id);
      expect([what, ended.status < 300]).toEqual([what, true]);
      await stops(o, stream);
    });

  for (const [what, end] of [
    [
      'is removed',
      async (o: Caller, member: string) => expect((await o.del(`/members/${member}`)).status).toBe(200),
    ],
    [
      'may do less',
      async (o: Caller, member: string) =>
        expect((await o.patch(`/members/${member}`, { role: 'viewer' })).status).toBe(200),
    ],
    [
      'is suspended',
      (o: Caller, member: string) =>
        inCore(o, (core) => {
          const row = core.rows.get('member', member);
          if (row) core.rows.put('member', { ...row, suspended_at: 1 });
        }),
    ],
    [
      'is ended by a panic',
      async (o: Caller) => expect((await o.post('/panic', { reason: 'x' })).status).toBe(200),
    ],
  ] as const)
    it(`log stream: it stops once the member who made it ${what}`, async () => {
      const o = await newOrg();
      const browser = await signIn(o, 'admin');
      const stream = await newStream(browser.o);
      await sent(o);
      await end(o, browser.member.id);
      await stops(o, stream);
    });

  it('panic: recent log streams are listed', async () => {
    const o = await newOrg();
    const { id } = await newStream(o);
    const { recent } = (await o.post('/panic', { reason: 'x' })).json;
    expect(recent.log_streams).toMatchObject([{ id, name: 'To https', kind: 'https' }]);
  });

  it('log stream: no request begins after the reply to what ends its maker', async () => {
    const o = await newOrg();
    const key = await newKey(o, { name: 'siem', scopes: both });
    const stream = await newStream(key.o);
    let ended: Promise<number> | null = null;
    targets.lookedUp = async () => {
      ended ??= o.del(`/api-keys/${key.id}`).then(() => targets.got.length);
      await new Promise((done) => setTimeout(done, 800));
    };
    later(5000);
    await sendFor(o, stream.id);
    expect(await ended).toBe(targets.got.length);
  });

  slow('log stream: a request that waited too long to begin is not sent', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.lookedUp = () => new Promise((done) => setTimeout(done, 2500));
    later(5000);
    await sendFor(o, stream.id);
    expect(targets.got).toHaveLength(0);
    expect(await show(o, stream.id)).toMatchObject({ status: 'active', last_error: null });
    targets.lookedUp = async () => {};
    await sent(o);
    expect(sequences(stream.host).at(-1)).toBe(await head(o));
  });

  it('log stream: nothing is sent for a deleted organisation', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    await inCore(o, (core) => {
      const row = core.rows.get('org', o.id);
      if (row) core.rows.put('org', { ...row, deleted_at: 1 });
    });
    later(5000);
    await sendFor(o, stream.id).catch(() => {});
    expect(targets.got).toHaveLength(0);
  });

  slow('log stream: no value of a secret goes out', async () => {
    const o = await newOrg();
    await newStream(o, 'https', { from: 'beginning' });
    await o.post('/secrets', { name: 'A', value: 'hunter2-value', environment: 'development' });
    const { o: other, token } = await newKey(o, { name: 'k', scopes: ['secrets:read'] });
    await other.get('/secrets/A?environment=development');
    await sent(o);
    const bodies = targets.got.map(({ body }) => body).join('');
    expect(bodies).not.toContain('hunter2-value');
    expect(bodies).not.toContain(token);
    expect(statusOrCode(await o.get('/log-streams'))).toBe(200);
  });
});
