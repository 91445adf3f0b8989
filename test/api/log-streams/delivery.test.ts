// Log streams: what each kind of target gets, in which order, and how failures are repeated.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fromBase64, toBase64, utf8 } from '../../../src/crypto/bytes';
import { hmac, hmacHex } from '../../../src/crypto/digest';
import { gunzip, gzip } from '../../../src/crypto/gzip';
import { chainFrom } from '../../../src/domains/audit/check-chain';
import { states } from '../../../src/domains/log-streams/gate/states';
import { genesis } from '../../../src/gate/audit/chain';
import type { Entry } from '../../../src/gate/audit/entry';
import { faults } from '../../support/faults';
import { evict, inCore, loseStorage } from '../../support/gate';
import { append, rowsOf, verify } from '../../support/governance/audit';
import {
  askedFor,
  type Kind,
  newStream,
  sendAll,
  sendFor,
  useTargets,
} from '../../support/integrations/log-streams';
import { slow } from '../../support/slow';
import { DAY, MINUTE } from '../../support/time';
import { BOOTSTRAP, type Caller, db, newOrg, send, useWorld } from '../../support/world';

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
const archive = (o: Caller) => send('POST', `/api/v1/orgs/${o.id}/audit-log/archive`, { token: BOOTSTRAP });
const rejects =
  (status: number, headers = {}) =>
  () =>
    new Response('no', { status, headers });

/** Whether these entries are a whole chain from the first one on. */
function isChain(o: Caller, entries: Entry[]): boolean {
  const [first] = entries as [Entry];
  const chain = chainFrom(o.id, { from: first.sequence, hash: first.prev_hash }, []);
  return entries.every((entry) => chain.take(entry));
}

describe('log streams: formats', () => {
  for (const kind of ['splunk', 'datadog', 's3', 'otlp', 'https'] as Kind[])
    it(`log stream: ${kind} gets every entry once, in order, exactly as the log shows it`, async () => {
      const o = await newOrg();
      const { host } = await newStream(o, kind, { from: 'beginning' });
      await o.get('/secrets');
      later(5000);
      await sendAll(o);
      const entries = targets.entries[host] as Entry[];
      const { data } = (await o.get('/audit-log?limit=100')).json as { data: Entry[] };
      expect(entries).toEqual(data.reverse().slice(0, entries.length));
      expect(sequences(host)).toEqual(range(1, entries.length));
      expect(entries[0]?.prev_hash).toBe(genesis(o.id));
      expect(isChain(o, entries)).toBe(true);
      expect(targets.got.every(({ redirect }) => redirect === 'manual')).toBe(true);
    });

  it('log stream: the object of a bucket is named by its first and last entry', async () => {
    const o = await newOrg();
    await newStream(o, 's3', { from: 1 });
    const last = await head(o);
    later(5000);
    await sendAll(o);
    const [{ url }] = targets.got as [(typeof targets.got)[0]];
    const digits = (n: number) => String(n).padStart(12, '0');
    expect(url.pathname).toBe(`/audit-log/svc/acme/${digits(1)}-${digits(last)}.ndjson`);
  });

  it('log stream: https is signed as webhooks are, and sends the headers of the config', async () => {
    const o = await newOrg();
    const stream = await newStream(o, 'https');
    later(5000);
    await sendAll(o);
    const [{ headers, body }] = targets.got as [(typeof targets.got)[0]];
    const secret = stream.secret as string;
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const key = Uint8Array.from(atob(secret.slice(6)), (char) => char.charCodeAt(0));
    expect(headers['webhook-signature']).toBe(`v1,${toBase64(hmac(key, utf8(signed)))}`);
    expect(headers['x-svc-signature']).toBe(hmacHex(utf8(secret), utf8(body)));
    expect(headers['x-tenant']).toBe('acme');
    expect(headers['webhook-id']).toMatch(new RegExp(`^${stream.id}\\.\\d+-\\d+$`));
  });

  it('log stream: ocsf events have the class of what they tell, and the entry as raw data', async () => {
    const o = await newOrg();
    const { host } = await newStream(o, 'https', { format: 'ocsf', from: 'beginning' });
    await append(o, 1, () => ({ action: 'auth.login' }));
    later(5000);
    await sendAll(o);
    const events = targets.entries[host] as unknown as {
      class_uid: number;
      type_uid: number;
      raw_data: string;
      metadata: { uid: string; sequence: number };
    }[];
    for (const { raw_data, metadata, class_uid, type_uid } of events) {
      const entry = JSON.parse(raw_data) as Entry;
      expect([metadata.uid, metadata.sequence]).toEqual([entry.id, entry.sequence]);
      expect(class_uid).toBe(entry.action === 'auth.login' ? 3002 : 6003);
      expect(Math.floor(type_uid / 100)).toBe(class_uid);
    }
    expect(
      isChain(
        o,
        events.map(({ raw_data }) => JSON.parse(raw_data)),
      ),
    ).toBe(true);
  });
});

describe('log streams: order and batches', () => {
  slow('log stream: many entries arrive in batches of 500 and 1 MiB at most', async () => {
    const o = await newOrg();
    const { host } = await newStream(o);
    await append(o, 1200);
    await append(o, 40, () => ({ reason: 'x'.repeat(60_000) }));
    later(5000);
    await sendAll(o, 60);
    const sent = sequences(host);
    expect(sent).toEqual(range(sent[0] as number, await head(o)));
    for (const { body } of targets.got) {
      expect(utf8(body).length).toBeLessThanOrEqual(1_048_576);
      expect(body.trimEnd().split('\n').length).toBeLessThanOrEqual(500);
    }
  });

  it('log stream: the size of a batch includes what a format adds', async () => {
    const o = await newOrg();
    const { host } = await newStream(o, 'datadog');
    await append(o, 40, () => ({ reason: '"'.repeat(30_000) }));
    later(5000);
    await sendAll(o, 60);
    expect(sequences(host)).toHaveLength(41);
    for (const { body } of targets.got) expect(utf8(body).length).toBeLessThanOrEqual(1_048_576);
  });

  slow('log stream: entries that have moved to D1 are read there, and the rest in the gate', async () => {
    const o = await newOrg();
    await append(o, 1500);
    await archive(o);
    await append(o, 30);
    const { host } = await newStream(o, 'https', { from: 'beginning' });
    later(5000);
    await sendAll(o, 60);
    expect(sequences(host)).toEqual(range(1, await head(o)));
    expect(isChain(o, targets.entries[host] as Entry[])).toBe(true);
  });

  it('log stream: sending writes no audit entries', async () => {
    const o = await newOrg();
    await newStream(o);
    const before = await head(o);
    for (let turn = 0; turn < 3; turn++) {
      later(MINUTE);
      await sendAll(o);
    }
    expect(await head(o)).toBe(before);
  });

  it('log stream: a new stream begins with its own entry', async () => {
    const o = await newOrg();
    const { host } = await newStream(o);
    later(5000);
    await sendAll(o);
    expect(targets.entries[host]?.[0]?.action).toBe('log_stream.create');
  });

  it('log stream: a sequence ahead of the log is refused', async () => {
    const o = await newOrg();
    const config = { url: 'https://https-x.example.com' };
    const next = (await head(o)) + 1;
    const ahead = await o.post('/log-streams', { name: 'a', kind: 'https', config, from: next + 100 });
    expect([ahead.status, ahead.json.error.details[0].path]).toEqual([400, 'from']);
  });
});

describe('log streams: failures', () => {
  slow('log stream: a batch is sent again until it is taken, as it was, and nothing is skipped', async () => {
    const o = await newOrg();
    const stream = await newStream(o, 's3');
    let left = 3;
    targets.answers[stream.host] = () =>
      left-- > 0 ? new Response('busy', { status: 503 }) : new Response(null);
    later(5000);
    await sendAll(o);
    const first = targets.got[0]?.url.pathname;
    expect(await show(o, stream.id)).toMatchObject({
      status: 'failing',
      position: { sequence: expect.any(Number) },
      last_error: { status: 503, message: 'The target refused the entries.' },
    });
    for (const wait of [6000, 6 * MINUTE, 36 * MINUTE]) {
      await append(o, 3);
      later(wait);
      await sendAll(o);
    }
    const paths = targets.got.map(({ url }) => url.pathname);
    expect(paths.slice(0, 4)).toEqual([first, first, first, first]);
    expect(sequences(stream.host)).toEqual(range(sequences(stream.host)[0] as number, await head(o)));
    expect(await show(o, stream.id)).toMatchObject({ status: 'active', last_error: null });
  });

  for (const [what, kind, answer] of [
    [
      'a Splunk code other than 0',
      'splunk',
      () => Response.json({ text: 'Server is busy', code: 9 }, { headers: { 'x-not-taken': '1' } }),
    ],
    [
      'an answer of Splunk that is no JSON',
      'splunk',
      () => new Response('ok', { headers: { 'x-not-taken': '1' } }),
    ],
    [
      'OTLP records that were refused',
      'otlp',
      () =>
        Response.json({ partialSuccess: { rejectedLogRecords: '2' } }, { headers: { 'x-not-taken': '1' } }),
    ],
    [
      'a redirect',
      'https',
      () => new Response(null, { status: 307, headers: { Location: 'http://169.254.169.254/' } }),
    ],
  ] as [string, Kind, () => Response][])
    it(`log stream: ${what} does not count as taken`, async () => {
      const o = await newOrg();
      const stream = await newStream(o, kind);
      const { position } = await show(o, stream.id);
      targets.answers[stream.host] = answer;
      later(5000);
      await sendAll(o);
      const after = await show(o, stream.id);
      expect([after.status, after.position]).toEqual(['failing', position]);
      expect(targets.got.every(({ url }) => url.host === stream.host)).toBe(true);
    });

  slow('log stream: 410 disables it, with an event and an entry', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.answers[stream.host] = rejects(410);
    later(5000);
    await sendAll(o);
    expect(await show(o, stream.id)).toMatchObject({
      enabled: false,
      status: 'disabled',
      disabled_reason: 'gone',
    });
    const { data } = (await o.get('/events?types=LOG_STREAM_DISABLED')).json;
    expect(data).toMatchObject([{ data: { log_stream_id: stream.id, reason: 'gone' } }]);
    expect((await o.get('/audit-log?action=log_stream.disable')).json.data).toHaveLength(1);
    const count = targets.got.length;
    later(DAY);
    await sendAll(o);
    expect(targets.got).toHaveLength(count);
    delete targets.answers[stream.host];
    expect((await o.patch(`/log-streams/${stream.id}`, { enabled: true })).json).toMatchObject({
      status: 'active',
    });
    later(5000);
    await sendAll(o);
    expect(sequences(stream.host)).toEqual(range(sequences(stream.host)[0] as number, await head(o)));
  });

  it('log stream: a test that its target takes has a failed batch sent at once', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.answers[stream.host] = rejects(403);
    for (const wait of [5000, 5000, 5 * MINUTE]) {
      later(wait);
      await sendAll(o);
    }
    const { position } = await show(o, stream.id);
    later(1000);
    expect((await o.post(`/log-streams/${stream.id}/test`)).status).toBe(502);
    await sendAll(o);
    expect((await show(o, stream.id)).position).toEqual(position);
    delete targets.answers[stream.host];
    expect((await o.post(`/log-streams/${stream.id}/test`)).status).toBe(200);
    await sendAll(o);
    expect(await show(o, stream.id)).toMatchObject({ status: 'active' });
    expect((await show(o, stream.id)).position.sequence).toBeGreaterThan(position.sequence);
  });

  it('log stream: five days of failures disable it, and not less', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.answers[stream.host] = rejects(500);
    later(5000);
    await sendAll(o);
    for (let hours = 0; hours < 116; hours += 4) {
      later(4 * 60 * MINUTE);
      await sendAll(o);
    }
    expect((await show(o, stream.id)).status).toBe('failing');
    for (let hours = 0; hours < 24; hours += 6) {
      later(6 * 60 * MINUTE);
      await sendAll(o);
    }
    expect(await show(o, stream.id)).toMatchObject({ status: 'disabled', disabled_reason: 'failing' });
  });

  it('log stream: no part of an answer is kept or shown', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.answers[stream.host] = () =>
      new Response('<secret-of-the-target>'.repeat(100_000), { status: 500 });
    later(5000);
    await sendAll(o);
    expect((await o.get(`/log-streams/${stream.id}`)).text).not.toContain('secret-of-the-target');
    const dump = await inCore(o, ({ storage }) =>
      JSON.stringify(storage.sql.exec('select * from log_stream_states').toArray()),
    );
    expect(dump).not.toContain('secret-of-the-target');
  });
});

describe('log streams: what is cut off', () => {
  it('log stream: a job that ends before its report is repeated once its lease has ended', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.answers[stream.host] = () => {
      // The gate cannot be asked any more.
      faults.rpc = () => ({ fate: 'before', retryable: false });
      return new Response('ok');
    };
    later(5000);
    for (const id of await askedFor(o)) await sendFor(o, id).catch(() => {});
    faults.rpc = null;
    delete targets.answers[stream.host];
    expect(sequences(stream.host).length).toBeGreaterThan(0);
    const first = [...sequences(stream.host)];
    // One batch at a time: another job sends nothing meanwhile.
    await sendFor(o, stream.id);
    expect(sequences(stream.host)).toEqual(first);
    await evict(o);
    later(2 * MINUTE);
    await sendAll(o);
    const all = sequences(stream.host);
    expect(all.slice(0, first.length)).toEqual(first);
    expect(all.slice(first.length)).toEqual(range(first[0] as number, await head(o)));
  });

  it('log stream: the failure of an earlier batch says nothing of a later one', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    let isFirst = true;
    targets.answers[stream.host] = async () => {
      if (!isFirst) return new Response('ok');
      isFirst = false;
      // Its lease ends, and another job sends the batch.
      later(2 * MINUTE);
      await sendFor(o, stream.id);
      return new Response('late', { status: 500 });
    };
    later(5000);
    for (const id of await askedFor(o)) await sendFor(o, id);
    expect(sequences(stream.host)).toEqual([await head(o)]);
    expect(await show(o, stream.id)).toMatchObject({ status: 'active', last_error: null });
  });

  it('log stream: a seek of a failing stream is tried at once, and not only when its wait ends', async () => {
    const o = await newOrg();
    const stream = await newStream(o);
    targets.answers[stream.host] = rejects(500);
    for (let attempt = 0; attempt < 3; attempt++) {
      later(5000);
      await sendAll(o);
    }
    delete targets.answers[stream.host];
    later(1000);
    expect(await askedFor(o)).toEqual([]);
    const { position } = await show(o, stream.id);
    expect((await o.post(`/log-streams/${stream.id}/seek`, { sequence: position.sequence })).status).toBe(
      200,
    );
    expect((await show(o, stream.id)).status).toBe('failing');
    await sendAll(o);
    expect(sequences(stream.host).at(-1)).toBe(await head(o));
    expect((await show(o, stream.id)).status).toBe('active');
  });

  it('log stream: a seek during a batch outlasts it', async () => {
    const o = await newOrg();
    await append(o, 10);
    const stream = await newStream(o, 'https', { from: 'beginning' });
    let isFirst = true;
    targets.answers[stream.host] = async () => {
      if (isFirst) {
        isFirst = false;
        await inCore(o, (core) => states(core).set(stream.id, { position: 2, hash: null, batch_to: null }));
      }
      return new Response('ok');
    };
    later(5000);
    for (const id of await askedFor(o)) await sendFor(o, id);
    delete targets.answers[stream.host];
    later(5000);
    await sendAll(o);
    expect(sequences(stream.host).filter((one) => one === 3)).toHaveLength(2);
    expect(sequences(stream.host).at(-1)).toBe(await head(o));
  });

  slow('log stream: a gate that lost its storage continues from the position in D1', async () => {
    const o = await newOrg();
    const stream = await newStream(o, 'https', { from: 'beginning' });
    await append(o, 50);
    later(5000);
    await sendAll(o);
    await archive(o);
    later(2 * MINUTE);
    await sendAll(o);
    const sent = Math.max(...sequences(stream.host));
    await append(o, 20);
    await archive(o);
    await loseStorage(o);
    await o.get('/secrets');
    later(5000);
    await sendAll(o, 60);
    const all = sequences(stream.host);
    const { missing } = await verify(o);
    expect(missing).toHaveLength(1);
    const [lost] = missing as [{ from: number; to: number }];
    const kept = range(1, await head(o)).filter((one) => one < lost.from || one > lost.to);
    expect([...new Set(all)].sort((a, b) => a - b).slice(0, kept.length)).toEqual(
      kept.slice(0, new Set(all).size),
    );
    expect(new Set(all).size).toBeGreaterThan(sent);
    // From the stored position on, not from the beginning.
    expect(all.filter((one) => one === 1)).toHaveLength(1);
    expect((targets.entries[stream.host] as Entry[]).some((entry) => entry.missing)).toBe(true);
  });

  it('log stream: a position that was altered in D1 does not count', async () => {
    const o = await newOrg();
    const stream = await newStream(o, 'https', { from: 'beginning' });
    later(5000);
    await sendAll(o);
    later(2 * MINUTE);
    await sendAll(o);
    await archive(o);
    await db.prepare('update log_stream_positions set sequence = 1000000 where org_id = ?').bind(o.id).run();
    await loseStorage(o);
    await o.get('/secrets');
    later(5000);
    await sendAll(o, 60);
    // All is sent again, rather than nothing.
    expect(sequences(stream.host).filter((one) => one === 1)).toHaveLength(2);
  });

  it('log stream: an entry that was altered in D1 is not sent, nor are those after it', async () => {
    const o = await newOrg();
    await append(o, 20);
    await archive(o);
    const [segment] = await rowsOf<{ first_sequence: number; entries: string }>('audit_segments', o);
    const text = new TextDecoder().decode(await gunzip(fromBase64(segment?.entries ?? '') as Uint8Array));
    const entries = JSON.parse(text) as Entry[];
    (entries[9] as Entry).action = 'secret.list';
    (entries[9] as Entry).reason = 'forged';
    const altered = toBase64(await gzip(utf8(JSON.stringify(entries))));
    await db.prepare('update audit_segments set entries = ? where org_id = ?').bind(altered, o.id).run();
    const stream = await newStream(o, 'https', { from: 'beginning' });
    for (let turn = 0; turn < 3; turn++) {
      later(MINUTE);
      await sendAll(o);
    }
    expect(sequences(stream.host)).toEqual(range(1, 9));
    expect(await show(o, stream.id)).toMatchObject({ status: 'failing', position: { sequence: 9 } });
  });

  it('log stream: a segment that was altered in D1 is not sent, and not passed over', async () => {
    const o = await newOrg();
    await append(o, 20);
    await archive(o);
    await db.prepare('delete from audit_segments where org_id = ?').bind(o.id).run();
    const stream = await newStream(o, 'https', { from: 'beginning' });
    later(5000);
    await sendAll(o);
    expect(targets.got).toHaveLength(0);
    expect(await show(o, stream.id)).toMatchObject({
      status: 'failing',
      position: { sequence: 0 },
      last_error: { status: null, message: expect.stringContaining('verify the log') },
    });
  });
});
