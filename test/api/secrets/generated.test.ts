// Values that the service generates: told apart from those that callers give, shown once, and never put in
// the place of a value that somebody else issued unless that is asked for.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ciphertexts } from '../../../src/gate/journal/ciphertexts';
import { problemOf } from '../../model/invariants';
import { newKey, newProvider } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { slow } from '../../support/slow';
import {
  type Answer,
  type Caller,
  codeOf,
  db,
  GENERATED,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();
afterEach(() => vi.restoreAllMocks());

const pathsOf = ({ json }: Answer) => json.error.details.map(({ path }: { path: string }) => path);
const isGenerated = async (o: Caller, id: string) =>
  (await o.get(`/secrets/${id}`)).json.generated as boolean;
const provide = (token: string, verb: string, fields: object) =>
  send('POST', `/api/v1/provider/${verb}`, { token, body: { environment: 'production', ...fields } });

describe('generate', () => {
  it('generated is true if the service made the current value, in every response that shows a secret', async () => {
    const o = await newOrg();
    const { token } = await newProvider(o);
    const created = await o.post('/secrets', { name: 'A', type: 'password', value: 'given' });
    const { id } = created.json;
    expect(created.json.generated).toBe(false);
    const steps: [() => Promise<Answer>, boolean][] = [
      [() => o.post(`/secrets/${id}/rotate`), true],
      [() => o.patch(`/secrets/${id}`, { description: 'metadata alone', name: 'B' }), true],
      [() => o.post(`/secrets/${id}/rollback`, { version: 1 }), false],
      [() => o.post(`/secrets/${id}/rollback`, { version: 2 }), true],
      [() => o.post(`/secrets/${id}/rotate`, { value: 'given again' }), false],
      [() => o.post(`/secrets/${id}/rotate`, { generate: { length: 64 } }), true],
      [() => o.patch(`/secrets/${id}`, { value: 'by hand' }), false],
      [() => o.post(`/secrets/${id}/rotate`, {}), true],
    ];
    for (const [at, [step, generated]] of steps.entries()) {
      const answer = await step();
      expect([answer.status, answer.json.generated], `step ${at}`).toEqual([200, generated]);
      for (const path of [
        `/secrets/${id}`,
        `/secrets/by-name/${answer.json.name}`,
        `/secrets/${id}?version=1`,
      ])
        expect((await o.get(path)).json.generated, path).toBe(generated);
      expect((await o.get('/secrets')).json.data[0].generated).toBe(generated);
    }
    // The value that stands, given by who may read it, makes no version, and changes nothing.
    const { value, version } = (await o.get(`/secrets/${id}`)).json;
    expect((await o.patch(`/secrets/${id}`, { value })).json).toMatchObject({ version, generated: true });
    // From who may not read it, it is a value like any other.
    const writer = await newKey(o, { scopes: ['secrets:write'] });
    expect((await writer.o.patch(`/secrets/${id}`, { value })).json).toMatchObject({
      version: version + 1,
      generated: false,
    });
    await o.post(`/secrets/${id}/rotate`);
    await o.del(`/secrets/${id}`);
    expect((await o.get('/secrets?status=deleted')).json.data[0].generated).toBe(true);
    expect((await o.post(`/secrets/${id}/restore`)).json.generated).toBe(true);
    expect((await provide(token, 'rotate', { secretName: 'B', newValue: 'pushed' })).status).toBe(200);
    expect(await isGenerated(o, id)).toBe(false);
    await o.post(`/secrets/${id}/rotate`);
    expect((await provide(token, 'issue', { secretName: 'B', value: 'pushed', ttlSeconds: 60 })).status).toBe(
      200,
    );
    expect(await isGenerated(o, id)).toBe(false);
    expect(await problemOf(o)).toBe(null);
  });

  slow('integrity: D1 stores generated for every version, under its MAC', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { type: 'password' });
    await o.post(`/secrets/${id}/rotate`);
    await o.post(`/secrets/${id}/rollback`, { version: 1 });
    const { results } = await db
      .prepare('select generated from secret_versions where secret_id = ? order by version')
      .bind(id)
      .all();
    expect(results).toEqual([{ generated: null }, { generated: 1 }, { generated: null }]);
    // What D1 is made to say does not pass: a given value would count as one that may be replaced.
    await db
      .prepare('update secret_versions set generated = 1 where secret_id = ? and version = 1')
      .bind(id)
      .run();
    await inCore(o, (core) => ciphertexts(core).clear());
    expect((await o.post(`/secrets/${id}/rollback`, { version: 1 })).status).toBe(500);
    expect((await o.get(`/secrets/${id}?version=1`)).status).toBe(500);
    expect((await o.post(`/secrets/${id}/rollback`, { version: 2 })).json.generated).toBe(true);
  });
});

describe('rotate', () => {
  it('without a value requires generate for an api_key, env_var or generic that was not generated', async () => {
    const o = await newOrg();
    for (const type of ['api_key', 'env_var', 'generic']) {
      const { id } = await newSecret(o, { type, value: 'from somebody else' });
      const refused = async () => {
        const before = (await o.get(`/secrets/${id}`)).json;
        for (const body of [undefined, {}]) {
          const answer = await o.post(`/secrets/${id}/rotate`, body);
          expect([...codeOf(answer), pathsOf(answer)], type).toEqual([
            400,
            'VALIDATION_FAILED',
            ['generate'],
          ]);
          expect(answer.json.error.details[0].message).toMatch(/^is required: /);
        }
        expect((await o.get(`/secrets/${id}`)).json).toEqual(before);
      };
      await refused();
      expect((await o.post(`/secrets/${id}/rotate`, { generate: {} })).json).toMatchObject({
        version: 2,
        generated: true,
      });
      expect((await o.post(`/secrets/${id}/rotate`)).json).toMatchObject({ version: 3, generated: true });
      await o.post(`/secrets/${id}/rollback`, { version: 1 });
      await refused();
      await o.post(`/secrets/${id}/rollback`, { version: 2 });
      expect((await o.post(`/secrets/${id}/rotate`)).status).toBe(200);
      await o.patch(`/secrets/${id}`, { value: 'by hand' });
      await refused();
    }
    const { token } = await newProvider(o);
    const { secretId } = (await provide(token, 'issue', { secretName: 'P', value: 'v', ttlSeconds: 60 }))
      .json;
    expect(codeOf(await o.post(`/secrets/${secretId}/rotate`))).toEqual([400, 'VALIDATION_FAILED']);
    for (const type of ['password', 'ssh_key', 'private_key', 'webhook_secret']) {
      const { id } = await newSecret(o, { type, value: 'given' });
      expect((await o.post(`/secrets/${id}/rotate`)).json, type).toMatchObject({
        version: 2,
        generated: true,
      });
    }
    const { id } = await newSecret(o, { type: 'json' });
    for (const body of [undefined, { generate: {} }])
      expect(pathsOf(await o.post(`/secrets/${id}/rotate`, body))).toEqual(['value']);
  });

  slow('concurrency: a value that is set between the two steps of the request stays', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { type: 'ssh_key', value: 'given' });
    let asked = false;
    let isGiven = false;
    const original = crypto.subtle.generateKey.bind(crypto.subtle);
    vi.spyOn(crypto.subtle, 'generateKey').mockImplementation((async (
      ...args: Parameters<typeof original>
    ) => {
      asked = true;
      while (!isGiven) await new Promise((done) => setTimeout(done, 1));
      return original(...args);
    }) as never);
    const rotating = o.post(`/secrets/${id}/rotate`);
    while (!asked) await new Promise((done) => setTimeout(done, 1));
    await o.patch(`/secrets/${id}`, { value: 'by hand', type: 'api_key' });
    isGiven = true;
    const answer = await rotating;
    expect([...codeOf(answer), pathsOf(answer)]).toEqual([400, 'VALIDATION_FAILED', ['generate']]);
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({
      value: 'by hand',
      version: 2,
      generated: false,
    });
  });

  it('idempotency: a replay of a rotation that was refused without generate is refused in the same way', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    const rotate = (body: object, key: string) =>
      o.post(`/secrets/${id}/rotate`, body, { 'Idempotency-Key': key });
    const first = await rotate({}, 'a');
    expect(first.status).toBe(400);
    const made = await rotate({ generate: {} }, 'b');
    expect((await rotate({ generate: {} }, 'b')).json).toEqual(made.json);
    expect((await rotate({}, 'a')).text).toBe(first.text);
    expect(codeOf(await rotate({ generate: {} }, 'a'))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect((await o.get(`/secrets/${id}`)).json).toMatchObject({ version: 2, value: made.json.value });
  });
});

describe('generate: create', () => {
  slow('generates the value of a new secret, and shows it once', async () => {
    const o = await newOrg();
    const forms: Record<string, [RegExp, RegExp | null]> = {
      password: [/^[\w\-.~]{32}$/, null],
      webhook_secret: [/^whsec_/, null],
      ssh_key: [/^-----BEGIN OPENSSH PRIVATE KEY-----/, /^ssh-ed25519 /],
      private_key: [/^-----BEGIN PRIVATE KEY-----/, /^-----BEGIN PUBLIC KEY-----/],
    };
    for (const [type, [form, publicForm]] of Object.entries(forms)) {
      const answer = await o.post('/secrets', { name: type, type, generate: {} });
      expect([answer.status, answer.json.generated, answer.json.version]).toEqual([201, true, 1]);
      expect(answer.json.value).toMatch(form);
      if (publicForm) expect(answer.json.public_key).toMatch(publicForm);
      else expect(answer.json).not.toHaveProperty('public_key');
      expect((await o.get(`/secrets/${answer.json.id}`)).json.value).toBe(answer.json.value);
      const taken = await o.post('/secrets', { name: type, type, generate: {} });
      expect([...codeOf(taken), Object.keys(taken.json)]).toEqual([409, 'SECRET_NAME_TAKEN', ['error']]);
    }
    const hex = await o.post('/secrets', {
      name: 'hex',
      type: 'password',
      generate: { length: 64, charset: 'hex' },
    });
    expect(hex.json.value).toMatch(/^[0-9a-f]{64}$/);
    expect(
      (await o.post('/secrets', { name: 'given', type: 'password', value: 'v' })).json,
    ).not.toHaveProperty('value');
    expect(await problemOf(o)).toBe(null);
  });

  it('validation: a new secret has either a value or, for a type that can be generated, generate', async () => {
    const o = await newOrg();
    const wrong: [object, string][] = [
      [{ type: 'password' }, 'value'],
      [{ type: 'generic' }, 'value'],
      [{ type: 'password', value: null }, 'value'],
      [{ type: 'password', value: 'v', generate: {} }, 'generate'],
      [{ type: 'password', generate: null }, 'generate'],
      [{ type: 'password', generate: true }, 'generate'],
      [{ type: 'password', generate: { length: 7 } }, 'generate.length'],
      [{ type: 'password', generate: { length: 4097 } }, 'generate.length'],
      [{ type: 'password', generate: { charset: 'aa' } }, 'generate.charset'],
      [{ type: 'password', generate: { size: 9 } }, 'generate.size'],
      [{ type: 'ssh_key', generate: { length: 32 } }, 'generate.length'],
      ...['api_key', 'env_var', 'generic', 'database_url', 'certificate', 'oauth_token', 'json'].map(
        (type): [object, string] => [{ type, generate: {} }, 'generate'],
      ),
    ];
    for (const [fields, path] of wrong) {
      const answer = await o.post('/secrets', { name: 'A', ...fields });
      expect([...codeOf(answer), pathsOf(answer)], JSON.stringify(fields)).toEqual([
        400,
        'VALIDATION_FAILED',
        [path],
      ]);
    }
    expect((await o.get('/secrets')).json.data).toEqual([]);
  });
});

describe('idempotency: generated values', () => {
  it('a replay returns the value only to the token that made the call', async () => {
    const o = await newOrg();
    const create = (by: Caller) =>
      by.post('/secrets', { name: 'A', type: 'ssh_key', generate: {} }, { 'Idempotency-Key': 'c' });
    const first = await create(o);
    const again = await create(o);
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      first.text,
      'true',
    ]);
    const session = (await o.post('/access-tokens', { ttlSeconds: 60 })).json.token;
    expect((await create(o.as(session))).json).toEqual({ ...first.json, value: null, public_key: null });
    expect((await o.get('/secrets')).json.data).toHaveLength(1);
  });

  it('a soft delete destroys them in stored responses for good', async () => {
    const o = await newOrg();
    const create = () => o.post('/secrets', { name: 'A', ...GENERATED }, { 'Idempotency-Key': 'c' });
    const { id, value: first } = (await create()).json;
    const rotate = () => o.post(`/secrets/${id}/rotate`, {}, { 'Idempotency-Key': 'r' });
    const { value: second } = (await rotate()).json;
    expect([(await create()).json.value, (await rotate()).json.value]).toEqual([first, second]);
    await o.del(`/secrets/${id}`);
    const replayed = async () => [(await create()).json.value, (await rotate()).json.value];
    expect(await replayed()).toEqual([null, null]);
    expect((await o.post(`/secrets/${id}/restore`)).status).toBe(200);
    expect(await replayed()).toEqual([null, null]);
    // The secret itself is whole, though nothing of it was left at hand.
    expect((await o.get(`/secrets/${id}`)).json.value).toBe(second);
    expect((await o.get(`/secrets/${id}?version=1`)).json.value).toBe(first);
    const sealed = await inCore(o, ({ storage }) =>
      storage.sql
        .exec("select one_time from replays where resource = ? and one_time ->> 'sealed' is not null", id)
        .toArray(),
    );
    expect(sealed).toEqual([]);
    expect(await problemOf(o)).toBe(null);
  });
});
