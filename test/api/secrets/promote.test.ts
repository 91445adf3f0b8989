// Promotions: values of one environment become those of another in one change, as a dry run showed them, and
// only for whoever may read there and write here.
import { evictAllDurableObjects } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { routes } from '../../../src/domains';
import { journal } from '../../../src/gate/journal/records';
import { problemOf } from '../../model/invariants';
import { contain, newAgent, newBreakGlass, newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import {
  approvalIn,
  newApprovalPolicy,
  newOffice,
  plantApproval,
  under,
} from '../../support/governance/approvals';
import { newPolicy } from '../../support/governance/policies';
import { PATTERNS } from '../../support/limits/largest';
import { newGrant } from '../../support/people';
import { signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { newLongSecret } from '../../support/storage/planted';
import { type Caller, codeOf, newOrg, useWorld } from '../../support/world';

useWorld();

/** The route, to change something between its two calls of the gate. */
const promotion = routes.find(({ action }) => action === 'secret.promote') as { more?: unknown };
const more = promotion.more as (...sent: unknown[]) => Promise<unknown>;
const replaceMore = (by: (...sent: unknown[]) => Promise<unknown>) => {
  promotion.more = by;
};
afterEach(() => {
  promotion.more = more;
});

const put = async (o: Caller, environment: string, name: string, value: string, fields = {}) => {
  const path = `/secrets/by-name/${name}?environment=${environment}`;
  return (await o.call('PUT', path, { value, ...fields })).json;
};
const promote = (o: Caller, fields: object, headers?: Record<string, string>, to = 'production') =>
  o.post(`/environments/${to}/promote`, { from: 'staging', ...fields }, headers);
const valuesOf = async (o: Caller, environment = 'production') =>
  (await o.get(`/environments/${environment}/values`)).json.values;
const result = (fields: Record<string, string[]>) => ({
  created: [],
  updated: [],
  unchanged: [],
  removed: [],
  ...fields,
});

/** An organisation with names in every state. */
async function newPair() {
  const o = await newOrg();
  await put(o, 'staging', 'NEW', 'new', { type: 'password', description: 'a new one', tags: { team: 'a' } });
  await put(o, 'staging', 'OTHER', 'two');
  await put(o, 'staging', 'SAME', 'same');
  await put(o, 'production', 'OTHER', 'one', { type: 'json', tags: { team: 'b' } });
  await put(o, 'production', 'SAME', 'same');
  await put(o, 'production', 'EXTRA', 'extra');
  return o;
}

describe('promotion', () => {
  it('creates, updates and leaves secrets in one change, and answers names alone', async () => {
    const o = await newPair();
    const before = await inCore(o, (core) => journal(core).position());
    const answer = await promote(o, {});
    expect([answer.status, answer.json]).toEqual([
      200,
      result({ created: ['NEW'], updated: ['OTHER'], unchanged: ['SAME'] }),
    ]);
    expect(await inCore(o, (core) => journal(core).position())).toBe(before + 1);
    expect(await valuesOf(o)).toEqual({ NEW: 'new', OTHER: 'two', SAME: 'same', EXTRA: 'extra' });
    expect((await o.get('/secrets/by-name/NEW')).json).toMatchObject({
      type: 'password',
      description: 'a new one',
      tags: { team: 'a' },
      version: 1,
    });
    expect((await o.get('/secrets/by-name/OTHER')).json).toMatchObject({
      type: 'json',
      tags: { team: 'b' },
      version: 2,
    });
    expect((await o.get('/secrets/by-name/SAME')).json.version).toBe(1);
    expect((await promote(o, {})).json).toEqual(result({ unchanged: ['NEW', 'OTHER', 'SAME'] }));
    const events = (await o.get('/events?types=SECRET_CREATED,SECRET_UPDATED&limit=100')).json.data;
    expect(events.slice(-2).map(({ type, data }: never) => [type, (data as { name: string }).name])).toEqual([
      ['SECRET_CREATED', 'NEW'],
      ['SECRET_UPDATED', 'OTHER'],
    ]);
    expect(await problemOf(o)).toBe(null);
  });

  slow('promotes the named, those with a prefix, and prunes what the source does not have', async () => {
    const o = await newPair();
    expect((await promote(o, { names: ['NEW'] })).json).toEqual(result({ created: ['NEW'] }));
    expect((await promote(o, { prefix: 'OTH', prune: true })).json).toEqual(result({ updated: ['OTHER'] }));
    expect((await promote(o, { prune: true })).json).toEqual(
      result({ unchanged: ['NEW', 'OTHER', 'SAME'], removed: ['EXTRA'] }),
    );
    expect(Object.keys(await valuesOf(o)).sort()).toEqual(['NEW', 'OTHER', 'SAME']);
    // A repeat finds nothing to remove.
    expect((await promote(o, { names: ['EXTRA'], prune: true })).json).toEqual(result({}));
    const [gone] = (await o.get('/secrets?environment=production&status=deleted')).json.data;
    expect((await o.post(`/secrets/${gone.id}/restore`)).status).toBe(200);
  });

  slow(
    'validation: refuses an invalid promotion, or one of a source that is not active, as a whole',
    async () => {
      const o = await newPair();
      expect(codeOf(await promote(o, { names: ['NEW'], prefix: 'N' }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(codeOf(await promote(o, { from: 'production' }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(codeOf(await promote(o, { from: 'nowhere' }))).toEqual([404, 'NOT_FOUND']);
      expect(codeOf(await promote(o, {}, {}, 'nowhere'))).toEqual([404, 'NOT_FOUND']);
      const missing = await promote(o, { names: ['NEW', 'NONE'] });
      expect([codeOf(missing), missing.json.error.details[0].path]).toEqual([[404, 'NOT_FOUND'], 'NONE']);
      await put(o, 'staging', 'BRIEF', 'x', { ttlSeconds: 60 });
      await put(o, 'production', 'SAME', 'other', { ttlSeconds: 60 });
      faults.clock = Date.now() + 61_000;
      expect(codeOf(await promote(o, { names: ['BRIEF'] }))).toEqual([404, 'NOT_FOUND']);
      const expired = await promote(o, { names: ['SAME', 'NEW'] });
      expect([codeOf(expired), expired.json.error.details[0].path]).toEqual([
        [410, 'SECRET_EXPIRED'],
        'SAME',
      ]);
      expect((await promote(o, { prefix: 'B', prune: true })).json).toEqual(result({}));
      faults.clock = null;
      expect(await valuesOf(o)).toMatchObject({ OTHER: 'one' });
    },
  );

  slow('policy: a name that a naming policy does not allow there refuses all, a dry run too', async () => {
    const o = await newPair();
    await newPolicy(o, 'naming', { pattern: '^[A-M]+$' }, { applies_to: { environments: ['production'] } });
    for (const dryRun of [true, false])
      expect(codeOf(await promote(o, { dryRun }))).toEqual([422, 'POLICY_VIOLATED']);
    expect(await valuesOf(o)).toMatchObject({ OTHER: 'one' });
  });

  slow('audit: one entry names what was written and copied, and the reader of each source', async () => {
    const o = await newPair();
    const { id, o: key } = await newKey(o);
    await promote(key, {});
    const [entry] = (await o.get('/audit-log?action=secret.promote')).json.data;
    const idOf = async (environment: string, name: string) =>
      (await o.get(`/secrets?environment=${environment}&prefix=${name}`)).json.data[0].id;
    const source = await idOf('staging', 'OTHER');
    expect(entry).toMatchObject({
      environment: 'production',
      imported: { source: 'staging', created: 1, updated: 1, skipped: 1, names: ['NEW', 'OTHER'] },
    });
    expect(entry.imported.copied[source]).toBe(1);
    expect(entry.imported.versions[await idOf('production', 'OTHER')]).toBe(2);
    expect(JSON.stringify(entry)).not.toContain('"two"');
    const found = (await o.get(`/audit-log?resource=${source}&action=secret.promote`)).json.data;
    expect(found).toHaveLength(1);
    // A gate that starts again counts them from the log.
    for (const restart of [async () => {}, evictAllDurableObjects]) {
      await restart();
      const { data } = (await o.get(`/secrets/${source}/readers`)).json;
      expect(data).toMatchObject([{ actor: { id }, count: 1, version: 1 }]);
    }
    expect((await o.get(`/secrets/${await idOf('staging', 'SAME')}/readers`)).json.data).toEqual([]);
    const report = (await contain(o, id)).json;
    expect(report.read).toMatchObject([{ name: 'NEW' }, { name: 'OTHER' }]);
  });
});

describe('promotion: what was shown is what is promoted', () => {
  it('concurrency: with the ETag of a dry run, a change of any secret that takes part is 412', async () => {
    const o = await newPair();
    const dry = await promote(o, { prune: true, dryRun: true });
    expect(dry.json).toEqual(
      result({ created: ['NEW'], updated: ['OTHER'], unchanged: ['SAME'], removed: ['EXTRA'] }),
    );
    expect(await valuesOf(o)).toEqual({ OTHER: 'one', SAME: 'same', EXTRA: 'extra' });
    const tag = { 'If-Match': dry.headers.get('etag') as string };
    expect(dry.headers.get('cache-control')).toBe('no-store, no-transform');
    for (const [environment, name] of [
      ['staging', 'OTHER'],
      ['production', 'OTHER'],
      ['staging', 'SAME'],
      ['production', 'EXTRA'],
    ] as const) {
      await put(o, environment, name, `changed in ${environment}`);
      const answer = await promote(o, { prune: true }, tag);
      expect(codeOf(answer), `${environment} ${name}`).toEqual([412, 'VERSION_CONFLICT']);
      tag['If-Match'] = (await promote(o, { prune: true, dryRun: true })).headers.get('etag') as string;
    }
    expect((await promote(o, { prune: true }, tag)).status).toBe(200);
    expect(await valuesOf(o)).toEqual(await valuesOf(o, 'staging'));
  });

  slow(
    'concurrency: a source that changes between the two calls of the gate is promoted as it is',
    async () => {
      const o = await newPair();
      let rounds = 0;
      replaceMore(async (...sent) => {
        const encrypted = await more(...sent);
        if (++rounds === 1) await put(o, 'staging', 'OTHER', 'three');
        return encrypted;
      });
      expect((await promote(o, { names: ['OTHER'] })).json).toEqual(result({ updated: ['OTHER'] }));
      expect(rounds).toBe(2);
      expect((await valuesOf(o)).OTHER).toBe('three');
    },
  );

  slow('concurrency: promotions and changes of the same names lose nothing', async () => {
    const o = await newPair();
    faults.delay = 10;
    const answers = await Promise.all([
      ...[1, 2, 3].map(() => promote(o, {})),
      o.call('PUT', '/secrets/by-name/NEW?environment=production', { value: 'put' }),
      o.call('PUT', '/secrets/by-name/OTHER?environment=staging', { value: 'put' }),
    ]);
    faults.delay = 0;
    for (const { status, text } of answers) expect([200, 201], text).toContain(status);
    expect(await problemOf(o)).toBe(null);
  });

  slow('idempotency: a replay returns the first response, and a dry run is not kept', async () => {
    const o = await newPair();
    const key = { 'Idempotency-Key': 'p' };
    const first = await promote(o, {}, key);
    const again = await promote(o, {}, key);
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
    expect((await o.get('/secrets/by-name/OTHER')).json.version).toBe(2);
    await promote(o, { dryRun: true }, { 'Idempotency-Key': 'dry' });
    const dry = await promote(o, { dryRun: true }, { 'Idempotency-Key': 'dry' });
    expect(dry.headers.get('idempotency-replayed')).toBe(null);
  });
});

describe('promotion: who may', () => {
  const refused = async (o: Caller, scopes: string[], fields: object = {}) => {
    const { o: key } = await newKey(o, { scopes });
    return codeOf(await promote(key, fields));
  };

  it('permission: it needs secrets:read there, secrets:write here, and secrets:delete to prune', async () => {
    const o = await newPair();
    const lacking = [403, 'INSUFFICIENT_SCOPE'];
    expect(await refused(o, ['secrets:write'])).toEqual(lacking);
    // Before the body is looked at.
    expect(await refused(o, ['secrets:write'], { names: [] })).toEqual(lacking);
    expect(await refused(o, ['secrets:read'])).toEqual(lacking);
    expect(await refused(o, ['secrets:read', 'secrets:write'], { prune: true })).toEqual(lacking);
    const { o: glass } = await newBreakGlass(o);
    expect(codeOf(await promote(glass, {}))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
    expect(await valuesOf(o)).toEqual({ OTHER: 'one', SAME: 'same', EXTRA: 'extra' });
  });

  it('permission: limits to environments and names hold on both sides', async () => {
    const o = await newPair();
    const { o: here } = await newKey(o, { scopes: ['*'], environments: ['production'] });
    const nowhere = await promote(here, { from: 'nowhere' });
    expect(codeOf(nowhere)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await promote(here, {})).json.error.code).toBe('INSUFFICIENT_SCOPE');
    const { o: there } = await newKey(o, { scopes: ['*'], environments: ['staging'] });
    expect((await promote(there, {})).json.error.code).toBe('INSUFFICIENT_SCOPE');
    const { o: some } = await newKey(o, { scopes: ['*'], secrets: ['SAME', 'EXTRA', 'NONE'] });
    for (const name of ['NEW', 'ABSENT'])
      expect(codeOf(await promote(some, { names: [name] })), name).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await promote(some, { prune: true, dryRun: true })).json).toEqual(
      result({ unchanged: ['SAME'], removed: ['EXTRA'] }),
    );
    const { o: agent } = await newAgent(o, { scopes: ['secrets:*'], environments: ['production'] });
    expect(codeOf(await promote(agent, {}))).toEqual([403, 'SECRET_ACCESS_DENIED']);
  });

  slow('permission: a prefix reaches no name that the caller may not write here', async () => {
    const o = await newPair();
    const reader = await signIn(o, 'viewer');
    const { id } = (await o.get('/members')).json.data.at(-1);
    await newGrant(o, 'member', id, { environments: ['staging'] });
    const here = { permission: 'write', environments: ['production'], secrets: ['SAME'] };
    await newGrant(o, 'member', id, here);
    expect(codeOf(await promote(reader.o, {}))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect((await promote(reader.o, { prefix: 'SAME' })).json).toEqual(result({ unchanged: ['SAME'] }));
  });

  slow('audit: an entry is shown to who reaches both environments', async () => {
    const o = await newPair();
    await promote(o, {});
    const entriesFor = async (environments: string[]) => {
      const { o: key } = await newKey(o, { scopes: ['audit:read', 'secrets:*'], environments });
      expect(codeOf(await promote(key, { dryRun: true }))[0]).toBe(environments.length > 1 ? 200 : 403);
      return (await key.get('/audit-log?action=secret.promote')).json.data.length;
    };
    expect(await entriesFor(['production'])).toBe(1);
    expect(await entriesFor(['production', 'staging'])).toBe(3);
  });

  slow('permission: pruning passes over names that the caller may not read there', async () => {
    const o = await newPair();
    await put(o, 'production', 'MORE', 'more');
    const member = await signIn(o, 'developer', { environments: ['production'] });
    const { id } = (await o.get('/members')).json.data.at(-1);
    await newGrant(o, 'member', id, { environments: ['staging'], secrets: ['EXTRA'] });
    for (const name of ['NEW', 'ABSENT'])
      expect(codeOf(await promote(member.o, { names: [name] })), name).toEqual([403, 'INSUFFICIENT_SCOPE']);
    // Whether the source has MORE is none of its business.
    expect((await promote(member.o, { prune: true })).json).toEqual(result({ removed: ['EXTRA'] }));
    expect(codeOf(await promote(member.o, { names: ['MORE'], prune: true }))[0]).toBe(403);
    expect(await valuesOf(o)).toMatchObject({ MORE: 'more' });
  });

  slow('permission: equality is told only to who may read the target', async () => {
    const o = await newPair();
    const blind = await newAgent(o, { scopes: ['secrets:write'] });
    const [{ id }] = (await o.get('/secrets?environment=staging&prefix=SAME')).json.data;
    const grant = { kind: 'grant', grantee: { type: 'agent', id: blind.id }, permission: 'read' };
    expect((await o.post(`/secrets/${id}/share`, grant)).status).toBe(201);
    expect((await promote(blind.o, { names: ['SAME'] })).json).toEqual(result({ updated: ['SAME'] }));
  });
});

describe('promotion: bounds', () => {
  const many = async (o: Caller, from: number, size: number, value: string) => {
    const data = Object.fromEntries(Array.from({ length: size }, (_, n) => [`N_${from + n}`, value]));
    const body = { source: 'svc', onConflict: 'fail', environmentId: 'staging', data };
    expect((await o.post('/integrations/import', body)).status).toBe(200);
  };

  slow('limits: more than 4 MiB of values, and more than 2,000 secrets, are 422', async () => {
    const o = await newOrg();
    for (let from = 0; from < 65; from += 13) await many(o, from, 13, 'x'.repeat(65_536));
    expect(codeOf(await promote(o, { dryRun: true }))).toEqual([422, 'RESULT_TOO_LARGE']);
    const most = { names: Array.from({ length: 64 }, (_, n) => `N_${n}`) };
    expect((await promote(o, most)).json.created).toHaveLength(64);
    expect((await promote(o, {})).json).toMatchObject({ created: ['N_64'] });
    expect(await problemOf(o)).toBe(null);
    await many(o, 65, 1936, 'x');
    expect(codeOf(await promote(o, { dryRun: true }))).toEqual([422, 'RESULT_TOO_LARGE']);
  });

  slow(
    'limits: a secret with 1,000 versions loses its oldest, and the bytes that remain are counted',
    async () => {
      const o = await newOrg();
      const { id } = await newLongSecret(o);
      const { name } = (await o.get(`/secrets/${id}`)).json;
      for (const [value, fields] of [
        ['first', { names: [name] }],
        ['second', { prefix: name }],
      ] as const) {
        await put(o, 'staging', name, value);
        expect((await promote(o, fields)).json).toEqual(result({ updated: [name] }));
      }
      expect((await o.get(`/secrets/${id}?version=2`)).status).toBe(404);
      expect(await problemOf(o)).toBe(null);
    },
  );

  it('limits: the limits of the organisation count what is copied', async () => {
    const o = await newPair();
    await inCore(o, ({ rows }) => {
      rows.sealedBytes = () => 4 * 1024 ** 3 - 100;
    });
    // Each would fit, both do not.
    expect(codeOf(await promote(o, { names: ['NEW', 'OTHER'] }))).toEqual([409, 'LIMIT_REACHED']);
    expect((await promote(o, { names: ['OTHER'] })).status).toBe(200);
    await inCore(o, ({ rows }) => {
      rows.count = () => 100_000;
    });
    for (const dryRun of [true, false])
      expect(codeOf(await promote(o, { names: ['NEW'], dryRun }))).toEqual([409, 'LIMIT_REACHED']);
  });

  it('limits: comparing many long names with many patterns is 422', async () => {
    const o = await newOrg();
    const { o: key } = await newKey(o, { scopes: ['*'], secrets: ['N*', ...PATTERNS.slice(1)] });
    const names = Array.from({ length: 1000 }, (_, n) => `N_${n}_${'x'.repeat(240)}`);
    expect(codeOf(await promote(key, { names }))).toEqual([422, 'RESULT_TOO_LARGE']);
    expect(codeOf(await promote(key, { names: names.slice(0, 100) }))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('promotion: approval policies', () => {
  it('approval: one on secret.update holds it as the change of the target, and rests on the source', async () => {
    const o = await newPair();
    await newApprovalPolicy(o, ['secret.update'], { applies_to: { environments: ['production'] } });
    expect((await promote(o, { dryRun: true })).json.updated).toEqual(['OTHER']);
    expect((await promote(o, { names: ['NEW'] })).json.created).toEqual(['NEW']);
    const held = approvalIn(await promote(o, {}));
    expect(held.operation).toBe('secret.update');
    await plantApproval(o, held.id);
    await put(o, 'staging', 'OTHER', 'swapped');
    expect(codeOf(await promote(o, {}, under(held.id)))).toEqual([409, 'APPROVAL_MISMATCH']);
    const next = approvalIn(await promote(o, {}));
    await plantApproval(o, next.id);
    expect((await promote(o, {}, under(next.id))).json.updated).toEqual(['OTHER']);
    expect((await valuesOf(o)).OTHER).toBe('swapped');
    expect(codeOf(await promote(o, {}, under(next.id)))[0]).toBe(409);
  });

  it.each(['secret.read', 'secret.share'])(
    'approval: one on %s holds it as what it does to each source, and equality is not told',
    async (operation) => {
      const o = await newPair();
      await newApprovalPolicy(o, [operation], { applies_to: { environments: ['staging'], names: ['NEW'] } });
      const held = approvalIn(await promote(o, {}));
      expect(held.operation).toBe(operation);
      expect(await valuesOf(o)).toEqual({ OTHER: 'one', SAME: 'same', EXTRA: 'extra' });
      const { summary } = (await o.get(`/approvals/${held.id}`)).json;
      expect(summary).toMatch(/promote 2 secrets from staging to production, of which 1 exist/);
      await plantApproval(o, held.id);
      expect((await promote(o, {}, under(held.id))).json.created).toEqual(['NEW']);
      expect((await promote(o, { dryRun: true })).json.unchanged.includes('NEW')).toBe(
        operation === 'secret.share',
      );
    },
  );

  it('approval: deciders are shown each name that a promotion writes or deletes, or it is not held', async () => {
    const { o, ann, bob } = await newOffice();
    for (const name of ['NEW', 'OTHER', 'PAYMENTS']) await put(o, 'staging', name, 'new');
    for (const name of ['OTHER', 'EXTRA']) await put(o, 'production', name, 'old');
    await newApprovalPolicy(o, ['secret.read'], { applies_to: { environments: ['staging'] } });
    const held = approvalIn(await promote(bob.o, { prune: true }));
    const { shown } = (await ann.o.get(`/approvals/${held.id}`)).json;
    expect(shown).toContainEqual({ name: 'Creates', value: 'NEW, PAYMENTS' });
    expect(shown).toContainEqual({ name: 'Replaces', value: 'OTHER' });
    expect(shown).toContainEqual({ name: 'Deletes', value: 'EXTRA' });
    for (let n = 0; n < 200; n++) await put(o, 'staging', `N_${n}_${'x'.repeat(245)}`, 'x');
    expect(codeOf(await promote(bob.o, {}))).toEqual([409, 'LIMIT_REACHED']);
    expect(codeOf(await promote(bob.o, { prefix: 'N_1' }))).toEqual([403, 'APPROVAL_REQUIRED']);
  });

  slow('approval: one on secret.delete holds what is pruned', async () => {
    const o = await newPair();
    await newApprovalPolicy(o, ['secret.delete'], { applies_to: { environments: ['production'] } });
    const held = approvalIn(await promote(o, { names: ['EXTRA'], prune: true }));
    expect(held.operation).toBe('secret.delete');
    expect((await promote(o, { names: ['NEW'] })).status).toBe(200);
  });
});
