// Rotation policies: when secrets are due, and the values that the service replaces itself, exactly once.
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Env } from '../../../src/env';
import type { Reply } from '../../../src/gate/request/call';
import { NEVER } from '../../../src/gate/schedule';
import { runTasks } from '../../../src/gate/tasks/run';
import { runJob } from '../../../src/queue';
import { newAgent, newKey } from '../../support/credentials';
import { faults, faulty, until } from '../../support/faults';
import { ageTo, askOf, evict, gateOf, inCore } from '../../support/gate';
import { newApprovalPolicy } from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { asMember, ownerId } from '../../support/people';
import { slow } from '../../support/slow';
import { DAY, HOUR, MINUTE } from '../../support/time';
import { type Caller, codeOf, db, GENERATED, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const START = Date.parse('2027-01-01T00:00:00.000Z');
beforeEach(() => {
  faults.clock = START;
});
const at = (ms: number) => {
  faults.clock = START + ms;
};

const opted = { ...GENERATED, auto_rotate: true };
const AUTO = { max_age_days: 30, auto_rotate: true };

/**
 * Runs the tasks that are due, with all pages of the search for due secrets. Answers how often the Worker was
 * asked for a job.
 */
const search = (o: Caller, turns = 12) =>
  inCore(o, async (core) => {
    let asked = 0;
    const { enqueue } = core;
    core.enqueue = async (job) => {
      if (job === 'rotate') asked++;
    };
    ageTo(core, core.now());
    core.schedule.at('rotation', core.now());
    for (let turn = 0; turn < turns; turn++) await runTasks(core);
    core.enqueue = enqueue;
    return asked;
  });
const job = (o: Caller) =>
  runJob(faulty(env as unknown as Env, db), { kind: 'job', job: 'rotate', org: o.id });

/** What was raised of these kinds, oldest first. */
const raised = (o: Caller, ...types: string[]) =>
  inCore(o, ({ outbox }) =>
    outbox.oldest(5000).flatMap(({ type, data }) => (types.includes(type) ? [data] : [])),
  );
const due = async (o: Caller) =>
  (await raised(o, 'SECRET_ROTATION_DUE')).map(({ name, failed }) => (failed ? [name, failed] : name));
const entries = async (o: Caller, action: string) =>
  (await o.get(`/audit-log?action=${action}&limit=100`)).json.data;
const versionOf = async (o: Caller, id: string) => (await o.get(`/secrets/${id}`)).json.version;
const forgetEvents = (o: Caller) => inCore(o, ({ storage }) => void storage.sql.exec('delete from outbox'));

/** Asks the gate as the service itself. */
async function asService(o: Caller, operation: string, input: unknown) {
  const action = operation === 'secret.rotation_due' ? operation : 'secret.auto_rotate';
  const { outcome } = (await gateOf(o).call(
    await askOf(o, action, 'system', { operation, input, path_org: null }),
  )) as unknown as Reply;
  return outcome;
}

describe('rotation policy: what applies to a secret', () => {
  const shown = async (o: Caller, id: string) => (await o.get(`/secrets?id=${id}`)).json.data[0].rotation;

  it('shows the rule by which the value is due first, as the report does, and none for what cannot be read', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'OLD' });
    expect(await shown(o, id)).toBeNull();
    const policy = (await newPolicy(o, 'rotation', { max_age_days: 30 })).id;
    const quarterly = {
      policy: { id: policy, name: expect.any(String) },
      every_seconds: (30 * DAY) / 1000,
      cron: null,
    };
    expect(await shown(o, id)).toEqual({
      ...quarterly,
      due_at: new Date(START + 30 * DAY).toISOString(),
      is_due: false,
    });
    at(31 * DAY);
    expect(await shown(o, id)).toEqual({
      ...quarterly,
      due_at: new Date(START + 30 * DAY).toISOString(),
      is_due: true,
    });
    await o.patch(`/secrets/${id}`, { rotate_every_seconds: (10 * DAY) / 1000 });
    const own = { policy: null, every_seconds: (10 * DAY) / 1000, cron: null };
    expect(await shown(o, id)).toEqual({
      ...own,
      due_at: new Date(START + 10 * DAY).toISOString(),
      is_due: true,
    });
    await o.patch(`/secrets/${id}`, { value: 'new', rotate_every_seconds: null });
    await newPolicy(o, 'rotation', { cron: '30 3 * * *' });
    expect(await shown(o, id)).toMatchObject({
      cron: '30 3 * * *',
      every_seconds: null,
      due_at: '2027-02-01T03:30:00.000Z',
      is_due: false,
    });
    await o.del(`/secrets/${id}`);
    expect(await shown(o, id)).toBeNull();
  });
});

describe('rotation policy: due secrets', () => {
  it('raises an event once a period, with an audit entry, until the value is replaced', async () => {
    const o = await newOrg();
    const { id, name } = await newSecret(o);
    await newPolicy(o, 'rotation', { max_age_days: 90 });
    const told = async (days: number) => {
      at(days * DAY);
      await search(o);
      return (await entries(o, 'secret.rotation_due')).length;
    };
    expect([
      await told(89),
      await told(90),
      await told(91),
      await told(179),
      await told(180),
      await told(181),
    ]).toEqual([0, 1, 1, 1, 2, 2]);
    const data = {
      secret_id: id,
      name,
      environment: 'production',
      environment_id: expect.any(String),
      version: 1,
      due_at: new Date(START + 180 * DAY).toISOString(),
    };
    // The event of the first period has gone after 30 days.
    expect(await raised(o, 'SECRET_ROTATION_DUE')).toEqual([data]);
    const [entry, ...rest] = await entries(o, 'secret.rotation_due');
    expect(rest).toHaveLength(1);
    expect(entry).toMatchObject({
      actor: { kind: 'system' },
      resource: id,
      resource_name: name,
      outcome: 'success',
      version: 1,
    });
    await o.post(`/secrets/${id}/rotate`, { value: 'new' });
    expect([await told(200), await told(181 + 89), await told(181 + 90)]).toEqual([2, 2, 3]);
  });

  slow('a change of metadata does not make a value younger; a rollback is a new version', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    await newPolicy(o, 'rotation', { max_age_days: 10 });
    at(9 * DAY);
    await o.patch(`/secrets/${id}`, { description: 'x' });
    at(10 * DAY);
    await search(o);
    expect(await due(o)).toHaveLength(1);
    await o.post(`/secrets/${id}/rollback`, { version: 1 });
    at(19 * DAY);
    await search(o);
    expect(await due(o)).toHaveLength(1);
  });

  it('a value of an earlier release is as old as its last change, or as its secret if that changed metadata', async () => {
    const o = await newOrg();
    const plain = await newSecret(o, { name: 'plain' });
    const amended = await newSecret(o, { name: 'amended' });
    at(5 * DAY);
    for (const { id } of [plain, amended]) await o.post(`/secrets/${id}/rotate`, { value: 'new' });
    at(6 * DAY);
    await o.patch(`/secrets/${amended.id}`, { description: 'x' });
    await inCore(o, ({ rows }) => {
      for (const { id } of [plain, amended]) {
        const row = rows.get('secret', id);
        if (row) rows.put('secret', { ...row, rotated_at: null });
      }
    });
    await newPolicy(o, 'rotation', { max_age_days: 10 });
    at(10 * DAY);
    await search(o);
    expect(await due(o)).toEqual(['amended']);
    at(15 * DAY);
    await search(o);
    expect(await due(o)).toEqual(['amended', 'plain']);
  });

  slow(
    'follow the shortest of policies and rotate_every_seconds; without a policy that of the secret counts',
    async () => {
      const o = await newOrg();
      await newSecret(o, { name: 'own', rotate_every_seconds: 5 * 86_400 });
      await newSecret(o, { name: 'none' });
      at(5 * DAY);
      await search(o);
      expect(await due(o)).toEqual(['own']);
      await forgetEvents(o);
      await newPolicy(o, 'rotation', { max_age_days: 20 });
      await newPolicy(o, 'rotation', { max_age_days: 7 }, { applies_to: { names: ['none'] } });
      for (const day of [6, 7, 9, 10]) {
        at(day * DAY);
        await search(o);
      }
      expect(await due(o)).toEqual(['none', 'own']);
      at(20 * DAY);
      await search(o);
      expect(await due(o)).toEqual(['none', 'own', 'own', 'none']);
    },
  );

  slow('cron: values that are older than its last time are due, in UTC, once for each time', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', { cron: '30 3 15 * *' });
    await newSecret(o, { name: 'a' });
    at(14 * DAY + 3 * HOUR + 29 * MINUTE);
    await search(o);
    expect(await due(o)).toEqual([]);
    at(14 * DAY + 3 * HOUR + 30 * MINUTE);
    await search(o);
    expect(await raised(o, 'SECRET_ROTATION_DUE')).toMatchObject([
      { name: 'a', due_at: '2027-01-15T03:30:00.000Z' },
    ]);
    await newSecret(o, { name: 'b' });
    at(44 * DAY);
    await search(o);
    expect(await due(o)).toEqual(['a']);
    at(46 * DAY);
    await search(o);
    expect((await due(o)).sort()).toEqual(['a', 'b']);
    expect(await entries(o, 'secret.rotation_due')).toHaveLength(3);
  });

  it('skips secrets outside the policy, and secrets that are deleted, expired or revoked', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', { max_age_days: 1 }, { enabled: false });
    await newPolicy(
      o,
      'rotation',
      { max_age_days: 1 },
      { applies_to: { environments: ['production'], names: ['app/*'] } },
    );
    for (const fields of [
      { name: 'web/x' },
      { name: 'app/s', environment: 'staging' },
      { name: 'app/expired', ttlSeconds: 3600 },
    ])
      await newSecret(o, fields);
    await o.del(`/secrets/${(await newSecret(o, { name: 'app/deleted' })).id}`);
    await newSecret(o, { name: 'app/x' });
    at(2 * DAY);
    await search(o);
    expect(await due(o)).toEqual(['app/x']);
  });

  it('is scheduled automatically: within the hour after a policy is created, then each hour, and not without rules', async () => {
    const o = await newOrg();
    const next = () =>
      inCore(
        o,
        ({ storage }) =>
          storage.sql.exec("select at from due where task = 'rotation' and at < ?", NEVER).toArray()[0]?.at ??
          null,
      );
    await search(o);
    expect(await next()).toBeNull();
    const { id } = await newPolicy(o, 'rotation', { max_age_days: 1 });
    expect(await next()).toBe(START);
    await search(o);
    expect(await next()).toBe(START + HOUR);
    await o.del(`/policies/${id}`);
    at(HOUR);
    await search(o);
    expect(await next()).toBeNull();
    await newSecret(o, { rotate_every_seconds: 60 });
    await inCore(o, async (core) => {
      core.schedule.at('retention', core.now());
      await runTasks(core);
    });
    expect(await next()).toBe(START + 2 * HOUR);
  });

  slow('a search interrupted between pages continues there, and reports each secret once', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', { max_age_days: 1 });
    for (let part = 0; part < 6; part++) await Promise.all(Array.from({ length: 100 }, () => newSecret(o)));
    at(DAY);
    await search(o, 1);
    expect(await due(o)).toHaveLength(500);
    await evict(o);
    await search(o);
    expect(new Set(await due(o)).size).toBe(600);
    await search(o);
    expect(await due(o)).toHaveLength(600);
  });

  slow('a search waits while the audit log is crowded, so that it never fills it', async () => {
    const o = await newOrg();
    await newSecret(o);
    await newPolicy(o, 'rotation', { max_age_days: 1 });
    at(DAY);
    await inCore(o, async (core) => {
      const { size } = core.auditLog;
      core.auditLog.size = () => 20_001;
      core.schedule.at('rotation', core.now());
      await runTasks(core);
      core.auditLog.size = size;
    });
    expect(await due(o)).toEqual([]);
    at(DAY + HOUR);
    await search(o);
    expect(await due(o)).toHaveLength(1);
  });

  slow('forgets secrets that are gone, and all of them once no rule is left', async () => {
    const o = await newOrg();
    const gone = await newSecret(o);
    await newSecret(o);
    const { id } = await newPolicy(o, 'rotation', { max_age_days: 1 });
    const remembered = () =>
      inCore(o, ({ storage }) => storage.sql.exec('select * from rotations').toArray().length);
    at(DAY);
    await search(o);
    expect(await remembered()).toBe(2);
    await o.del(`/secrets/${gone.id}?permanent=true`);
    await search(o);
    expect(await remembered()).toBe(1);
    await o.del(`/policies/${id}`);
    await search(o);
    expect(await remembered()).toBe(0);
  });
});

describe('rotation policy: auto_rotate', () => {
  slow('is a field of secrets: false unless it was set, by create, PUT and PATCH', async () => {
    const o = await newOrg();
    const shown = async (id: string) => (await o.get(`/secrets/${id}`)).json.auto_rotate;
    const plain = await newSecret(o);
    const set = await newSecret(o, { auto_rotate: true });
    expect([await shown(plain.id), await shown(set.id)]).toEqual([false, true]);
    await o.patch(`/secrets/${plain.id}`, { auto_rotate: true });
    await o.patch(`/secrets/${set.id}`, { description: 'x' });
    expect([await shown(plain.id), await shown(set.id)]).toEqual([true, true]);
    const put = await o.call('PUT', `/secrets/by-name/${set.name}`, { value: 'w', auto_rotate: false });
    expect([put.status, put.json.auto_rotate]).toEqual([200, false]);
    expect(
      (await o.call('PUT', '/secrets/by-name/fresh', { value: 'w', auto_rotate: true })).json.auto_rotate,
    ).toBe(true);
    expect(codeOf(await o.patch(`/secrets/${plain.id}`, { auto_rotate: 1 }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
  });

  describe('against a policy that holds what agents rotate', () => {
    const HELD = [403, 'APPROVAL_REQUIRED'];
    async function newHolding() {
      const o = await newOrg();
      await newApprovalPolicy(o, ['secret.rotate'], { config: { approvers: { accountable: true } } });
      const agent = (await newAgent(o, { scopes: ['policies:*', 'secrets:*'], ttlSeconds: 60 * 86_400 })).o;
      return { o, agent, secret: await newSecret(o, { name: 'mine', ...opted }) };
    }
    const run = async (o: Caller) => {
      await search(o);
      await job(o);
    };

    it('a rotation by the policy of an agent is held, and the secret is reported as due', async () => {
      const { o, agent, secret } = await newHolding();
      expect(codeOf(await agent.post(`/secrets/${secret.id}/rotate`, {}))).toEqual(HELD);
      const { id } = await newPolicy(agent, 'rotation', AUTO);
      // A later change by somebody else does not take that back.
      expect((await o.patch(`/policies/${id}`, { config: { ...AUTO, max_age_days: 29 } })).status).toBe(200);
      at(30 * DAY);
      await run(o);
      expect(await versionOf(o, secret.id)).toBe(1);
      expect(await due(o)).toEqual([['mine', 'APPROVAL_REQUIRED']]);
      // What is due by a policy of a person is replaced.
      await newPolicy(o, 'rotation', AUTO);
      at(60 * DAY);
      await run(o);
      expect(await versionOf(o, secret.id)).toBe(2);
    });

    slow('an agent that changes a policy of a person is held for what it then replaces', async () => {
      for (const change of [
        { config: { ...AUTO, max_age_days: 1 } },
        { enabled: true },
        { applies_to: { names: ['mine'] } },
      ]) {
        const { o, agent, secret } = await newHolding();
        const fields = 'enabled' in change ? { enabled: false } : {};
        const { id } = await newPolicy(o, 'rotation', AUTO, {
          ...fields,
          applies_to: { names: ['mine', 'other'] },
        });
        expect((await agent.patch(`/policies/${id}`, { name: 'renamed', ...change })).status).toBe(200);
        at(31 * DAY);
        await run(o);
        expect(await versionOf(o, secret.id)).toBe(1);
        faults.clock = START;
      }
    });

    it('an agent has no secret replaced by itself, or sooner', async () => {
      const { o, agent, secret } = await newHolding();
      const plain = await newSecret(o, GENERATED);
      expect(codeOf(await agent.patch(`/secrets/${plain.id}`, { auto_rotate: true }))).toEqual(HELD);
      for (const rotate_every_seconds of [3600, 60])
        expect(codeOf(await agent.patch(`/secrets/${secret.id}`, { rotate_every_seconds }))).toEqual(HELD);
      for (const fields of [{ description: 'x' }, { auto_rotate: false }, { rotate_every_seconds: 3600 }])
        expect((await agent.patch(`/secrets/${secret.id}`, fields)).status).toBe(200);
      expect(codeOf(await agent.patch(`/secrets/${secret.id}`, { auto_rotate: true }))).toEqual(HELD);
      expect((await o.patch(`/secrets/${secret.id}`, { auto_rotate: true })).status).toBe(200);
    });

    it('an agent brings no secret under a policy that replaces its value', async () => {
      const { o, agent, secret } = await newHolding();
      await newPolicy(
        o,
        'rotation',
        { ...AUTO, max_age_days: 1 },
        { applies_to: { names: ['theirs'], types: ['api_key'] } },
      );
      for (const fields of [{ name: 'theirs' }, { type: 'api_key' }])
        expect([fields, ...codeOf(await agent.patch(`/secrets/${secret.id}`, fields))]).toEqual([
          fields,
          ...HELD,
        ]);
      const plain = await newSecret(o, GENERATED);
      expect((await agent.patch(`/secrets/${plain.id}`, { name: 'theirs' })).status).toBe(200);
    });

    it('an agent makes no secret due by letting it live longer, or again', async () => {
      const { o, agent, secret } = await newHolding();
      for (const ttlSeconds of [7200, 3600])
        expect((await agent.patch(`/secrets/${secret.id}`, { ttlSeconds })).status).toBe(200);
      at(2 * HOUR);
      for (const ttlSeconds of [60, null])
        expect(codeOf(await agent.patch(`/secrets/${secret.id}`, { ttlSeconds }))).toEqual(HELD);
      expect((await o.del(`/secrets/${secret.id}`)).status).toBe(204);
      expect(codeOf(await agent.post(`/secrets/${secret.id}/restore`, {}))).toEqual(HELD);
    });
  });

  it('replaces the value of a secret that opted in and was generated here; the rest is reported as due', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', AUTO, { applies_to: { environments: ['production'] } });
    const mine = await newSecret(o, { name: 'mine', ...opted });
    const others = [
      await newSecret(o, { name: 'not-opted-in', ...GENERATED }),
      await newSecret(o, { name: 'not-generated', type: 'password', auto_rotate: true }),
      await newSecret(o, { name: 'no-generator', type: 'database_url', auto_rotate: true }),
    ];
    at(30 * DAY);
    expect(await search(o)).toBe(1);
    expect(await due(o)).toEqual([
      'not-opted-in',
      ['not-generated', 'This service did not generate the current value.'],
      ['no-generator', 'Values of type database_url cannot be generated.'],
    ]);
    await job(o);
    const now = (await o.get(`/secrets/${mine.id}`)).json;
    expect([now.version, now.generated, now.auto_rotate, now.value === mine.value, now.value.length]).toEqual(
      [2, true, true, false, 32],
    );
    for (const { id } of others) expect(await versionOf(o, id)).toBe(1);
    expect(await raised(o, 'SECRET_ROTATED')).toMatchObject([
      { secret_id: mine.id, name: 'mine', environment: 'production', version: 2 },
    ]);
    const done = await entries(o, 'secret.auto_rotate');
    expect(done).toMatchObject([
      {
        actor: { kind: 'system', id: 'system' },
        resource: mine.id,
        resource_name: 'mine',
        environment: 'production',
        version: 2,
        status: 200,
      },
    ]);
    expect((await o.get(`/secrets/${mine.id}/versions`)).json.data[0]).toMatchObject({
      version: 2,
      created_by: 'system',
    });
    expect((await o.get(`/secrets/${mine.id}?version=1`)).json.value).toBe(mine.value);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
    await search(o);
    await job(o);
    expect(await versionOf(o, mine.id)).toBe(2);
    at(60 * DAY);
    await search(o);
    await job(o);
    expect(await versionOf(o, mine.id)).toBe(3);
  });

  slow('rotates each type that can be generated, and more than one batch', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', AUTO);
    const types = ['password', 'ssh_key', 'private_key', 'webhook_secret'];
    const secrets = await Promise.all(
      Array.from({ length: 45 }, (_, n) => newSecret(o, { ...opted, type: types[n % 4] })),
    );
    at(30 * DAY);
    await search(o);
    await job(o);
    expect(
      (await o.get('/secrets?limit=100')).json.data.map(({ version }: { version: number }) => version),
    ).toEqual(secrets.map(() => 2));
    expect(await raised(o, 'SECRET_ROTATED')).toHaveLength(45);
    expect(await due(o)).toEqual([]);
  });

  slow('runs only through the queue, from the schedule to the new value', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, opted);
    at(31 * DAY);
    await newPolicy(o, 'rotation', AUTO);
    await inCore(o, (core) => runTasks(core));
    expect(faults.queued).toContainEqual({ kind: 'job', job: 'rotate', org: o.id });
    await until(async () => (await versionOf(o, id)) === 2, 2000);
    expect(await versionOf(o, id)).toBe(2);
  });

  slow('jobs that overlap, or that the queue delivers again, rotate once', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', AUTO);
    const secrets = await Promise.all(Array.from({ length: 10 }, () => newSecret(o, opted)));
    at(30 * DAY);
    await search(o);
    await Promise.all([job(o), job(o), job(o), search(o)]);
    await job(o);
    for (const { id } of secrets) expect(await versionOf(o, id)).toBe(2);
    expect(await raised(o, 'SECRET_ROTATED')).toHaveLength(10);
    expect(await due(o)).toEqual([]);
  });

  slow('a job that is cut off at any call is done by the next one, once', async () => {
    const fates = ['before', 'after'] as const;
    for (let n = 1; n <= 4; n++)
      for (const fate of fates)
        for (const retryable of [true, false]) {
          const o = await newOrg();
          await newPolicy(o, 'rotation', AUTO);
          const secrets = [await newSecret(o, opted), await newSecret(o, opted)];
          faults.clock = START + 30 * DAY;
          await search(o);
          faults.gate = 0;
          faults.rpc = (at) => (at === n ? { fate, retryable } : null);
          await job(o).catch(() => null);
          faults.rpc = null;
          await search(o);
          await job(o);
          for (const { id } of secrets)
            expect(await versionOf(o, id), `call ${n} ${fate} ${retryable}`).toBe(2);
          expect(await raised(o, 'SECRET_ROTATED')).toHaveLength(2);
          faults.clock = START;
        }
  });

  slow('D1 that fails at any call of a job leaves the secret rotated once, or not yet', async () => {
    for (const fate of ['before', 'after', 'late', 'reset before', 'reset after', 'reset late'] as const) {
      const o = await newOrg();
      await newPolicy(o, 'rotation', AUTO);
      const { id } = await newSecret(o, opted);
      faults.clock = START + 30 * DAY;
      await search(o);
      let failed = false;
      faults.fail = (kind) => {
        if (kind !== 'batch' || failed) return null;
        failed = true;
        return fate;
      };
      await job(o).catch(() => null);
      faults.fail = null;
      for (const orphan of faults.orphans.splice(0)) await orphan().catch(() => null);
      faults.clock += MINUTE;
      await search(o);
      await job(o);
      expect([fate, await versionOf(o, id), (await raised(o, 'SECRET_ROTATED')).length]).toEqual([
        fate,
        2,
        1,
      ]);
      faults.clock = START;
    }
  });

  slow(
    'a value is too late for a secret that has changed since: rotated, amended, opted out, deleted, or no longer due',
    async () => {
      const changes: [string, (o: Caller, id: string, policy: string) => Promise<unknown>][] = [
        ['rotated', (o, id) => o.post(`/secrets/${id}/rotate`)],
        ['another type', (o, id) => o.patch(`/secrets/${id}`, { type: 'ssh_key' })],
        ['opted out', (o, id) => o.patch(`/secrets/${id}`, { auto_rotate: false })],
        ['a value from elsewhere', (o, id) => o.patch(`/secrets/${id}`, { value: 'theirs' })],
        ['deleted', (o, id) => o.del(`/secrets/${id}`)],
        ['deleted for good', (o, id) => o.del(`/secrets/${id}?permanent=true`)],
        ['policy deleted', (o, _, policy) => o.del(`/policies/${policy}`)],
        ['policy disabled', (o, _, policy) => o.patch(`/policies/${policy}`, { enabled: false })],
        [
          'policy without auto_rotate',
          (o, _, policy) => o.patch(`/policies/${policy}`, { config: { max_age_days: 30 } }),
        ],
        [
          'policy that allows more',
          (o, _, policy) => o.patch(`/policies/${policy}`, { config: { ...AUTO, max_age_days: 31 } }),
        ],
        [
          'policy of others',
          (o, _, policy) => o.patch(`/policies/${policy}`, { applies_to: { environments: ['staging'] } }),
        ],
      ];
      for (const [what, change] of changes) {
        faults.clock = START;
        const o = await newOrg();
        const policy = await newPolicy(o, 'rotation', AUTO);
        const { id } = await newSecret(o, opted);
        at(30 * DAY);
        await search(o);
        const told = (await asService(o, 'secret.rotations_waiting', {})) as {
          data: { id: string; etag: string }[];
        };
        expect(told.data, what).toMatchObject([{ id, type: 'password', etag: '"v1"' }]);
        await change(o, id, policy.id);
        const before = await o.get(`/secrets/${id}`);
        const events = await raised(o, 'SECRET_ROTATED');
        const value = { seal_id: 'ver_1', value_sealed: 'x', fingerprint: 'f', size: 1, generated: 1 };
        const late = await asService(o, 'secret.auto_rotate', { ...told.data[0], value });
        expect(late, what).toMatchObject({ kind: 'refused', refusal: { code: 'CONFLICT' } });
        expect((await o.get(`/secrets/${id}`)).text, what).toBe(before.text);
        expect(await raised(o, 'SECRET_ROTATED'), what).toEqual(events);
      }
    },
  );

  slow('a refused rotation is reported once per period, with the reason, and in the audit log', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', AUTO);
    const { id, name } = await newSecret(o, opted);
    const crowd = (bytes: number | null) =>
      inCore(o, ({ rows }) => {
        const before = rows.sealedBytes;
        rows.sealedBytes = bytes === null ? before : () => bytes;
      });
    at(30 * DAY);
    await search(o);
    await crowd(4 * 1024 ** 3);
    await job(o);
    await job(o);
    await search(o);
    await job(o);
    expect(await due(o)).toEqual([[name, 'LIMIT_REACHED']]);
    expect(await entries(o, 'secret.auto_rotate')).toMatchObject([
      { resource: id, outcome: 'failed', status: 409 },
    ]);
    expect(await entries(o, 'secret.rotation_due')).toMatchObject([
      { resource: id, reason: 'LIMIT_REACHED' },
    ]);
    at(60 * DAY);
    await search(o);
    await job(o);
    expect(await due(o)).toEqual([
      [name, 'LIMIT_REACHED'],
      [name, 'LIMIT_REACHED'],
    ]);
    await crowd(0);
    at(90 * DAY);
    await search(o);
    await job(o);
    expect(await versionOf(o, id)).toBe(2);
  });

  it('a secret without a new value for six hours is reported once, and still rotated once the job runs', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', AUTO);
    const { id } = await newSecret(o, opted);
    for (const hours of [0, 1, 5, 6, 7, 30]) {
      at(30 * DAY + hours * HOUR);
      expect(await search(o)).toBe(1);
      expect(await due(o)).toHaveLength(hours < 6 ? 0 : 1);
    }
    // A refusal in the same period is no news.
    const told = await asService(o, 'secret.rotation_due', { id, reason: 'LIMIT_REACHED' });
    expect([told.kind, (await due(o)).length]).toEqual(['ok', 1]);
    await inCore(o, ({ storage }) => void storage.sql.exec('update rotations set waiting = 1'));
    await job(o);
    expect(await versionOf(o, id)).toBe(2);
    expect(await due(o)).toHaveLength(1);
  });

  slow(
    'exposure report: a value that was rotated by a policy since a bulk read counts as replaced',
    async () => {
      const o = await newOrg();
      await newPolicy(o, 'rotation', AUTO);
      const { id, name } = await newSecret(o, opted);
      const leaked = await newKey(o);
      await leaked.o.get('/environments/production/values');
      at(30 * DAY);
      await search(o);
      await job(o);
      await o.patch(`/secrets/${id}`, { description: 'amended' });
      const { json } = await o.post(`/credentials/${leaked.id}/contain`);
      expect(json.read).toMatchObject([{ secret_id: id, name, version: 1 }]);
    },
  );

  slow('is the service’s own: no credential and no member can ask for it', async () => {
    const o = await newOrg();
    await newPolicy(o, 'rotation', AUTO);
    const { id } = await newSecret(o, opted);
    at(30 * DAY);
    await search(o);
    const owner = await ownerId(o);
    const input = {
      id,
      etag: '"v1"',
      value: { seal_id: 'ver_1', value_sealed: 'x', fingerprint: 'f', size: 1, generated: 1 },
    };
    for (const action of ['secret.auto_rotate', 'secret.rotation_due'] as const)
      expect(await asMember(o, owner, action, { input })).toMatchObject({
        status: 403,
        code: 'CREDENTIAL_KIND_NOT_ALLOWED',
      });
    expect(await versionOf(o, id)).toBe(1);
  });
});
