// What stops a sync stops its writes: with slow targets, none begins after the reply to a cancellation, to
// the end of the caller or of the connection's creator, or to the deletion or change of the connection.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { permits } from '../../../src/gate/request/permits';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { newPolicy } from '../../support/governance/policies';
import {
  circleciConfig,
  herokuConfig,
  statusOf,
  syncAll,
  type Targets,
  TOKEN,
  useTargets,
} from '../../support/integrations/syncs';
import { signIn } from '../../support/signin/browser';
import { newIssuer, newTrust, newWorkload } from '../../support/signin/issuers';
import { few, slow } from '../../support/slow';
import { type Answer, type Caller, newOrg, useWorld, whoami } from '../../support/world';

useWorld();

let targets: Targets;
beforeEach(() => {
  targets = useTargets();
});
afterEach(() => vi.unstubAllGlobals());

const MANY = 150;
const SCOPES = { scopes: ['integrations:*', 'secrets:read'] };
const platforms = {
  circleci: { platform: 'circleci', config: circleciConfig },
  heroku: { platform: 'heroku', config: herokuConfig },
} as const;

interface Asked {
  o: Caller;
  id: string;
  integration: string | null;
  credential: string;
}

/**
 * Who asks, and with what: a credential with a config of its own, or an owner with a connection that the
 * credential stored.
 */
const ways: Record<
  string,
  (o: Caller, by: { id: string; o: Caller }, platform: keyof typeof platforms) => Promise<Asked>
> = {
  async config(o, by, platform) {
    const { json } = await by.o.post('/integrations/sync', {
      ...platforms[platform],
      environmentId: 'production',
    });
    return { o, id: json.syncId, integration: null, credential: by.id };
  },
  async connection(o, by, platform) {
    const { id } = (await by.o.post('/integrations', { kind: 'sync', name: 'x', ...platforms[platform] }))
      .json;
    const { json } = await o.post('/integrations/sync', { integrationId: id, environmentId: 'production' });
    return { o, id: json.syncId, integration: id, credential: by.id };
  },
};

/**
 * Works on a sync with a slow target and stops it at its third call; the calls that began after the reply.
 */
async function stoppedIn({ o, id }: Asked, stop: () => Promise<Answer>) {
  let calls: number = 0;
  let replied: number = Number.POSITIVE_INFINITY;
  const late: string[] = [];
  let answer: Promise<Answer> | null = null;
  const slowly = () => new Promise((resolve) => setTimeout(resolve, 30));
  targets.before = async ({ method, path }) => {
    if (Date.now() > replied) late.push(`${method} ${path}`);
    if (++calls === 3 || (calls === 2 && targets.writes().length === 1)) {
      answer ??= stop().then((given) => {
        replied = Date.now();
        return given;
      });
    }
    await slowly();
    return null;
  };
  await syncAll(o);
  const given = await (answer as Promise<Answer> | null);
  const { results, status } = await statusOf(o, id);
  return {
    late,
    given,
    status,
    codes: results.map(({ action, code = '' }: Record<string, string>) => `${action} ${code}`.trim()),
  };
}

async function filled() {
  const o = await newOrg();
  const data = Object.fromEntries(
    Array.from({ length: MANY }, (_, i) => [`NAME_${String(i).padStart(3, '0')}`, `${i}`]),
  );
  expect((await o.post('/integrations/import', { source: 'svc', onConflict: 'fail', data })).status).toBe(
    200,
  );
  return o;
}

const ends: Record<
  string,
  { of?: (keyof typeof ways)[]; code: string; by?: 'member' | 'session'; stop(asked: Asked): Promise<Answer> }
> = {
  cancel: { code: 'NOT_ATTEMPTED', stop: ({ o, id }) => o.post(`/integrations/syncs/${id}/cancel`) },
  revoke: { code: 'CALLER_REVOKED', stop: ({ o, credential }) => o.del(`/api-keys/${credential}`) },
  contain: {
    code: 'CALLER_REVOKED',
    stop: ({ o, credential }) => o.post(`/credentials/${credential}/contain`, {}),
  },
  // It ends session tokens, and API keys only if it is asked to.
  panic: {
    of: ['config'],
    code: 'CALLER_REVOKED',
    by: 'session',
    stop: ({ o }) => o.post('/panic', { reason: 'a laptop was stolen' }),
  },
  'removal of the member': {
    code: 'CALLER_REVOKED',
    by: 'member',
    stop: ({ o, credential }) => o.del(`/members/${credential}`),
  },
  'deletion of the connection': {
    of: ['connection'],
    code: 'NOT_ATTEMPTED',
    stop: ({ o, integration }) => o.del(`/integrations/${integration}`),
  },
  'change of the connection': {
    of: ['connection'],
    code: 'NOT_ATTEMPTED',
    stop: ({ o, integration }) =>
      o.patch(`/integrations/${integration}`, { config: { projectSlug: 'gh/other/app', token: TOKEN } }),
  },
};

describe('sync: no write begins after the reply', () => {
  const cases = Object.entries(ends).flatMap(([name, end]) =>
    (end.of ?? Object.keys(ways)).map((way) => [name, way, end] as const),
  );
  it.each(few(cases, 4))('sync: %s of a sync by %s', async (_, way, { by, code, stop }) => {
    const o = await filled();
    const credential = by ? await newSession(o, SCOPES) : await newKey(o, SCOPES);
    if (by === 'member') {
      const member = await signIn(o, 'admin');
      Object.assign(credential, { id: (await whoami(member)).json.id, o: member.o });
    }
    const asked = await (ways[way] as (typeof ways)[string])(o, credential, 'circleci');
    const { late, given, codes } = await stoppedIn(asked, () => stop(asked));
    expect([given?.status, late]).toEqual([given && given.status < 300 ? given.status : 'a success', []]);
    const written = codes.filter((one: string) => one === 'created').length;
    expect(written).toBe(Object.keys(targets.circleci).length);
    expect([written > 0, written < MANY - 3]).toEqual([true, true]);
    expect(codes.filter((one: string) => one === `failed ${code}`)).toHaveLength(MANY - written);
  });
});

it.each<[string, object, number]>([
  ['names', { secrets: ['NAME_1*'] }, 50],
  ['scopes', { scopes: ['integrations:*'] }, 0],
])(
  'sync: what a trust no longer allows is not sent after the reply that narrows its %s, and the rest is',
  async (_, fields, most) => {
    const o = await filled();
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, SCOPES);
    const workload = await newWorkload(o, trust, await issuer.sign());
    const asked = await (ways.config as (typeof ways)[string])(o, workload, 'circleci');
    const stop = () => o.patch(`/trusts/${trust.id}`, fields);
    const { late, codes, given, status } = await stoppedIn(asked, stop);
    expect([given?.status, status]).toEqual([200, 'completed']);
    // What the trust still allows is sent, some of it perhaps while the reply waits.
    expect(late.length).toBeLessThanOrEqual(most);
    const allowed = Object.keys(targets.circleci).filter((written) => written.startsWith('NAME_1'));
    expect(allowed.length).toBeGreaterThanOrEqual(most);
    // Of what it no longer allows, something was still to come when it changed.
    const skipped = codes.filter((one: string) => one === 'skipped NOT_FOUND').length;
    expect([codes.length, skipped > 0]).toEqual([MANY, true]);
  },
);

it.each(['alone', 'with others'])(
  'sync: what a trust no longer reaches is not deleted at the target after the reply that narrows it (%s)',
  async (how) => {
    const o = await filled();
    await (ways.config as (typeof ways)[string])(o, await newKey(o, SCOPES), 'circleci');
    await syncAll(o);
    const gone = (await o.get('/secrets?limit=100&prefix=NAME_0')).json.data.slice(40);
    for (const { id } of gone) await o.del(`/secrets/${id}`);
    targets.calls = [];
    const issuer = await newIssuer();
    const trust = await newTrust(o, issuer, SCOPES);
    const workload = await newWorkload(o, trust, await issuer.sign());
    const names = gone.map(({ name }: { name: string }) => name);
    const asked = await workload.o.post('/integrations/sync', {
      ...platforms.circleci,
      environmentId: 'production',
      prune: true,
      ...(how === 'alone' && { names }),
    });
    const stop = () => o.patch(`/trusts/${trust.id}`, { secrets: ['NAME_1*'] });
    const sync = { o, id: asked.json.syncId, integration: null, credential: '' };
    const { late, codes, given, status } = await stoppedIn(sync, stop);
    expect([given?.status, status, late]).toEqual([200, 'completed', []]);
    const left = names.filter((name: string) => name in targets.circleci).length;
    expect([names.length, left > 0]).toEqual([60, true]);
    // What was asked for by name is in the report.
    expect(codes.filter((one: string) => one === 'deleted')).toHaveLength(60 - left);
    expect(codes.filter((one: string) => one === 'skipped NOT_FOUND')).toHaveLength(
      how === 'alone' ? left : 0,
    );
  },
);

it.each(['made', 'changed'])(
  'sync: what an approval policy holds is not sent after the reply by which it is %s',
  async (how) => {
    const o = await filled();
    const config = { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } };
    const policy = how === 'changed' && (await newPolicy(o, 'approval', config, { enabled: false }));
    const asked = await (ways.config as (typeof ways)[string])(o, await newKey(o, SCOPES), 'circleci');
    const stop = () =>
      policy
        ? o.patch(`/policies/${policy.id}`, { enabled: true })
        : o.post('/policies', { name: 'held', kind: 'approval', config });
    const { late, codes, given, status } = await stoppedIn(asked, stop);
    expect([given?.status, status, late]).toEqual([policy ? 200 : 201, 'partial', []]);
    const written = codes.filter((one: string) => one === 'created').length;
    expect([codes.length, written < 32]).toEqual([MANY, true]);
  },
);

it('sync: a secret that is deleted while its chunk is written is not written after the reply', async () => {
  const o = await filled();
  const { id } = await (ways.config as (typeof ways)[string])(o, await newKey(o, SCOPES), 'circleci');
  const [secret] = (await o.get('/secrets?limit=1&prefix=NAME_012')).json.data;
  let deleted: Promise<Answer> | null = null;
  let writes = 0;
  targets.before = async ({ method }) => {
    if (method === 'POST' && ++writes >= 3) {
      deleted ??= o.del(`/secrets/${secret.id}`);
      await deleted;
    }
    return null;
  };
  await syncAll(o);
  const { results, status } = await statusOf(o, id);
  const named = results.find(({ name }: { name: string }) => name === 'NAME_012');
  const given = await (deleted as Promise<Answer> | null);
  expect([given?.status, writes, results.length, status]).toEqual([204, MANY - 1, MANY, 'completed']);
  expect([named.action, named.code]).toEqual(['skipped', 'NOT_FOUND']);
});

it('sync: nor is it for another secret that has its name by then', async () => {
  const o = await filled();
  const { id } = await (ways.config as (typeof ways)[string])(o, await newKey(o, SCOPES), 'circleci');
  const [secret] = (await o.get('/secrets?limit=1&prefix=NAME_012')).json.data;
  const written: string[] = [];
  let replaced: Promise<Answer> | null = null;
  const replace = async () => {
    await o.del(`/secrets/${secret.id}`);
    return o.post('/secrets', { name: 'NAME_012', type: 'password', value: 'another' });
  };
  targets.before = async ({ method, body }) => {
    if (method !== 'POST') return null;
    written.push(JSON.parse(body).value);
    if (written.length >= 3) {
      replaced ??= replace();
      await replaced;
    }
    return null;
  };
  await syncAll(o);
  const { status } = await statusOf(o, id);
  expect([(await (replaced as Promise<Answer> | null))?.status, status]).toEqual([201, 'completed']);
  expect([written.includes('12'), targets.circleci.NAME_012]).toEqual([false, 'another']);
});

slow('sync: one that is cancelled while its chunk is given back ends at once', async () => {
  const o = await filled();
  const issuer = await newIssuer();
  const trust = await newTrust(o, issuer, SCOPES);
  const workload = await newWorkload(o, trust, await issuer.sign());
  const { id } = await (ways.config as (typeof ways)[string])(o, workload, 'circleci');
  let writes = 0;
  let release = () => {};
  const cancelled = new Promise<void>((resolve) => {
    release = resolve;
  });
  const cancel = () => o.post(`/integrations/syncs/${id}/cancel`).finally(release);
  targets.before = async ({ method }) => {
    const n = method === 'POST' ? ++writes : 0;
    if (n === 5) {
      await o.patch(`/trusts/${trust.id}`, { secrets: ['NAME_1*'] });
      // By then, the next write of this worker has been refused; the others wait for the target.
      setTimeout(cancel, 200);
    } else if (n > 5) await cancelled;
    return null;
  };
  await syncAll(o);
  const { results, status } = await statusOf(o, id);
  expect([writes, results.length, status]).toEqual([8, MANY, 'partial']);
});

slow('sync: a chunk of which nothing is there any more ends no sync', async () => {
  const o = await filled();
  const asked = await (ways.config as (typeof ways)[string])(o, await newKey(o, SCOPES), 'circleci');
  const rows = [...(await o.get('/secrets?limit=100&prefix=NAME_0')).json.data].filter(
    ({ name }) => name >= 'NAME_030' && name < 'NAME_100',
  );
  const stop = async () => {
    const answers = await Promise.all(rows.map(({ id }) => o.del(`/secrets/${id}`)));
    return answers[0] as Answer;
  };
  const { codes, status } = await stoppedIn(asked, stop);
  expect([status, codes.length]).toEqual(['completed', MANY]);
  expect(codes.filter((one: string) => one === 'created').length).toBeGreaterThan(75);
});

describe('sync: stops that others ask for', () => {
  const byInline = async (o: Caller, by: Caller, id = '') =>
    (ways.config as (typeof ways)[string])(o, { id, o: by }, 'circleci');

  slow('sync: a session token that is revoked, and an agent whose key is', async () => {
    const o = await filled();
    const key = await newKey(o, { scopes: ['*'] });
    const session = await newSession(key.o, SCOPES);
    const ofSession = await byInline(o, session.o);
    expect(await stoppedIn(ofSession, () => o.del(`/access-tokens/${session.id}`))).toMatchObject({
      late: [],
      given: { status: 204 },
    });
    targets.circleci = {};
    targets.calls = [];
    const agent = await newAgent(key.o, SCOPES);
    const ofAgent = await byInline(o, agent.o);
    expect(await stoppedIn(ofAgent, () => o.del(`/agent-credentials/${agent.id}`))).toMatchObject({
      late: [],
      given: { status: 204 },
    });
  });

  slow(
    'sync: a batch is not sent, and a gate that starts again counts the permits of the one before',
    async () => {
      const o = await filled();
      const asked = await (ways.config as (typeof ways)[string])(o, { id: '', o }, 'circleci');
      const stop = async () => {
        await evict(o);
        return o.post(`/integrations/syncs/${asked.id}/cancel`);
      };
      expect(await stoppedIn(asked, stop)).toMatchObject({ late: [], given: { status: 200 } });
      // The listing is under way when the batch would be next.
      targets.heroku = {};
      targets.calls = [];
      // Before it is asked for, because the queue may begin at once.
      let batch: Promise<Asked> | null = null;
      let answer: Promise<Answer> | null = null;
      targets.before = async () => {
        answer ??= (batch as Promise<Asked>).then(({ id }) => o.post(`/integrations/syncs/${id}/cancel`));
        await answer;
        return null;
      };
      batch = (ways.config as (typeof ways)[string])(o, { id: '', o }, 'heroku');
      await batch;
      await syncAll(o);
      expect([(await (answer as Promise<Answer> | null))?.status, targets.writes(), targets.heroku]).toEqual([
        200,
        [],
        {},
      ]);
    },
  );

  it('sync: a permit does not outlast the caller', async () => {
    const o = await filled();
    const ends = Date.now() + 3_600_000;
    const key = await newKey(o, { ...SCOPES, expires_at: new Date(ends).toISOString() });
    const asked = await byInline(o, key.o, key.id);
    faults.clock = ends - 100;
    let expired = Number.POSITIVE_INFINITY;
    const late: number[] = [];
    targets.before = async () => {
      if (Date.now() > expired + 100) late.push(Date.now() - expired);
      if (targets.calls.length === 4) {
        faults.clock = ends + 1;
        expired = Date.now();
      }
      await new Promise((resolve) => setTimeout(resolve, 60));
      return null;
    };
    await syncAll(o);
    expect([late, targets.calls.length > 3]).toEqual([[], true]);
    const { results } = await statusOf(o, asked.id);
    expect(results.filter(({ code }: { code?: string }) => code === 'CALLER_REVOKED').length).toBeGreaterThan(
      MANY / 2,
    );
  });

  slow('sync: a sync that ends keeps nobody waiting', async () => {
    const o = await filled();
    await byInline(o, o);
    await syncAll(o);
    const isWaitedFor = await inCore(o, (core) => {
      permits(core).follow();
      const settled = permits(core)
        .settled()
        .then(() => false);
      return Promise.race([settled, new Promise((resolve) => setTimeout(() => resolve(true), 0))]);
    });
    expect(isWaitedFor).toBe(false);
  });
});
