// Domains: how they are added, proved by DNS, checked and deleted; and whose one is when two want it.
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/env';
import { mirror } from '../../../src/gate/journal/mirror';
import { runJob } from '../../../src/queue';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore, loseStorage, runTasksLater } from '../../support/gate';
import { asMember, ownerId } from '../../support/people';
import { type Answered, answerNames, newResolver, type Resolver } from '../../support/signin/dns';
import { slow } from '../../support/slow';
import { BOOTSTRAP, type Caller, codeOf, newOrg, send, useWorld } from '../../support/world';

useWorld();

let resolver: Resolver;
beforeEach(() => {
  resolver = newResolver();
  answerNames(resolver);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  faults.variables = {};
  faults.isolate++;
});

let named = 0;
const newName = () => `d${++named}.example.com`;
const DAY = 86_400_000;

interface Domain {
  id: string;
  revision: number;
  domain: string;
  status: string;
  record: { type: string; name: string; value: string };
  verified_at: string | null;
  missing_since: string | null;
}

async function added(o: Caller, domain = newName()): Promise<Domain> {
  const { status, json, text } = await o.post('/domains', { domain });
  if (status !== 201) throw new Error(text);
  return json;
}
const verify = (o: Caller, { id }: { id: string }) => o.post(`/domains/${id}/verify`);
const shown = async (o: Caller, { id }: { id: string }): Promise<Domain> =>
  (await o.get(`/domains/${id}`)).json;

/** Puts the record of a domain into DNS. */
function publish({ record }: Domain): void {
  resolver.records.push({ name: record.name, type: 'TXT', data: record.value });
}

async function proved(o: Caller, domain = newName()): Promise<Domain> {
  const one = await added(o, domain);
  publish(one);
  const { status, text } = await verify(o, one);
  if (status !== 200) throw new Error(text);
  return one;
}

const NOT_VERIFIED = [409, 'DOMAIN_NOT_VERIFIED'];
const entries = async (o: Caller, action: string) =>
  (await o.get(`/audit-log?action=${action}`)).json.data.map(
    ({ resource, status, actor }: { resource: string; status: number; actor: { kind: string } }) => [
      resource,
      status,
      actor.kind,
    ],
  );
const follow = (o: Caller) => inCore(o, (core) => mirror(core).follow());
const objectOf = (domain: string) => (env as unknown as Env).DOMAIN_OWNER.getByName(domain);
const check = (o: Caller) => runJob(env as unknown as Env, { kind: 'job', job: 'domains', org: o.id });

/** Asks a gate as if it were later. */
async function checkLater(o: Caller, ms: number): Promise<void> {
  await inCore(o, (core) => {
    core.now = () => Date.now() + ms;
  });
  await check(o);
  await inCore(o, (core) => {
    core.now = () => Date.now();
  });
}

describe('domains', () => {
  slow('domain: is pending until its record is found, and is shown, listed and deleted', async () => {
    const o = await newOrg();
    const name = newName();
    const one = await added(o, `${name.toUpperCase()}.`);
    expect(one).toMatchObject({ domain: name, status: 'pending', verified_at: null });
    expect(one.record).toMatchObject({ type: 'TXT', name: `_secrets-vault.${name}` });
    expect(one.record.value).toContain(o.id);
    expect(codeOf(await verify(o, one))).toEqual(NOT_VERIFIED);
    publish(one);
    const { status, json, headers } = await verify(o, one);
    expect([status, json.status, headers.get('etag')]).toEqual([200, 'verified', '"r2"']);
    expect(await shown(o, one)).toEqual(json);
    expect((await o.get('/domains')).json.data).toEqual([json]);
    expect(resolver.asked).toEqual([one.record.name, one.record.name]);
    expect((await o.del(`/domains/${one.id}`, undefined, { 'If-Match': '"r1"' })).status).toBe(412);
    expect((await o.del(`/domains/${one.id}`)).status).toBe(204);
    expect((await o.get(`/domains/${one.id}`)).status).toBe(404);
    expect(codeOf(await verify(o, one))).toEqual([404, 'NOT_FOUND']);
    expect(await entries(o, 'domain.verify')).toEqual([
      [one.id, 404, 'api_key'],
      [one.id, 200, 'api_key'],
      [one.id, 409, 'api_key'],
    ]);
  });

  slow('domain: the same one twice is a conflict, in any spelling', async () => {
    const o = await newOrg();
    const { domain } = await added(o);
    for (const again of [domain, domain.toUpperCase(), `${domain}.`])
      expect(codeOf(await o.post('/domains', { domain: again }))).toEqual([409, 'CONFLICT']);
    // Another organisation is told nothing.
    expect((await (await newOrg()).post('/domains', { domain })).status).toBe(201);
  });

  it.each([
    'localhost',
    'com',
    'com.',
    '',
    '.',
    '*.example.com',
    'ann@example.com',
    'https://example.com',
    'example.com/path',
    'example.com:443',
    '127.0.0.1',
    '0x7f.1',
    '1.2.3',
    '[::1]',
    '::1',
    'exa mple.com',
    'example..com',
    'example.com..',
    '-a.example.com',
    'a_b.example.com',
    'bücher.example',
    `${'a'.repeat(64)}.example.com`,
    `${'a.'.repeat(120)}com`,
    'example.com\u0000',
    'example.com\n',
  ])('domain: %j is none', async (domain) => {
    const o = await newOrg();
    expect(codeOf(await o.post('/domains', { domain }))).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('domain: Punycode is one', async () => {
    const o = await newOrg();
    expect((await added(o, 'XN--BCHER-KVA.example')).domain).toBe('xn--bcher-kva.example');
  });

  slow('domain: a credential with limits or without the scope changes none', async () => {
    const o = await newOrg();
    const one = await added(o);
    const limited = await newKey(o, { scopes: ['sso:*'], environments: ['development'] });
    const reading = await newKey(o, { scopes: ['sso:read'] });
    const other = await newOrg();
    publish(one);
    for (const path of ['/domains', `/domains/${one.id}/verify`]) {
      const body = path === '/domains' ? { domain: newName() } : undefined;
      expect(codeOf(await limited.o.post(path, body))).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect(codeOf(await reading.o.post(path, body))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    }
    expect(codeOf(await reading.o.del(`/domains/${one.id}`))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await reading.o.get('/domains')).json.data).toHaveLength(1);
    expect(codeOf(await verify(other, one))).toEqual([404, 'NOT_FOUND']);
    expect(resolver.asked).toEqual([]);
  });
});

describe('record', () => {
  const forms = ['wire', 'json'] as const;

  it.each(forms)('record: split into strings it counts, in the %s form', async (form) => {
    const o = await newOrg();
    const one = await added(o);
    resolver.form = form;
    const { name, value } = one.record;
    resolver.records = [
      { name, type: 'TXT', data: 'v=spf1 -all' },
      { name: name.toUpperCase(), type: 'TXT', data: [value.slice(0, 7), value.slice(7, 8), value.slice(8)] },
    ];
    expect((await verify(o, one)).status).toBe(200);
  });

  slow('record: unquoted and escaped data of the JSON form counts', async () => {
    const o = await newOrg();
    for (const spelled of [
      (value: string) => value,
      (value: string) => `"${value.replace('=', '\\=').replace('/', '\\047')}"`,
    ]) {
      const one = await added(o);
      resolver.form = 'json';
      const { name, value } = one.record;
      resolver.records = [{ name, type: 'TXT', data: '', text: spelled(value) }];
      expect((await verify(o, one)).status).toBe(200);
    }
  });

  const wrong: [string, (record: Domain['record'], of: string) => Partial<Resolver>][] = [
    ['no record', () => ({})],
    ['a name that does not exist', () => ({ rcode: 'NXDOMAIN' })],
    ['a record despite NXDOMAIN', (r) => ({ rcode: 'NXDOMAIN', records: [txt(r.name, r.value)] })],
    ['a failing resolver', (r) => ({ rcode: 'SERVFAIL', records: [txt(r.name, r.value)] })],
    ['a truncated answer', (r) => ({ truncated: true, records: [txt(r.name, r.value)] })],
    ['a record of another name', (r, of) => ({ records: [txt(of, r.value)] })],
    ['a record below the name', (r) => ({ records: [txt(`a.${r.name}`, r.value)] })],
    [
      'an alias',
      (r) => ({
        records: [
          { name: r.name, type: 'CNAME', data: 'host.elsewhere.net' },
          txt('host.elsewhere.net', r.value),
        ],
      }),
    ],
    ['another type', (r) => ({ records: [{ name: r.name, type: 'CNAME', data: `${r.value}.net` }] })],
    ['more after the value', (r) => ({ records: [txt(r.name, `${r.value} `)] })],
    ['more before the value', (r) => ({ records: [txt(r.name, ` ${r.value}`)] })],
    ['another case', (r) => ({ records: [txt(r.name, r.value.toUpperCase())] })],
    [
      'the value over two records',
      (r) => ({ records: [txt(r.name, r.value.slice(0, 9)), txt(r.name, r.value.slice(9))] }),
    ],
    [
      'no message',
      () => ({ broken: () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } }) }),
    ],
    [
      'a cut-off message',
      () => ({
        broken: () =>
          new Response(new Uint8Array(9), { headers: { 'Content-Type': 'application/dns-message' } }),
      }),
    ],
    [
      'a redirect',
      () => ({
        broken: () => new Response('', { status: 302, headers: { Location: 'https://evil.example.net' } }),
      }),
    ],
    ['no connection', () => ({ broken: () => Promise.reject(new Error('refused')) })],
  ];
  const txt = (name: string, data: string): Answered => ({ name, type: 'TXT', data });

  for (const form of forms)
    it.each(wrong)(`record: %s proves nothing, in the ${form} form`, async (_, answer) => {
      const o = await newOrg();
      const one = await added(o);
      Object.assign(resolver, { form, ...answer(one.record, one.domain) });
      expect(codeOf(await verify(o, one))).toEqual(NOT_VERIFIED);
      expect((await shown(o, one)).status).toBe('pending');
    });

  slow('record: that of another organisation, or of another domain, proves nothing', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const one = await added(o);
    const theirs = await added(other, one.domain);
    const sibling = await added(o);
    resolver.records = [
      txt(one.record.name, theirs.record.value),
      txt(one.record.name, sibling.record.value),
    ];
    expect(codeOf(await verify(o, one))).toEqual(NOT_VERIFIED);
  });

  slow('record: a resolver that never answers is not waited for beyond ten seconds', async () => {
    const o = await newOrg();
    const one = await added(o);
    const real = AbortSignal.timeout.bind(AbortSignal);
    const waits: number[] = [];
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      waits.push(ms);
      return real(Math.min(ms, 50));
    });
    vi.stubGlobal(
      'fetch',
      (_: string, { signal }: RequestInit) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    );
    expect(codeOf(await verify(o, one))).toEqual(NOT_VERIFIED);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
  });

  it('record: DNS_OVER_HTTPS_URL names another resolver, https but on a loopback deployment', async () => {
    const o = await newOrg();
    const one = await added(o);
    const asked: string[] = [];
    answerNames(resolver, (url) => {
      asked.push(url.href);
      return new Response('', { status: 400 });
    });
    faults.variables = { DNS_OVER_HTTPS_URL: 'https://dns.example.net/dns-query', PUBLIC_URL: '' };
    faults.isolate++;
    expect(codeOf(await verify(o, one))).toEqual(NOT_VERIFIED);
    expect(asked.map((url) => url.replace(/dns=.*/, 'dns='))).toEqual([
      'https://dns.example.net/dns-query?dns=',
      `https://dns.example.net/dns-query?name=${one.record.name}&type=TXT`,
    ]);
    for (const [url, origin, works] of [
      ['http://127.0.0.1:8053/dns', 'http://127.0.0.1:8787', true],
      ['http://127.0.0.1:8053/dns', '', false],
      ['http://127.0.0.1:8053/dns', 'https://vault.example.com', false],
      ['https://10.0.0.1/dns', 'https://vault.example.com', false],
      ['nonsense', '', false],
    ] as const) {
      faults.variables = { DNS_OVER_HTTPS_URL: url, PUBLIC_URL: origin };
      faults.isolate++;
      expect([url, origin, (await o.get('/domains')).status === 200]).toEqual([url, origin, works]);
    }
  });
});

describe('owner', () => {
  it('owner: a domain is verified for one organisation at a time, until it deletes it', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const one = await proved(o);
    const theirs = await added(other, one.domain);
    expect(codeOf(await verify(other, theirs))).toEqual(NOT_VERIFIED);
    publish(theirs);
    expect(codeOf(await verify(other, theirs))).toEqual([409, 'CONFLICT']);
    expect((await shown(other, theirs)).status).toBe('pending');
    expect((await verify(o, one)).status).toBe(200);
    expect((await o.del(`/domains/${one.id}`)).status).toBe(204);
    expect((await verify(other, theirs)).status).toBe(200);
    const again = await added(o, one.domain);
    publish(again);
    expect(codeOf(await verify(o, again))).toEqual([409, 'CONFLICT']);
  });

  slow('owner: one of two organisations that verify at once gets the domain', async () => {
    for (let round = 0; round < 5; round++) {
      const orgs = [await newOrg(), await newOrg(), await newOrg()];
      const domain = newName();
      const ones = await Promise.all(orgs.map((o) => added(o, domain)));
      for (const one of ones) publish(one);
      const answers = await Promise.all(orgs.map((o, at) => verify(o, ones[at] as Domain)));
      const verified = await Promise.all(orgs.map((o, at) => shown(o, ones[at] as Domain)));
      expect(verified.filter(({ status }) => status === 'verified').length).toBeLessThanOrEqual(1);
      for (const [at, { status }] of answers.entries())
        expect(status === 200).toBe(verified[at]?.status === 'verified');
      // Whoever repeats it gets it, if nobody has.
      const last = await verify(orgs[0] as Caller, ones[0] as Domain);
      expect([200, 409]).toContain(last.status);
    }
  });

  slow('owner: an organisation that is deleted leaves its domain free', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const one = await proved(o);
    const { name } = (await o.get('')).json;
    expect((await o.call('DELETE', '', { confirm: name })).status).toBe(204);
    const theirs = await added(other, one.domain);
    publish(theirs);
    expect((await verify(other, theirs)).status).toBe(200);
  });

  it('owner: a claim cut off before the row is verified keeps the domain from nobody', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const one = await added(o);
    const theirs = await added(other, one.domain);
    publish(theirs);
    // The Worker ends after the claim: the gate never hears of it.
    expect(await objectOf(one.domain).claim({ org: o.id, id: one.id }, null)).toEqual({ claimed: 1 });
    expect((await verify(other, theirs)).status).toBe(200);
    // What the claim would have verified comes late, even to a gate that has started again.
    await evict(o);
    const named = { domain: one.id };
    const late = await asMember(o, await ownerId(o), 'domain.verify', { named, input: { found: 1 } });
    expect([late.status, late.code]).toEqual([0, null]);
    expect((await shown(o, one)).status).toBe('pending');
  });

  slow('owner: a gate that is away keeps its domain', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const one = await proved(o);
    const theirs = await added(other, one.domain);
    publish(theirs);
    faults.rpc = (_, org) => (org === o.id ? { fate: 'before', retryable: false } : null);
    expect((await verify(other, theirs)).status).toBe(503);
    faults.rpc = null;
    expect((await shown(other, theirs)).status).toBe('pending');
    expect(codeOf(await verify(other, theirs))).toEqual([409, 'CONFLICT']);
  });

  it('owner: a verification whose reply was lost is repeated', async () => {
    const o = await newOrg();
    const one = await added(o);
    publish(one);
    faults.gate = 0;
    faults.rpc = (n, org) => (org === o.id && n === 2 ? { fate: 'after', retryable: false } : null);
    expect((await verify(o, one)).status).toBe(503);
    faults.rpc = null;
    expect((await verify(o, one)).json.status).toBe('verified');
  });

  it('owner: the object gives a claim up by its number alone', async () => {
    const object = objectOf(newName());
    const a = { org: 'org_a', id: 'dom_a' };
    const b = { org: 'org_b', id: 'dom_b' };
    expect(await object.owner()).toBeNull();
    expect(await object.claim(a, null)).toEqual({ claimed: 1 });
    expect(await object.claim(b, null)).toEqual({ owner: { ...a, number: 1 } });
    // Renewed meanwhile: the number that was found void is not the one in force.
    expect(await object.claim(a, null)).toEqual({ claimed: 2 });
    expect(await object.claim(b, 1)).toEqual({ owner: { ...a, number: 2 } });
    expect(await object.claim(b, 2)).toEqual({ claimed: 3 });
    expect(await object.claim(a, 2)).toEqual({ owner: { ...b, number: 3 } });
  });
});

describe('daily check', () => {
  it('daily check: a gate that begins from D1 asks for it at once, since the claims may be lost too', async () => {
    const o = await newOrg();
    const one = await proved(o);
    await follow(o);
    await runInDurableObject(objectOf(one.domain), (_, { storage }) => storage.deleteAll());
    faults.queued = [];
    await loseStorage(o);
    expect((await shown(o, one)).status).toBe('verified');
    await runTasksLater(o, 1000);
    expect(faults.queued).toContainEqual(expect.objectContaining({ job: 'domains', org: o.id }));
    await check(o);
    expect(await objectOf(one.domain).owner()).toMatchObject({ org: o.id, id: one.id });
  });

  it('daily check: an adoption asks for it', async () => {
    const o = await newOrg();
    await proved(o);
    await follow(o);
    faults.queued = [];
    const body = { reason: 'the claims of domains are lost' };
    const adopted = await send('POST', `/api/v1/orgs/${o.id}/adopt`, { token: BOOTSTRAP, body });
    expect(adopted.status).toBe(200);
    await runTasksLater(o, 1000);
    expect(faults.queued).toContainEqual(expect.objectContaining({ job: 'domains', org: o.id }));
  });

  it('daily check: is asked for once a day while a domain is verified', async () => {
    const o = await newOrg();
    const asked = () =>
      faults.queued.filter((message) => (message as { job?: string }).job === 'domains').length;
    await added(o);
    await runTasksLater(o, 2 * DAY);
    expect(asked()).toBe(0);
    await proved(o);
    await runTasksLater(o, DAY / 2);
    expect(asked()).toBe(0);
    await runTasksLater(o, DAY + 60_000);
    expect(asked()).toBe(1);
  });

  it('daily check: a record that is gone for seven days makes the domain pending', async () => {
    const o = await newOrg();
    const one = await proved(o);
    await check(o);
    expect((await shown(o, one)).missing_since).toBeNull();
    resolver.records = [];
    await check(o);
    const { missing_since, status } = await shown(o, one);
    expect([missing_since === null, status]).toEqual([false, 'verified']);
    await checkLater(o, 6 * DAY);
    expect((await shown(o, one)).status).toBe('verified');
    // A resolver that does not answer is no proof that the record is gone.
    resolver.rcode = 'SERVFAIL';
    await checkLater(o, 8 * DAY);
    expect((await shown(o, one)).status).toBe('verified');
    resolver.rcode = 'NXDOMAIN';
    await checkLater(o, 7 * DAY + 1000);
    expect(await shown(o, one)).toMatchObject({ status: 'pending', missing_since: null });
    expect((await entries(o, 'domain.check'))[0]).toEqual([one.id, 200, 'system']);
    const other = await newOrg();
    const theirs = await added(other, one.domain);
    Object.assign(resolver, { rcode: 'NOERROR' });
    publish(theirs);
    expect((await verify(other, theirs)).status).toBe(200);
  });

  slow('daily check: a record that is found again ends the count', async () => {
    const o = await newOrg();
    const one = await proved(o);
    const before = resolver.records;
    resolver.records = [];
    await check(o);
    resolver.records = before;
    await checkLater(o, 5 * DAY);
    expect((await shown(o, one)).missing_since).toBeNull();
    resolver.records = [];
    await checkLater(o, 8 * DAY);
    expect((await shown(o, one)).status).toBe('verified');
  });

  slow('daily check: a domain that another organisation has verified since is pending at once', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const one = await proved(o);
    // As after a restore of an older state of this organisation.
    const theirs = await added(other, one.domain);
    publish(theirs);
    const owner = await objectOf(one.domain).owner();
    await objectOf(one.domain).claim({ org: other.id, id: theirs.id }, owner?.number ?? null);
    expect((await verify(other, theirs)).status).toBe(200);
    await check(o);
    expect((await shown(o, one)).status).toBe('pending');
  });
});
