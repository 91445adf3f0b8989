// The alerts of docs/operations/monitoring.md: each filter of a log line fires when its cause is there, and
// none while everything works.

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import page from '../../docs/operations/monitoring.md?raw';
import type { Env } from '../../src/env';
import type { IntegrityViolation } from '../../src/errors';
import { reportViolation } from '../../src/gate/audit/integrity';
import type { Core } from '../../src/gate/core';
import { ciphertexts } from '../../src/gate/journal/ciphertexts';
import { journal } from '../../src/gate/journal/records';
import { MAX_RETRIES } from '../../src/gate/queue-messages';
import { TERM } from '../../src/gate/replicas/messages';
import { lease } from '../../src/gate/replicas/serve';
import { stability } from '../../src/gate/replicas/stability';
import { storedResponses } from '../../src/gate/request/stored-responses';
import { createBacklogs, warnings } from '../../src/gate/tasks/backlog';
import { runTasks } from '../../src/gate/tasks/run';
import worker from '../../src/index';
import { runJob } from '../../src/queue';
import { newKey } from '../support/credentials';
import { faults, faulty, reset } from '../support/faults';
import {
  copyStorage,
  evict,
  inCore,
  inGate,
  loseStorage,
  putBackStorage,
  runTasksLater,
} from '../support/gate';
import {
  newStream,
  sendAll,
  sendFor,
  useTargets as useLogTargets,
} from '../support/integrations/log-streams';
import { attendTo, newWebhook, raise, useReceivers } from '../support/integrations/webhooks';
import { HEALTH, worker as health } from '../support/storage/health';
import {
  askFor,
  breakReplica,
  evictReplica,
  from,
  general,
  inReplica,
  replicated,
  silence,
} from '../support/storage/replicas';
import { DAY, HOUR } from '../support/time';
import { type Caller, db, newOrg, newSecret, send, useWorld } from '../support/world';

useWorld();

type Line = Record<string, unknown>;
let lines: Line[] = [];
const events = () => lines.map(({ event }) => event);

beforeEach(() => {
  lines = [];
  for (const level of ['log', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((line) => void lines.push(JSON.parse(line)));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  faults.variables = {};
  faults.isolate++;
});

/** The filters of the page, by the name of their alert: those of log lines, not those of /healthz. */
const alerts = Object.fromEntries(
  [...page.slice(page.indexOf('## Alerts')).matchAll(/^\| ([^|]+) \| `([^`]*)` \| /gm)]
    .map(([, name, filter]) => [name as string, filter as string] as const)
    .filter(([, filter]) => !filter.startsWith('/')),
);

/** Whether a line passes a filter: comparisons joined by `and`, which binds more tightly than `or`. */
const passes = (filter: string, line: Line): boolean =>
  filter.split(' or ').some((all) =>
    all.split(' and ').every((term) => {
      const [, name = '', operator, value = ''] =
        /^(\w+) (exists|=|!=|>=)(?: (.+))?$/.exec(term) ?? expect.fail(`not a term: ${term}`);
      const is = line[name];
      const wanted = operator === 'exists' ? null : JSON.parse(value);
      if (operator === 'exists') return is !== undefined;
      if (operator === '=') return is === wanted;
      return operator === '!=' ? is !== wanted : (is as number) >= wanted;
    }),
  );
const fired = () =>
  Object.entries(alerts).flatMap(([name, filter]) =>
    lines.some((line) => passes(filter, line)) ? [name] : [],
  );

/** From here on the Worker is a new isolate. */
const isolate = (variables: Partial<Env> = {}) => {
  faults.isolate++;
  faults.variables = variables;
};

const message = (body: object, attempts = 1, age = 0) => ({
  id: 'm',
  body,
  attempts,
  timestamp: new Date(Date.now() - age),
  ack: vi.fn(),
  retry: vi.fn(),
});
async function deliver(...messages: ReturnType<typeof message>[]) {
  const context = createExecutionContext();
  await worker.queue?.(
    { queue: 'secrets-vault', messages } as never,
    faulty(env as unknown as Env, db),
    context,
  );
  await waitOnExecutionContext(context);
}
/** A scheduled run of a vault with this organisation alone. */
async function scheduled(o: Caller, scheduledTime = new Date()) {
  await db.batch([
    db.prepare('delete from orgs where id <> ?').bind(o.id),
    db.prepare('delete from org_keys where org_id <> ?').bind(o.id),
  ]);
  await inCore(HEALTH, ({ meta }) => meta.forget('survey'));
  await health.scheduled({ scheduledTime, cron: '* * * * *' });
}
const job = (o: Caller, name = 'checkpoint') => ({ kind: 'job', job: name, org: o.id });

/** A row of D1 and of the gate, altered in both: what neither could be without the keys. */
async function alter(o: Caller, kind: 'webhook' | 'integration' | 'log_stream', id: string, field: string) {
  await inCore(o, ({ rows, storage }) =>
    storage.transactionSync(() =>
      rows.put(kind, { ...(rows.get(kind, id) as object), [field]: 'altered' } as never),
    ),
  );
}

const found = (o: Caller, event: IntegrityViolation['event']) =>
  inCore(o, (core) =>
    reportViolation(
      core,
      { event, resource: o.id },
      { request_id: crypto.randomUUID(), ip: '', user_agent: null },
    ),
  );

/** A task fails, as at a row that cannot be read. */
const failTask = (o: Caller) =>
  inCore(o, async (core) => {
    const { sweep } = storedResponses(core);
    storedResponses(core).sweep = () => {
      throw new Error('a test');
    };
    core.schedule.at('replays', core.now());
    await runTasks(core);
    storedResponses(core).sweep = sweep;
  });

/** What causes each alert. */
const causes: Record<string, Record<string, (o: Caller) => Promise<unknown>>> = {
  'Requests fail': {
    'D1 is away': async (o) => {
      faults.fail = () => 'before';
      await o.patch('', { name: 'new' });
    },
  },
  'Keys do not open': {
    wrapped_key_does_not_open: async (o) => {
      isolate({ MASTER_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` });
      await o.get('/secrets');
    },
    signing_key_does_not_open: async () => {
      await send('GET', '/.well-known/jwks.json');
      await db.prepare("update signing_keys set key_sealed = 'altered'").run();
      isolate();
      await send('GET', '/.well-known/jwks.json');
      await db.prepare('delete from signing_keys').run();
    },
  },
  'The storage was altered': {
    schedule_lost: async (o) => {
      await inCore(o, ({ storage }) => void storage.sql.exec('delete from due'));
      await evict(o);
      await o.get('/secrets');
    },
    versions_missing_or_altered: async (o) => {
      const { id } = await newSecret(o);
      await inCore(o, (core) => ciphertexts(core).clear());
      await db.prepare('delete from secret_versions where secret_id = ?').bind(id).run();
      await o.get(`/secrets/${id}`);
    },
    webhook_does_not_open: async (o) => {
      useReceivers();
      const { id } = await newWebhook(o);
      await alter(o, 'webhook', id, 'url_sealed');
      await raise(o, 'one');
      await inCore(o, async (core) => {
        core.enqueue = async () => {};
        for (let turn = 0; turn < 3; turn++) await runTasks(core, Date.now() + 1000);
      });
      await attendTo(o, id);
    },
    log_stream_does_not_open: async (o) => {
      useLogTargets();
      const { id } = await newStream(o, 'https', { from: 'beginning' });
      await alter(o, 'log_stream', id, 'credentials_sealed');
      await sendFor(o, id);
      await inCore(o, async (core) => {
        core.now = () => Date.now() + 10_000;
        await runTasks(core);
      });
      await sendAll(o);
    },
    connection_does_not_open: async (o) => {
      const config = { webhookUrl: 'https://hooks.slack.com/services/T0/B0/x' };
      const { id } = (
        await o.post('/integrations', {
          kind: 'notify',
          platform: 'slack',
          name: 'c',
          config,
          events: ['SECRET_CREATED'],
        })
      ).json;
      await alter(o, 'integration', id, 'credentials_sealed');
      await raise(o, 'one');
      await inCore(o, async (core) => {
        core.enqueue = async () => {};
        for (const later of [1000, 5000, 20_000]) {
          core.now = () => Date.now() + later;
          await runTasks(core);
        }
      });
      await runJob(faulty(env as unknown as Env, db), { kind: 'job', job: 'notify', org: o.id, id });
    },
  },
  'The database is lost': {
    database_lost: async (o) => {
      await scheduled(o);
      for (const table of ['deployment_keys', 'org_keys', 'orgs'])
        await db.prepare(`delete from ${table}`).run();
      isolate();
      await o.get('');
      await inCore(HEALTH, ({ meta }) => meta.forget('survey'));
    },
  },
  'A gate is older than the database, or has the storage of another organisation': {
    gate_behind: async (o) => {
      const key = await newKey(o);
      const copy = await copyStorage(o);
      await o.del(`/api-keys/${key.id}`);
      await putBackStorage(o, copy);
      await o.get('/secrets');
    },
    gate_of_another: async (o) => {
      const other = await newOrg();
      await inCore(o, ({ meta }) => meta.set('org', other.id));
      await evict(o);
      await o.get('/secrets');
    },
  },
  'The row of an organisation is lost': {
    org_row_missing: async (o) => {
      await db.prepare('delete from orgs where id = ?').bind(o.id).run();
      await scheduled(o);
    },
  },
  'The clock was moved': {
    clock_apart: (o) => scheduled(o, new Date(Date.now() - 26 * HOUR)),
  },
  'The clock leapt forward': {
    retention_held_back: (o) =>
      inCore(o, async (core) => {
        core.now = () => Date.now() + 30 * DAY;
        core.schedule.at('retention', 1);
        await runTasks(core);
      }),
  },
  'The clock was set back': {
    clock_behind: async (o) => {
      faults.clock = Date.now() + HOUR;
      await newSecret(o);
      faults.clock = null;
      await scheduled(o);
    },
  },
  'Audit entries are about to be refused': {
    backlog: async (o) => {
      await inCore(o, ({ auditLog }) => {
        auditLog.size = () => 60_000;
      });
      await o.get('/secrets');
      await runTasksLater(o, 60_000);
    },
  },
  'A gate lost its storage': {
    gate_loaded_from_database: async (o) => {
      await loseStorage(o);
      await o.get('/secrets');
    },
  },
  'A gate does not answer': {
    gate_unreachable: async (o) => {
      faults.rpc = () => ({ fate: 'before', retryable: false });
      await o.get('/secrets');
    },
  },
  'A replica does not answer': {
    replica_unreachable: async () => {
      const o = await replicated();
      await breakReplica(o, 'oc');
      // The first reply names the regions.
      for (let reads = 0; reads < 2; reads++) await o.get('/secrets', from('oc'));
    },
    replica_late: async () => {
      const o = await replicated();
      await inCore(o, (core) => {
        silence(core);
        faults.clock = Date.now();
        lease(core, askFor(core));
        journal(core).append(general());
        faults.clock += TERM;
        stability(core).advance();
      });
    },
    replica_of_another: async (other) => {
      const o = await replicated();
      await inReplica(o, 'oc', ({ core }) => core.meta.set('org', other.id));
      await evictReplica(o, 'oc');
      for (let reads = 0; reads < 2; reads++) await o.get('/secrets', from('oc'));
    },
  },
  'D1 or a gate is away': {
    d1_read_failed: async (o) => {
      const { id } = await newSecret(o);
      await inCore(o, (core) => ciphertexts(core).clear());
      faults.fail = (kind) => (kind === 'read' ? 'before' : null);
      await o.get(`/secrets/${id}`);
    },
    task_failed: (o) => failTask(o),
    delivery_job_failed: async (o) => {
      faults.fail = () => 'before';
      await deliver(message(job(o, 'deliver')));
    },
  },
  'A task of one organisation fails again and again': {
    task_failed: (o) => failTask(o),
    // The gate is reset in the middle of the task, so nothing else tells of it.
    transaction_failed: (o) =>
      inCore(o, async (core) => {
        const { transactionSync } = core.storage;
        storedResponses(core).sweep = () =>
          transactionSync(() => {
            throw new Error('a test');
          });
        core.schedule.at('replays', core.now());
        await runTasks(core);
      }).catch(() => {}),
  },
  'Audit entries cannot leave a gate': {
    audit_entry_refused: async (o) => {
      await db
        .prepare(
          "create trigger refuse before insert on audit_segments begin select raise(abort, 'CHECK constraint failed: by a test'); end",
        )
        .run();
      await o.get('/secrets');
      await inGate(o, ({ core }) => {
        const draft = {
          action: 'org.read',
          resource: o.id,
          environment: null,
          version: null,
          reason: null,
          ip: '',
          user_agent: null,
        };
        const actor = { kind: 'api_key', id: null, parent_id: null, name: null };
        core.storage.transactionSync(() => {
          for (let i = 0; i < 1000; i++)
            core.auditLog.append({ ...draft, actor, request_id: `req_${i}` }, 200, Date.now());
        });
        core.schedule.at('segments', Date.now());
      });
      await runTasksLater(o, 600_000);
      await db.prepare('drop trigger refuse').run();
    },
  },
  'The queue stands still': { queue_late: (o) => deliver(message(job(o), 1, 61_000)) },
  'A message is in the dead-letter queue': {
    message_dead: async (o) => {
      faults.fail = () => 'before';
      await deliver(message(job(o), MAX_RETRIES + 1));
    },
  },
  'A bug': {
    fault: async () => {
      isolate({ ASSETS: { fetch: () => Promise.reject(new Error('a test')) } as unknown as Fetcher });
      await send('GET', '/console', { headers: { Accept: 'text/html' } });
    },
    gate_fault: async (o) => {
      const count = await inCore(o, ({ rows }) => {
        const { count } = rows;
        rows.count = () => {
          throw new Error('a test');
        };
        return () => {
          rows.count = count;
        };
      });
      await o.get('');
      await inCore(o, count);
    },
  },
  'A program reads too often': {
    'a request over the limit': async (o) => {
      faults.clock = Date.now();
      for (let n = 0; n < 12; n++)
        await Promise.all(Array.from({ length: 110 }, () => o.get('/environments')));
    },
  },
};

describe('monitoring: alerts', () => {
  it.each(
    Object.entries(causes).flatMap(([alert, by]) =>
      Object.entries(by).map(([cause, run]) => ({ alert, cause, run })),
    ),
  )('"$alert" fires at $cause', { timeout: 120_000 }, async ({ alert, cause, run }) => {
    const o = await newOrg();
    lines = [];
    await run(o);
    reset();
    expect(Object.keys(alerts)).toContain(alert);
    expect(fired()).toContain(alert);
    if (/^\w+$/.test(cause)) expect(events()).toContain(cause);
    // Whoever mends it must know whose it is.
    const isNamed = /^(webhook|connection|log_stream)_does_not_open$/.test(cause);
    if (isNamed || /^(task|transaction)_failed$/.test(cause))
      expect(lines.find(({ event }) => event === cause)).toMatchObject({
        org: expect.stringMatching(/^org_/),
        ...(isNamed && { resource: expect.any(String) }),
      });
  });

  it.each([
    'database_diverged',
    'credential_altered',
    'credential_put_back',
    'value_does_not_open',
    'upstream_call_altered',
    'events_altered',
  ] as const)('"The storage was altered" fires at %s', async (event) => {
    await found(await newOrg(), event);
    expect(fired()).toEqual(['The storage was altered']);
  });

  it('none fires while everything works', async () => {
    const o = await newOrg();
    await newSecret(o);
    await o.get('/secrets');
    await o.get('/nothing');
    await inCore(o, (core) => runTasks(core));
    await deliver(message(job(o)));
    await send('GET', '/healthz');
    expect(lines.length).toBeGreaterThan(4);
    expect(fired()).toEqual([]);
  });
});

describe('monitoring: the queue', () => {
  it('a message that fails is told with its attempt, and is dead at the last one that the consumer makes', async () => {
    const o = await newOrg();
    faults.fail = () => 'before';
    isolate();
    const first = message(job(o));
    const last = message(job(o), MAX_RETRIES + 1);
    await deliver(first, last);
    const told = lines.filter(({ event }) => /^message_/.test(String(event)));
    expect(told).toEqual([
      { level: 'warn', event: 'message_failed', job: 'checkpoint', org: o.id, attempts: 1 },
      { level: 'error', event: 'message_dead', job: 'checkpoint', org: o.id, attempts: MAX_RETRIES + 1 },
    ]);
    for (const one of [first, last])
      expect([one.ack.mock.calls.length, one.retry.mock.calls.length]).toEqual([0, 1]);
  });

  it('a message that fails is tried for hours, and waits longer each time, as the queue allows', async () => {
    const o = await newOrg();
    faults.fail = () => 'before';
    isolate();
    const tried = Array.from({ length: MAX_RETRIES }, (_, n) => message(job(o), n + 1));
    await deliver(...tried);
    const waits = tried.flatMap(({ retry }) =>
      retry.mock.calls.map(([how]) => (how as { delaySeconds: number }).delaySeconds),
    );
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[0]).toBeLessThan(60);
    // Cloudflare Queues delays a message by twelve hours at most.
    for (const wait of waits) expect(wait).toBeLessThanOrEqual(43_200);
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(3 * 3600);
  });

  it('a message that is tried again is not late', async () => {
    await deliver(message({ kind: 'probe', id: 'x' }, 2, 600_000));
    expect(events()).toEqual([]);
  });
});

describe('monitoring: backlog', () => {
  /** The backlogs of a gate in which so much waits. */
  const waiting = ({ storage }: Core, size: number, held = 0, head = 0) =>
    createBacklogs({
      storage,
      auditLog: { size: () => size, held: () => Array.from({ length: held }) },
      outbox: { head: () => head, moved: () => 0 },
      parts: new Map([[journal, { extent: () => ({ records: 0, bytes: 0, since: null }) }]]),
    } as unknown as Core);
  const told = () =>
    lines.map(({ kind, count, warns_from, org, level }) => ({ kind, count, warns_from, org, level }));

  it('an organisation shows what waits, and warns of changes that D1 lacks and of late deliveries', async () => {
    const o = await newOrg();
    const clock = Date.now();
    faults.clock = clock;
    expect((await o.get('')).json.usage.backlog).toEqual({
      audit_entries: expect.any(Number),
      audit_entries_refused: 0,
      events: expect.any(Number),
      deliveries: 0,
      deliveries_late_seconds: 0,
      changes: 0,
      changes_late_seconds: 0,
    });
    useReceivers();
    await newWebhook(o);
    await raise(o, 'one', 'two');
    faults.fail = (kind) => (kind === 'batch' ? 'late' : 'before');
    expect((await o.post('/environments', { name: 'QA' })).status).toBe(201);
    lines = [];
    faults.clock = clock + 20_000;
    await inCore(o, (core) => {
      core.enqueue = async () => {};
      return runTasks(core);
    });
    expect(events(), 'not yet').not.toContain('backlog');
    faults.clock = clock + 1_200_000;
    await inCore(o, (core) => {
      core.enqueue = async () => {};
      return runTasks(core);
    });
    const kinds = lines.filter(({ event }) => event === 'backlog').map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['changes_late_seconds', 'deliveries_late_seconds']));
    expect(fired()).toContain('Events or deliveries pile up');
  });

  it('of each kind warns from its threshold, once a minute, with the numbers of the page', async () => {
    const o = await newOrg();
    await inCore(o, (core) => {
      lines = [];
      const well = waiting(core, warnings.audit_entries - 1, 0, warnings.events - 1);
      well.warn(o.id, 1e12);
      expect(told()).toEqual([]);
      const ill = waiting(core, 60_000, 1, warnings.events);
      for (const later of [0, 5000, 30_000, 59_999]) ill.warn(o.id, 1e12 + later);
      const line = (kind: keyof typeof warnings, count: number) => ({
        kind,
        count,
        warns_from: warnings[kind],
        org: o.id,
        level: 'warn',
      });
      const once = [
        line('audit_entries', 60_000),
        line('audit_entries_refused', 1),
        line('events', warnings.events),
      ];
      expect(told()).toEqual(once);
      ill.warn(o.id, 1e12 + 70_000);
      expect(told()).toEqual([...once, ...once]);
    });
    expect(fired()).toEqual([
      'Audit entries cannot leave a gate',
      'Audit entries are about to be refused',
      'Events or deliveries pile up',
    ]);
    for (const [kind, from] of Object.entries(warnings))
      expect(page).toMatch(new RegExp(`\\| \`${kind}\` \\| ${from.toLocaleString('en')} `));
  });
});

it.each([
  { kind: 'other', id: 'x' },
  { kind: 'job', job: 'later', org: 'org_0123456789ABCDEFGHIJKL' },
  { kind: 'job', job: 'toString', org: 'org_0123456789ABCDEFGHIJKL' },
  { kind: 'job', job: 'deliver' },
])(
  'queue: a message that this release does not know is logged and retried, and goes to the dead letters',
  async (body) => {
    const first = message(body);
    const last = message(body, MAX_RETRIES + 1);
    await deliver(first, last);
    for (const { ack, retry } of [first, last]) {
      expect(retry).toHaveBeenCalledOnce();
      expect(ack).not.toHaveBeenCalled();
    }
    expect(events()).toEqual(['message_failed', 'message_dead']);
  },
);

it('queue: a message without a body is retried, and those beside it are done', async () => {
  const o = await newOrg();
  const poison = { ...message({}, MAX_RETRIES + 1), body: null as never };
  const late = { ...message({}, 1, 120_000), body: null as never };
  const good = message(job(o));
  await deliver(poison, late, good);
  expect(good.ack).toHaveBeenCalledOnce();
  for (const { ack, retry } of [poison, late]) {
    expect(retry).toHaveBeenCalledOnce();
    expect(ack).not.toHaveBeenCalled();
  }
  expect(events()).toEqual(expect.arrayContaining(['message_dead', 'queue_late', 'message_failed']));
});
