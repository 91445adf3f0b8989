// Notifications of events: which connections get them, bursts in one message, retries, and what is never
// sent.
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NotifyPlatform } from '../../../src/adapters/platforms';
import { MOST_TOGETHER } from '../../../src/delivery/gate/attempts';
import { deliveries } from '../../../src/delivery/gate/deliveries';
import { BETWEEN_MESSAGES, GATHERED_FOR, LEASE } from '../../../src/delivery/gate/endpoints';
import { ATTENDED } from '../../../src/delivery/gate/task';
import type { Env } from '../../../src/env';
import type { Raised } from '../../../src/gate/outbox';
import { runTasks } from '../../../src/gate/tasks/run';
import { runJob } from '../../../src/queue';
import { newBreakGlass } from '../../support/credentials';
import { faults, faulty } from '../../support/faults';
import { evict, inCore, inGate } from '../../support/gate';
import { configs, problemsOf, type Seen } from '../../support/integrations/notify';
import { newWebhook } from '../../support/integrations/webhooks';
import { newMember } from '../../support/people';
import { slow } from '../../support/slow';
import { MINUTE } from '../../support/time';
import {
  BOOTSTRAP,
  type Caller,
  db,
  GENERATED,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

const START = Date.parse('2027-01-01T00:00:00.000Z');
const later = (ms: number) => {
  faults.clock = (faults.clock ?? START) + ms;
};

let seen: (Seen & { host: string })[];
let answer: () => Response | Promise<Response>;
beforeEach(() => {
  faults.clock = START;
  seen = [];
  answer = () => new Response('ok');
  vi.stubGlobal('fetch', async (target: string, init: RequestInit) => {
    const url = new URL(target);
    if (url.hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    seen.push({
      url,
      host: url.host,
      method: 'POST',
      headers: new Headers(init.headers),
      body: init.body as string,
    });
    return answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

async function connect(
  o: Caller,
  platform: NotifyPlatform,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const { status, json, text } = await o.post('/integrations', {
    kind: 'notify',
    platform,
    name: 'Operations',
    config: configs[platform],
    ...fields,
  });
  if (status !== 201) throw new Error(text);
  return json.id;
}

const raise = (o: Caller, type: Raised['type'], ...ids: string[]) =>
  inCore(o, (core) => {
    for (const id of ids)
      core.outbox.put(
        { type, data: { secret_id: id, name: `app/${id}`, environment: 'production', version: 2 } },
        core.now(),
      );
  });

/** Runs the tasks that are due; answers the connections that the Worker is asked to attend to. */
const askedFor = (o: Caller): Promise<string[]> =>
  inCore(o, async (core) => {
    const asked: string[] = [];
    const { enqueue } = core;
    core.enqueue = async (job, id) => {
      if (job === 'notify' && id !== undefined) asked.push(id);
    };
    for (let turn = 0; turn < 3; turn++) await runTasks(core);
    core.enqueue = enqueue;
    return asked;
  });

const attendTo = (o: Caller, id: string) =>
  runJob(faulty(env as unknown as Env, db), { kind: 'job', job: 'notify', org: o.id, id });

/** Makes the deliveries of what was raised, and sends the messages that are due a little later. */
async function deliver(o: Caller, after = GATHERED_FOR): Promise<void> {
  later(250);
  await askedFor(o);
  later(after);
  for (const id of await askedFor(o)) await attendTo(o, id);
}

const summaries = () => seen.map(({ body }) => JSON.parse(body).payload.summary as string);

describe('notify: events', () => {
  slow(
    'notify: a rotation is sent to connections that subscribe to it, with name, environment and version, and without the value',
    async () => {
      const o = await newOrg();
      await connect(o, 'pagerduty');
      await connect(o, 'webhook', { events: '*' });
      await connect(o, 'slack', { events: ['SECRET_LEAKED'] });
      const secret = await newSecret(o, { ...GENERATED, name: 'app/db' });
      const { json } = await o.post(`/secrets/${secret.id}/rotate`);
      await raise(o, 'SECRET_ROTATED', secret.id);
      await deliver(o);
      const told = seen.filter(({ host }) => host === 'events.pagerduty.com');
      expect(told).toHaveLength(1);
      const { payload, dedup_key } = JSON.parse(told[0]?.body ?? '');
      expect(dedup_key).toBe(`SECRET_ROTATED:${secret.id}`);
      expect(payload.severity).toBe('info');
      expect(payload.summary).toMatch(/^Secret rotated: .*app\/.* in production \(version 2\)/);
      expect(seen.filter(({ host }) => host === 'hooks.slack.com')).toEqual([]);
      const hook = seen
        .filter(({ host }) => host === 'receiver.example.com')
        .map(({ body }) => JSON.parse(body));
      expect(hook.find(({ event }) => event.type === 'SECRET_ROTATED')).toMatchObject({
        severity: 'info',
        message: expect.stringMatching(/^Secret rotated: /),
        event: { org_id: o.id, data: { secret_id: secret.id } },
      });
      for (const { body } of seen) expect(body).not.toContain(json.value);
    },
  );

  slow('notify: a message about an event is as its platform documents it', async () => {
    const o = await newOrg();
    const platforms = [
      'slack',
      'microsoft-teams',
      'discord',
      'google-chat',
      'mattermost',
      'telegram',
      'pagerduty',
      'opsgenie',
      'email',
    ] as const;
    for (const platform of platforms) await connect(o, platform, { events: ['SECRET_LEAKED'] });
    await raise(o, 'SECRET_LEAKED', 'a', 'b');
    await deliver(o);
    // Paging services get an alert for each of the two.
    expect(seen).toHaveLength(platforms.length + 2);
    const hosts = Object.fromEntries(platforms.map((platform) => [hostOf(platform), platform]));
    for (const one of seen) {
      const platform = hosts[one.host] as NotifyPlatform;
      expect(problemsOf(platform, one), platform).toEqual([]);
      expect(one.body).toMatch(/app\/[ab]/);
    }
  });

  slow('notify: 500 rotations within a minute are one message with their count', async () => {
    const o = await newOrg();
    await connect(o, 'slack');
    const ids = Array.from({ length: 500 }, (_, n) => `s${n}`);
    await raise(o, 'SECRET_ROTATED', ...ids);
    await deliver(o);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.body).toContain('500 times:');
    expect(seen[0]?.body).toContain('and 490 more');
  });

  it.each(['pagerduty', 'opsgenie'] as const)(
    'notify: %s gets one alert a subject, never one of several',
    async (platform) => {
      const o = await newOrg();
      await connect(o, platform, { events: '*' });
      await raise(o, 'SECRET_ROTATED', 'a', 'b', 'a', 'c');
      await raise(o, 'SECRET_LEAKED', 'b');
      await deliver(o);
      const keys = seen.map(({ body }) => JSON.parse(body).dedup_key ?? JSON.parse(body).alias);
      expect(keys).toEqual(['SECRET_ROTATED:a', 'SECRET_ROTATED:b', 'SECRET_ROTATED:c', 'SECRET_LEAKED:b']);
      expect(seen.map(({ body }) => body.includes('2 times'))).toEqual([true, false, false, false]);
      // One of them fails: it alone is repeated.
      seen = [];
      answer = () => new Response('', { status: seen.length === 2 ? 500 : 202 });
      await raise(o, 'SECRET_LEAKED', 'x', 'y', 'z');
      await deliver(o, BETWEEN_MESSAGES);
      expect(seen).toHaveLength(3);
      answer = () => new Response('ok');
      await deliver(o, BETWEEN_MESSAGES);
      expect(seen.slice(3).map(({ body }) => JSON.parse(body).dedup_key ?? JSON.parse(body).alias)).toEqual([
        'SECRET_LEAKED:y',
      ]);
    },
  );

  it('notify: the next message about a kind comes a minute after the last; other kinds do not wait for it', async () => {
    const o = await newOrg();
    await connect(o, 'pagerduty', { events: '*' });
    await raise(o, 'SECRET_ROTATED', 'a');
    await deliver(o);
    await raise(o, 'SECRET_ROTATED', 'b');
    await raise(o, 'SECRET_LEAKED', 'c');
    await deliver(o);
    await raise(o, 'SECRET_ROTATED', 'b');
    await deliver(o);
    expect(summaries().map((summary) => summary.split(' (')[0])).toEqual([
      'Secret rotated: app/a in production',
      'Secret leaked: app/c in production',
    ]);
    await deliver(o, BETWEEN_MESSAGES);
    expect(summaries()).toHaveLength(3);
    expect(summaries()[2]).toContain('2 times: app/b in production (version 2) app/b in production');
  });

  slow('notify: repeats of one subject are one incident', async () => {
    const o = await newOrg();
    await connect(o, 'opsgenie');
    await raise(o, 'SECRET_LEAKED', 'a', 'a', 'a');
    await deliver(o);
    await raise(o, 'SECRET_LEAKED', 'a');
    await deliver(o, BETWEEN_MESSAGES);
    expect(seen.map(({ body }) => JSON.parse(body).alias)).toEqual(['SECRET_LEAKED:a', 'SECRET_LEAKED:a']);
    expect(seen.map(({ body }) => JSON.parse(body).priority)).toEqual(['P1', 'P1']);
  });

  slow('notify: more events than fit one message are several messages', async () => {
    const o = await newOrg();
    await connect(o, 'slack');
    await raise(o, 'SECRET_ROTATED', ...Array.from({ length: MOST_TOGETHER + 1 }, (_, n) => `s${n}`));
    await deliver(o);
    await deliver(o, BETWEEN_MESSAGES);
    expect(seen).toHaveLength(2);
  });
});

const hostOf = (platform: NotifyPlatform): string => {
  const { webhookUrl } = configs[platform] as { webhookUrl?: string };
  if (webhookUrl) return new URL(webhookUrl).host;
  const hosts: Partial<Record<NotifyPlatform, string>> = {
    telegram: 'api.telegram.org',
    pagerduty: 'events.pagerduty.com',
    opsgenie: 'api.opsgenie.com',
    email: 'api.resend.com',
  };
  return hosts[platform] as string;
};

describe('notify: retries', () => {
  const attempts = async (o: Caller, waits: number[]) => {
    for (const wait of waits) await deliver(o, wait);
    return seen.length;
  };

  it.each([
    ['429', () => new Response('', { status: 429 })],
    ['500', () => new Response('', { status: 500 })],
    ['503 of Telegram in a 200', () => Response.json({ ok: false, error_code: 503 })],
    ['no answer', () => Promise.reject(new Error('down'))],
  ])('notify: a message is repeated after %s, in one piece', async (_what, failing) => {
    const o = await newOrg();
    await connect(o, 'telegram');
    await raise(o, 'SECRET_ROTATED', 'a', 'b', 'c');
    answer = failing;
    expect(await attempts(o, [GATHERED_FOR])).toBe(1);
    expect(await attempts(o, [10_000])).toBe(2);
    answer = () => Response.json({ ok: true });
    expect(await attempts(o, [6 * MINUTE])).toBe(3);
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
    expect(await attempts(o, [60 * MINUTE, 60 * MINUTE])).toBe(3);
  });

  slow('notify: the retry time of a platform is honoured', async () => {
    const o = await newOrg();
    await connect(o, 'slack');
    await raise(o, 'SECRET_ROTATED', 'a');
    answer = () => new Response('', { status: 429, headers: { 'Retry-After': '600' } });
    expect(await attempts(o, [GATHERED_FOR, 5 * MINUTE])).toBe(1);
    expect(await attempts(o, [6 * MINUTE])).toBe(2);
  });

  it.each([400, 401, 403, 404, 410, 302])(
    'notify: after %i nothing is repeated, and later events are still sent',
    async (status) => {
      const o = await newOrg();
      await connect(o, 'slack');
      await raise(o, 'SECRET_ROTATED', 'a');
      answer = () => new Response('needleAnswer', { status });
      expect(await attempts(o, [GATHERED_FOR, 10_000, 10 * MINUTE])).toBe(1);
      const kept = await inGate(o, (_gate, { storage }) =>
        JSON.stringify(storage.sql.exec('select * from deliveries').toArray()),
      );
      expect(kept).toContain('failed');
      expect(kept).not.toContain('needle');
      answer = () => new Response('ok');
      await raise(o, 'SECRET_ROTATED', 'b');
      expect(await attempts(o, [GATHERED_FOR])).toBe(2);
    },
  );

  slow('notify: what an interrupted job leased is sent by the next one', async () => {
    const o = await newOrg();
    const id = await connect(o, 'slack');
    await raise(o, 'SECRET_ROTATED', 'a');
    later(250);
    await askedFor(o);
    later(GATHERED_FOR);
    expect(await askedFor(o)).toEqual([id]);
    const taken = await inCore(o, (core) =>
      core.storage.transactionSync(() => deliveries(core).takeTogether(id, null, core.now())),
    );
    expect(taken).toHaveLength(1);
    await attendTo(o, id);
    expect(seen).toEqual([]);
    await evict(o);
    later(LEASE + ATTENDED);
    for (const one of await askedFor(o)) await attendTo(o, one);
    expect(seen).toHaveLength(1);
    // The queue delivers a message twice.
    await Promise.all([attendTo(o, id), attendTo(o, id)]);
    expect(seen).toHaveLength(1);
  });

  slow('notify: one that fails delays no other', async () => {
    const o = await newOrg();
    await connect(o, 'slack');
    await connect(o, 'pagerduty');
    await raise(o, 'SECRET_ROTATED', 'a');
    answer = () => new Response('', { status: seen.at(-1)?.host === 'hooks.slack.com' ? 500 : 202 });
    await deliver(o);
    expect(seen.map(({ host }) => host).sort()).toEqual(['events.pagerduty.com', 'hooks.slack.com']);
  });
});

/** The kinds of events of the messages, each with the host that it went to. */
const kindsSent = (): string[] =>
  seen.map(({ host, body }) => `${host} ${JSON.parse(body).event?.type ?? JSON.parse(body).payload.class}`);

describe('notify: events that owners must receive', () => {
  it('notify: the issue and use of a break-glass token go to every connection, regardless of its subscription', async () => {
    const o = await newOrg();
    await connect(o, 'pagerduty', { events: ['SECRET_LEAKED'] });
    await connect(o, 'webhook', { events: ['DEVICE_BLOCKED'] });
    const token = await newBreakGlass(o);
    await deliver(o);
    const issued = ['events.pagerduty.com BREAK_GLASS_ISSUED', 'receiver.example.com BREAK_GLASS_ISSUED'];
    expect(kindsSent().sort()).toEqual(issued);
    for (const { body } of seen) expect(body).not.toContain(token.token);
    expect((await token.o.get('/secrets')).status).toBe(200);
    await deliver(o);
    expect(kindsSent().slice(2).sort()).toEqual(issued.map((kind) => kind.replace('ISSUED', 'USED')));
    for (const { body } of seen) expect(body).toContain('critical');
  });

  slow('notify: a recovery and a new enrolment link go to every connection', async () => {
    const o = await newOrg();
    await connect(o, 'pagerduty', { events: ['SECRET_LEAKED'] });
    const { id } = await newMember(o);
    expect((await o.post(`/members/${id}/enrolments`)).status).toBe(201);
    const recovered = await send('POST', `/api/v1/orgs/${o.id}/recovery`, {
      token: BOOTSTRAP,
      body: { reason: 'the key is lost' },
    });
    expect(recovered.status).toBe(201);
    await deliver(o);
    expect(kindsSent().sort()).toEqual([
      'events.pagerduty.com ENROLMENT_CREATED',
      'events.pagerduty.com ORG_RECOVERED',
    ]);
    const sent = seen.map(({ body }) => body).join();
    expect(sent).toContain(id);
    expect(sent).not.toContain(recovered.json.api_key.token);
    expect(sent).not.toContain('enrol#');
  });

  slow('notify: an e-mail about these goes to all owners too, an e-mail about others does not', async () => {
    const o = await newOrg();
    await connect(o, 'email');
    const first = (await o.get('/members')).json.data[0].email as string;
    const second = await newMember(o, 'owner');
    const admin = await newMember(o, 'admin');
    await raise(o, 'SECRET_ROTATED', 'a');
    await newBreakGlass(o);
    await deliver(o);
    const to = Object.fromEntries(
      seen.map(({ body }) => [JSON.parse(body).subject.split(':')[0], JSON.parse(body).to as string[]]),
    );
    expect(to).toEqual({
      '[info] Secret rotated': ['ops@example.com'],
      '[critical] Break-glass token issued': [first, second.email, 'ops@example.com'],
    });
    expect(JSON.stringify(to)).not.toContain(admin.email);
    for (const one of seen) expect(problemsOf('email', one)).toEqual([]);
  });

  slow('notify: an e-mail to more owners than allowed recipients goes to the first of them', async () => {
    const o = await newOrg();
    await connect(o, 'email');
    await Promise.all(Array.from({ length: 51 }, () => newMember(o, 'owner')));
    await newBreakGlass(o);
    await deliver(o);
    expect(new Set(JSON.parse(seen[0]?.body ?? '').to).size).toBe(50);
    expect(problemsOf('email', seen[0] as Seen)).toEqual([]);
  });

  it('notify: webhooks get them only by subscription', async () => {
    const o = await newOrg();
    const { id } = await newWebhook(o, { events: ['SECRET_CREATED'] });
    await newBreakGlass(o);
    later(250);
    await askedFor(o);
    expect(await inCore(o, (core) => deliveries(core).dueAt(id, core.now() + MINUTE))).toBeNull();
  });
});

describe('notify: recipients', () => {
  it('notify: nothing that happened before a connection was stored, and nothing after it was removed', async () => {
    const o = await newOrg();
    await raise(o, 'SECRET_ROTATED', 'before');
    later(1000);
    const id = await connect(o, 'slack');
    await raise(o, 'SECRET_ROTATED', 'a');
    await deliver(o);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.body).not.toContain('before');
    await raise(o, 'SECRET_ROTATED', 'b');
    later(250);
    await askedFor(o);
    await o.del(`/integrations/${id}`);
    await deliver(o, BETWEEN_MESSAGES);
    await attendTo(o, id);
    expect(seen).toHaveLength(1);
    const left = await inGate(o, (_gate, { storage }) =>
      ['deliveries', 'delivery_windows', 'delivery_endpoints'].map(
        (table) => storage.sql.exec(`select * from ${table}`).toArray().length,
      ),
    );
    expect(left).toEqual([0, 0, 0]);
  });

  slow(
    "notify: a message goes to the connection's current target, and only to its own organisation",
    async () => {
      const o = await newOrg();
      const other = await newOrg();
      const id = await connect(o, 'webhook');
      await connect(other, 'slack');
      await raise(o, 'SECRET_ROTATED', 'a');
      later(250);
      await askedFor(o);
      await o.patch(`/integrations/${id}`, {
        config: { url: 'https://moved.example.com/', secret: 'other' },
      });
      await deliver(o);
      await deliver(other);
      expect(seen.map(({ host }) => host)).toEqual(['moved.example.com']);
    },
  );

  slow('notify: sending messages raises no events and writes no audit entries', async () => {
    const o = await newOrg();
    await connect(o, 'slack', { events: '*' });
    await raise(o, 'SECRET_ROTATED', 'a');
    const before = await inCore(o, ({ outbox, auditLog }) => [outbox.head(), auditLog.size()]);
    answer = () => new Response('', { status: 500 });
    await deliver(o);
    expect(await inCore(o, ({ outbox, auditLog }) => [outbox.head(), auditLog.size()])).toEqual(before);
  });

  slow('notify: altered data is not sent', async () => {
    const o = await newOrg();
    const id = await connect(o, 'slack');
    await raise(o, 'SECRET_ROTATED', 'a');
    later(250);
    await askedFor(o);
    later(GATHERED_FOR);
    await inCore(o, ({ rows }) => {
      const get = rows.get.bind(rows);
      vi.spyOn(rows, 'get').mockImplementation(((kind: never, key: string) => {
        const row = get(kind, key);
        return row && kind === 'integration' ? { ...(row as object), platform: 'discord' } : row;
      }) as never);
    });
    await attendTo(o, id);
    expect(seen).toEqual([]);
  });
});

describe('notify: a connection that is deleted or changed', () => {
  const raised = async () => {
    const o = await newOrg();
    const id = await connect(o, 'slack', { events: '*' });
    for (const type of ['SECRET_ROTATED', 'SECRET_LEAKED', 'POLICY_VIOLATED'] as const)
      await raise(o, type, 'a');
    later(250);
    await askedFor(o);
    later(GATHERED_FOR);
    return { o, id };
  };

  it.each(['DELETE', 'PATCH'])(
    'gets no message after the reply to the %s, however slow it is',
    async (method) => {
      const { o, id } = await raised();
      let replied: { at: number; status: number } | null = null;
      let change: Promise<void> | null = null;
      const late: number[] = [];
      answer = async () => {
        if (replied) late.push(Date.now() - replied.at);
        change ??= o
          .call(method, `/integrations/${id}`, method === 'PATCH' ? { config: configs.slack } : undefined)
          .then(({ status }) => {
            replied = { at: Date.now(), status };
          });
        await new Promise((resolve) => setTimeout(resolve, 50));
        return new Response('ok');
      };
      for (const one of await askedFor(o)) await attendTo(o, one);
      await change;
      expect([
        (replied as { status: number } | null)?.status,
        method === 'DELETE' ? late : [],
        seen.length > 0,
      ]).toEqual([method === 'DELETE' ? 204 : 200, [], true]);
    },
  );

  slow('gets no message that waited too long to begin', async () => {
    const o = await newOrg();
    const host = `${crypto.randomUUID()}.example.com`;
    const id = await connect(o, 'webhook', { events: '*', config: { url: `https://${host}/in` } });
    await raise(o, 'SECRET_ROTATED', 'a');
    later(250);
    await askedFor(o);
    later(GATHERED_FOR);
    // While the name is looked up, the connection is deleted. The reply waits for the permit, not for the
    // look-up.
    const stubbed = globalThis.fetch;
    let deleting: Promise<{ status: number }> | null = null;
    vi.stubGlobal('fetch', async (target: string, init: RequestInit) => {
      if (target.includes(host) && target.includes('cloudflare-dns.com'))
        deleting ??= o.del(`/integrations/${id}`);
      await deleting;
      return stubbed(target, init);
    });
    for (const one of await askedFor(o)) await attendTo(o, one);
    const answered = await (deleting as Promise<{ status: number }> | null);
    expect([answered?.status, seen.filter((one) => one.host === host)]).toEqual([204, []]);
  });
});
