// Generated files over HTTP: which secrets are in them and who may have them made, what is refused, what
// waits for approval, and what is noted.
import { describe, expect, it } from 'vitest';
import { formatNames } from '../../../src/adapters/generate';
import { readToken } from '../../../src/auth/authentication/token';
import { readers } from '../../../src/gate/archive/readers';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { newAgent, newBreakGlass, newKey, newProvider, newSession } from '../../support/credentials';
import { faults, holdNext } from '../../support/faults';
import { askOf, evict, inCore, inGate } from '../../support/gate';
import { approvalIn, approve, newApprovalPolicy, newOffice, under } from '../../support/governance/approvals';
import { slow } from '../../support/slow';
import { moveLog } from '../../support/storage/planted';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const PATH = '/integrations/generate';
const make = (o: Caller, fields: Record<string, unknown> = {}, headers?: Record<string, string>) =>
  o.post(PATH, { format: 'json', environmentId: 'production', ...fields }, headers);
const held = async (o: Caller, fields: Record<string, unknown> = {}, headers?: Record<string, string>) =>
  JSON.parse((await make(o, fields, headers)).json.content);
const namesIn = ({ json }: { json: { error: { details: { path: string }[] } } }) =>
  json.error.details.map(({ path }) => path);
const entries = async (o: Caller, query = '') =>
  (await o.get(`/audit-log?action=integration.generate${query}`)).json.data;

describe('generate: a file', () => {
  slow('holds all active secrets of the environment, sorted, and the same bytes each time', async () => {
    const o = await newOrg();
    for (const [name, value] of [
      ['b', '2'],
      ['a/x', "it's"],
      ['B', 'é😀'],
      ['empty', ''],
    ])
      await newSecret(o, { name, value });
    await newSecret(o, { name: 'elsewhere', environment: 'staging' });
    const gone = await newSecret(o, { name: 'gone' });
    await o.del(`/secrets/${gone.id}`);
    await newSecret(o, { name: 'over', ttlSeconds: 60 });
    faults.clock = Date.now() + 61_000;
    const { status, json } = await make(o);
    expect(status).toBe(200);
    expect(json).toEqual({
      filename: 'secrets.json',
      contentType: 'application/json',
      content: '{\n  "B": "é😀",\n  "a/x": "it\'s",\n  "b": "2",\n  "empty": ""\n}\n',
    });
    expect((await make(o)).json).toEqual(json);
    expect(await held(o, { environmentId: 'staging' })).toHaveProperty('elsewhere');
  });

  it.each(formatNames)('of the format %s is made, also of no secrets at all', async (format) => {
    const o = await newOrg();
    expect((await make(o, { format })).status).toBe(200);
    const secret = await newSecret(o, { name: 'DB_URL', value: 'postgres://u:p@h/d' });
    const { status, json } = await make(o, { format });
    expect([status, json.content]).toEqual([200, expect.stringContaining('DB_URL')]);
    expect(json.content.endsWith('\n')).toBe(true);
    const isValueless = ['external-secrets', 'compose-secrets'].includes(format);
    if (isValueless) expect(json.content).not.toContain(secret.value);
  });

  it('contains only the named secrets; a name that is not an active secret within reach is 404 and named', async () => {
    const o = await newOrg();
    for (const name of ['A', 'B', 'app/C']) await newSecret(o, { name, value: name });
    const revoked = await newSecret(o, { name: 'R', ttlSeconds: 60 });
    expect(revoked.id).toMatch(/^sec_/);
    faults.clock = Date.now() + 61_000;
    expect(await held(o, { names: ['B', 'A'] })).toEqual({ A: 'A', B: 'B' });
    const missing = await make(o, { names: ['A', 'nope', 'R', 'B'] });
    expect([...codeOf(missing), namesIn(missing)]).toEqual([404, 'NOT_FOUND', ['nope', 'R']]);
    expect(missing.json.error.message).toContain('nope, R');
    const limited = await newKey(o, { secrets: ['app/*'] });
    expect(await held(limited.o)).toEqual({ 'app/C': 'app/C' });
    const outside = await make(limited.o, { names: ['app/C', 'A', 'nope'] });
    // What is outside its reach and what does not exist look alike.
    expect([...codeOf(outside), namesIn(outside)]).toEqual([404, 'NOT_FOUND', ['A', 'nope']]);
    expect(new Set(outside.json.error.details.map(({ message }: { message: string }) => message)).size).toBe(
      1,
    );
  });

  slow('takes one gate call more than 8 MiB each, no D1, and at most 16 MiB', async () => {
    const o = await newOrg();
    const value = 'x'.repeat(65_536);
    for (let from = 0; from < 200; from += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => newSecret(o, { name: `A${1000 + from + i}`, value })),
      );
    Object.assign(faults, { gate: 0, d1: 0 });
    const content = await held(o);
    expect([Object.keys(content).length, content.A1199 === value, faults.d1]).toEqual([200, true, 0]);
    expect(faults.gate).toBeLessThanOrEqual(4);
    // The ciphertexts are fetched where the gate does not hold them.
    await inCore(o, (core) => {
      for (const { id } of core.rows.after('secret', '', 500)) ciphertexts(core).drop(id);
    });
    expect(Object.keys(await held(o))).toHaveLength(200);
    for (let from = 200; from < 260; from += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => newSecret(o, { name: `A${1000 + from + i}`, value })),
      );
    expect(codeOf(await make(o))).toEqual([422, 'RESULT_TOO_LARGE']);
    expect(codeOf(await make(o, { format: 'properties', names: ['A1000'] }))).toEqual([200, undefined]);
  });

  slow('that escapes make larger than 24 MiB is refused', async () => {
    const o = await newOrg();
    const value = '\u0001'.repeat(65_536);
    for (let from = 0; from < 80; from += 20)
      await Promise.all(Array.from({ length: 20 }, (_, i) => newSecret(o, { name: `A${from + i}`, value })));
    expect(codeOf(await make(o, { format: 'properties' }))).toEqual([422, 'RESULT_TOO_LARGE']);
    expect((await make(o, { format: 'shell' })).status).toBe(200);
  });
});

describe('generate: validation', () => {
  slow('unknown formats, options and dialects, and options out of range, are 400', async () => {
    const o = await newOrg();
    for (const [fields, path] of [
      [{ format: 'toml' }, 'format'],
      [{ format: '__proto__' }, 'format'],
      [{ environmentId: undefined }, 'environmentId'],
      [{ names: [] }, 'names'],
      [{ names: Array.from({ length: 1001 }, (_, i) => `n${i}`) }, 'names'],
      [{ names: ['A', 'A'] }, 'names'],
      [{ names: ['../x'] }, 'names.0'],
      [{ other: 1 }, 'other'],
      [{ options: { dialect: 'node' } }, 'options.dialect'],
      [{ format: 'dotenv', options: { dialect: 'ruby' } }, 'options.dialect'],
      [{ format: 'kubernetes', options: { name: 'App' } }, 'options.name'],
      [{ format: 'kubernetes', options: { name: 'a'.repeat(254) } }, 'options.name'],
      [{ format: 'kubernetes', options: { namespace: 'a.b' } }, 'options.namespace'],
      [{ format: 'kubernetes', options: { namespace: 'a'.repeat(64) } }, 'options.namespace'],
      [{ format: 'external-secrets', options: { storeKind: 'Store' } }, 'options.storeKind'],
      [{ format: 'external-secrets', options: { refreshInterval: 'hourly' } }, 'options.refreshInterval'],
      [{ format: 'external-secrets', options: { store: 'a\nb: c' } }, 'options.store'],
    ] as const) {
      const { status, json } = await make(o, fields);
      expect([status, json.error?.code, json.error?.details?.[0]?.path], JSON.stringify(fields)).toEqual([
        400,
        'VALIDATION_FAILED',
        path,
      ]);
    }
  });

  slow('names every secret at fault, and no value', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', value: 'hidden\nvalue' });
    await newSecret(o, { name: 'B', value: 'fine' });
    await newSecret(o, { name: 'C', value: 'hidden\r' });
    const value = await make(o, { format: 'docker-env' });
    expect([...codeOf(value), namesIn(value)]).toEqual([422, 'VALUE_NOT_REPRESENTABLE', ['A', 'C']]);
    expect(value.text).not.toMatch(/hidden|fine/);
    await newSecret(o, { name: '1st' });
    await newSecret(o, { name: '2nd/x' });
    const name = await make(o, { format: 'dotenv' });
    expect([...codeOf(name), namesIn(name)]).toEqual([422, 'NAME_NOT_REPRESENTABLE', ['1st', '2nd/x']]);
    await newSecret(o, { name: 'B.C' });
    await newSecret(o, { name: 'B-C' });
    await newSecret(o, { name: 'B/C' });
    const collision = await make(o, { format: 'shell', names: ['B.C', 'A', 'B-C', 'B/C'] });
    expect([...codeOf(collision), namesIn(collision)]).toEqual([
      422,
      'NAME_COLLISION',
      ['B-C', 'B.C', 'B/C'],
    ]);
    expect((await make(o, { format: 'kubernetes', names: ['B.C', 'B-C', 'B/C'] })).status).toBe(200);
    expect(await entries(o)).toMatchObject([
      { status: 200 },
      { status: 422 },
      { status: 422 },
      { status: 422, outcome: 'failed' },
    ]);
  });
});

describe('generate: permission', () => {
  it('needs integrations:generate first and then secrets:read', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A' });
    const scoped = async (...scopes: string[]) => (await newKey(o, { scopes })).o;
    for (const [scopes, message] of [
      [['secrets:read'], 'integrations:generate'],
      [['integrations:sync', 'org:read'], 'integrations:generate'],
      [['integrations:generate', 'secrets:list'], 'secrets:read'],
    ] as const) {
      const refused = await make(await scoped(...scopes));
      expect([...codeOf(refused), refused.json.error.message]).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
        expect.stringContaining(message),
      ]);
    }
    expect((await make(await scoped('integrations:*', 'secrets:read'))).status).toBe(200);
    const provider = await newProvider(o);
    const emergency = await newBreakGlass(o);
    for (const caller of [provider.o, emergency.o])
      expect(codeOf(await make(caller))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
  });

  slow('of an agent: without secrets:read, and outside its reach, is SECRET_ACCESS_DENIED', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'app/A', value: 'a' });
    await newSecret(o, { name: 'B' });
    const agent = async (fields: object) =>
      (await newAgent(o, { scopes: ['integrations:generate', 'secrets:read'], ...fields })).o;
    expect(codeOf(await make(await agent({ scopes: ['integrations:generate'] })))).toEqual([
      403,
      'SECRET_ACCESS_DENIED',
    ]);
    expect(codeOf(await make(await agent({ scopes: ['secrets:read'] })))).toEqual([
      403,
      'INSUFFICIENT_SCOPE',
    ]);
    const named = await agent({ secrets: ['app/*'] });
    expect(await held(named)).toEqual({ 'app/A': 'a' });
    for (const names of [['B'], ['nothing'], ['app/A', 'B'], ['app/nothing']]) {
      const refused = await make(named, { names });
      expect([...codeOf(refused), namesIn(refused)]).toEqual([403, 'SECRET_ACCESS_DENIED', [names.at(-1)]]);
    }
    const placed = await agent({ environments: ['staging'] });
    for (const environmentId of ['production', 'unknown']) {
      const refused = await make(placed, { environmentId });
      expect(codeOf(refused)).toEqual([403, 'SECRET_ACCESS_DENIED']);
    }
  });

  it('an environment outside the reach of a key looks like one that does not exist', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A' });
    const key = await newKey(o, { environments: ['staging'] });
    const { json: outside, status } = await make(key.o);
    const { json: unknown } = await make(key.o, { environmentId: 'productiox' });
    expect([status, outside.error.code]).toEqual([404, 'NOT_FOUND']);
    expect(outside.error.message.replace('production', 'productiox')).toBe(unknown.error.message);
    expect((await make(key.o, { environmentId: 'staging' })).status).toBe(200);
  });

  slow('ends while the file is made, if the caller is revoked', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A' });
    const key = await newKey(o);
    await inCore(o, (core) => ciphertexts(core).drop(id));
    const { held: waits, release } = holdNext();
    const answer = make(key.o);
    await waits();
    expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
    release();
    expect(codeOf(await answer)).toEqual([401, 'TOKEN_REVOKED']);
  });

  /** What the gate answers to a request of the Worker. */
  const asked = async (o: Caller, fields: object) => {
    const { kind, org, hash } = readToken(o.token) as NonNullable<ReturnType<typeof readToken>>;
    const bearer = { kind, org, hash };
    const input = {
      format: 'json',
      environment: 'production',
      names: null,
      valueless: false,
      after: null,
      etag: null,
      ...fields,
    };
    return inGate(o, async (gate) => gate.call(await askOf(o, 'integration.generate', bearer, { input })));
  };

  it('gives no ciphertext for a caller who is revoked while it is fetched', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A' });
    const key = await newKey(o);
    await inCore(o, (core) => ciphertexts(core).drop(id));
    const { held: waits, release } = holdNext();
    const answer = asked(key.o, {});
    await waits();
    expect((await o.del(`/api-keys/${key.id}`)).status).toBe(204);
    release();
    expect((await answer).outcome).toMatchObject({ kind: 'refused', refusal: { code: 'TOKEN_REVOKED' } });
  });

  it('a file of secrets that have changed in the meantime is not sent', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A' });
    const { outcome } = await asked(o, {});
    const { etag } = (outcome as { data: { etag: string } }).data;
    const made = { etag, tries: 1, refusal: null };
    expect((await asked(o, { made })).outcome).toMatchObject({ kind: 'ok' });
    await o.patch(`/secrets/${id}`, { value: 'new' });
    expect((await asked(o, { made })).outcome).toMatchObject({ kind: 'more', data: { items: [{}] } });
    // It is not begun anew for ever.
    expect((await asked(o, { made: { ...made, tries: 3 } })).outcome).toMatchObject({
      kind: 'refused',
      refusal: { code: 'UNAVAILABLE' },
    });
  });

  it('comparing names with patterns takes bounded steps', async () => {
    const o = await newOrg();
    const secrets = Array.from({ length: 16 }, (_, i) => `${i}${'x'.repeat(250)}`);
    const limited = await newKey(o, { secrets });
    const names = Array.from({ length: 1000 }, (_, i) => `${i}${'n'.repeat(240)}`);
    expect(codeOf(await make(limited.o, { names }))).toEqual([422, 'RESULT_TOO_LARGE']);
    expect(codeOf(await make(limited.o, { names: names.slice(0, 5) }))).toEqual([404, 'NOT_FOUND']);
  });

  slow('a secret that is deleted while its ciphertext is fetched is in no file', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'A' });
    await newSecret(o, { name: 'B', value: 'b' });
    await inCore(o, (core) => ciphertexts(core).drop(id));
    const { held: waits, release } = holdNext();
    const answer = make(o);
    await waits();
    expect((await o.del(`/secrets/${id}`)).status).toBe(204);
    release();
    expect(JSON.parse((await answer).json.content)).toEqual({ B: 'b' });
  });
});

describe('approval: a generated file', () => {
  async function office() {
    const all = await newOffice();
    const asked = (
      await newKey(all.bob.o, {
        name: 'deploy',
        scopes: ['integrations:generate', 'secrets:*', 'approvals:read'],
      })
    ).o;
    await newSecret(all.o, { name: 'DB', value: 'd' });
    await newSecret(all.o, { name: 'free', value: 'f' });
    await newApprovalPolicy(all.o, ['secret.read'], { applies_to: { names: ['DB'] } });
    return { ...all, asked };
  }

  it('with a held secret waits as a whole, and is made once', async () => {
    const { o, ann, asked } = await office();
    const first = await make(asked);
    const { id } = approvalIn(first);
    expect(first.text).not.toContain('"content"');
    expect(codeOf(await make(asked, {}, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
    const shown = (await ann.o.get(`/approvals/${id}`)).json;
    expect(shown.summary).toBe(
      'The API key "deploy" asks to generate a file (json) of 2 secrets of the environment production, of which 1 needs approval.',
    );
    expect(JSON.stringify(shown.shown)).toContain('DB');
    await approve(ann, id);
    for (const other of [{ format: 'yaml' }, { names: ['DB'] }])
      expect(codeOf(await make(asked, other, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
    expect(await held(asked, {}, under(id))).toEqual({ DB: 'd', free: 'f' });
    expect(codeOf(await make(asked, {}, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
    const [again, used, , , , waited] = await entries(o);
    expect(again).toMatchObject({ status: 409 });
    expect(used).toMatchObject({
      status: 200,
      approval: id,
      names: ['DB', 'free'],
      file: { format: 'json', secrets: 2 },
    });
    expect(waited).toMatchObject({ status: 403, approval: id });
  });

  slow('of secrets that no policy covers needs none', async () => {
    const { asked } = await office();
    expect(await held(asked, { names: ['free'] })).toEqual({ free: 'f' });
    expect(codeOf(await make(asked, { names: ['DB'] }))).toEqual([403, 'APPROVAL_REQUIRED']);
    expect(codeOf(await make(asked, { format: 'external-secrets' }))).toEqual([403, 'APPROVAL_REQUIRED']);
  });

  it('that cannot be made does not use the approval; a held secret that changes voids it', async () => {
    const { o, ann, asked } = await office();
    const free = (await o.get('/secrets/by-name/free')).json.id;
    await o.patch(`/secrets/${free}`, { value: 'two\nlines' });
    const fields = { format: 'docker-env' };
    const { id } = approvalIn(await make(asked, fields));
    await approve(ann, id);
    expect(codeOf(await make(asked, fields, under(id)))).toEqual([422, 'VALUE_NOT_REPRESENTABLE']);
    await o.patch(`/secrets/${free}`, { value: 'one line' });
    expect((await make(asked, fields, under(id))).json.content).toBe('DB=d\nfree=one line\n');
    const next = approvalIn(await make(asked, fields)).id;
    await approve(ann, next);
    await newKey(o);
    const held = (await o.get('/secrets?prefix=DB')).json.data[0].id;
    await o.patch(`/secrets/${held}`, { value: 'new' });
    expect(codeOf(await make(asked, fields, under(next)))).toEqual([409, 'APPROVAL_MISMATCH']);
  });

  slow('of a hundred calls under one approval makes one file', async () => {
    const { ann, asked } = await office();
    const { id } = approvalIn(await make(asked));
    await approve(ann, id);
    const answers = await Promise.all(Array.from({ length: 100 }, () => make(asked, {}, under(id))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => codeOf(answer)[1] === 'APPROVAL_MISMATCH')).toHaveLength(99);
  });

  slow('more than 8 MiB of held values come under one approval', async () => {
    const { o, ann, asked } = await office();
    const value = 'x'.repeat(65_536);
    for (let from = 0; from < 140; from += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => newSecret(o, { name: `A${1000 + from + i}`, value })),
      );
    const { id } = approvalIn(await make(asked));
    await approve(ann, id);
    expect(Object.keys(await held(asked, {}, under(id)))).toHaveLength(142);
    expect(codeOf(await make(asked, {}, under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
  });
});

describe('audit: a generated file', () => {
  slow('leaves one entry with format, names and counts, and no value', async () => {
    const o = await newOrg();
    const { value } = await newSecret(o, { name: 'app/A' });
    await newSecret(o, { name: 'app/B' });
    const session = await newSession(o);
    await make(session.o, { names: ['app/B', 'app/A'] });
    await make(o, { format: 'compose-secrets' });
    await make(o, { names: ['nope'] });
    const { data } = (await o.get('/audit-log?action=integration.generate')).json;
    expect(data).toHaveLength(3);
    expect(data[0]).toMatchObject({ status: 404, outcome: 'failed', environment: 'production' });
    expect(data[0]).not.toHaveProperty('names');
    expect(data[1]).toMatchObject({
      status: 200,
      version: null,
      file: { format: 'compose-secrets', secrets: 2 },
    });
    expect(data[2]).toMatchObject({
      status: 200,
      environment: 'production',
      version: expect.any(Number),
      prefix: 'app/',
      names: ['app/A', 'app/B'],
      file: { format: 'json', secrets: 2 },
      actor: { kind: 'session' },
    });
    expect(JSON.stringify(data)).not.toContain(value);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
    await moveLog(o, 1);
    expect((await o.get('/audit-log/verify')).json.ok).toBe(true);
  });

  slow('names that are too long together are recorded by a common prefix', async () => {
    const o = await newOrg();
    const names = Array.from({ length: 80 }, (_, i) => `app/${100 + i}${'n'.repeat(220)}`);
    for (let from = 0; from < 80; from += 20)
      await Promise.all(names.slice(from, from + 20).map((name) => newSecret(o, { name })));
    const limited = await newKey(o, { secrets: ['app/*'] });
    expect((await make(limited.o, { names })).status).toBe(200);
    const [entry] = await entries(o);
    expect(entry).toMatchObject({
      prefix: 'app/1',
      patterns: ['app/*'],
      file: { format: 'json', secrets: 80 },
    });
    expect(entry).not.toHaveProperty('names');
  });

  slow('containment reports just the secrets that were in files', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const a = await newSecret(o, { name: 'A' });
    await newSecret(o, { name: 'AB' });
    const c = await newSecret(o, { name: 'C' });
    await newSecret(o, { name: 'listed' });
    await make(key.o, { names: ['A', 'C'], format: 'shell' });
    // What names a secret, and what was refused, gives no value away.
    await make(key.o, { names: ['listed'], format: 'external-secrets' });
    await make(key.o, { names: ['AB'], format: 'docker-env', options: { x: 'y' } });
    await o.patch(`/secrets/${a.id}`, { value: 'later' });
    const { json } = await o.post(`/credentials/${key.id}/contain`);
    const read = json.read.map(
      ({ secret_id, version }: { secret_id: string; version: number }) => `${secret_id}.${version}`,
    );
    expect(read.sort()).toEqual([`${a.id}.1`, `${c.id}.1`].sort());
  });

  it('counts as the last read of its secrets, even after a gate restart', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A' });
    await make(o, { names: ['A'] });
    await make(o, { format: 'compose-secrets' });
    const counted = () =>
      inCore(o, (core) => {
        const [environment] = core.rows
          .after('environment', '', 10)
          .filter(({ slug }) => slug === 'production');
        return [
          ...readers(core)
            .of(environment?.id as string)
            .values(),
        ].map(({ count, prefix }) => [count, prefix]);
      });
    expect(await counted()).toEqual([[1, 'A']]);
    await evict(o);
    expect(await counted()).toEqual([[1, 'A']]);
  });
});

it('idempotency: a file is generated again under the same key', async () => {
  const o = await newOrg();
  const { id } = await newSecret(o, { name: 'A', value: '1' });
  const headers = { 'Idempotency-Key': 'again' };
  expect(await held(o, {}, headers)).toEqual({ A: '1' });
  await o.patch(`/secrets/${id}`, { value: '2' });
  const again = await make(o, {}, headers);
  expect([JSON.parse(again.json.content), again.headers.get('idempotency-replayed')]).toEqual([
    { A: '2' },
    null,
  ]);
});

slow('generate: a file shows one point in time, also if values change while it is made', async () => {
  const o = await newOrg();
  const a = await newSecret(o, { name: 'A', value: '0' });
  const z = await newSecret(o, { name: 'Z', value: '0' });
  let written = false;
  const writing = (async () => {
    for (let i = 1; i <= 10; i++) {
      await o.patch(`/secrets/${a.id}`, { value: String(i) });
      await o.patch(`/secrets/${z.id}`, { value: String(i) });
    }
    written = true;
  })();
  while (!written) {
    const answer = await make(o);
    if (answer.status === 503) continue;
    const { A, Z } = JSON.parse(answer.json.content);
    expect(Number(A) - Number(Z), `A is ${A} and Z is ${Z}`).toBeOneOf([0, 1]);
  }
  await writing;
});

slow(
  'generate: a file of two pages shows one point in time, also if values change between them',
  async () => {
    const o = await newOrg();
    const a = await newSecret(o, { name: 'A', value: '0' });
    const value = 'x'.repeat(65_536);
    for (let from = 0; from < 100; from += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => newSecret(o, { name: `B${100 + from + i}`, value })),
      );
    const z = await newSecret(o, { name: 'Z', value: '0' });
    // The second page waits for D1 while the first one's moment passes.
    await inCore(o, (core) => ciphertexts(core).drop(z.id));
    const { held: waits, release } = holdNext();
    const answer = make(o);
    await waits();
    for (const { id } of [a, z]) expect((await o.patch(`/secrets/${id}`, { value: '9' })).status).toBe(200);
    release();
    const { A, Z } = JSON.parse((await answer).json.content);
    expect([A, Z]).toEqual(['9', '9']);
    expect(await entries(o)).toHaveLength(1);
  },
);
