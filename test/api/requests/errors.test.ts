// What a refusal tells: which field must be what, what was wrong with a credential, and which part of a path
// is unknown. And what it must not tell: values that were sent, whether a token once existed, and anything
// beyond the caller's reach.
import { describe, expect, it } from 'vitest';
import { newToken } from '../../../src/auth/authentication/token';
import { secretTypes } from '../../../src/db/schema';
import { newAgent, newKey, newProvider } from '../../support/credentials';
import { keyring } from '../../support/gate';
import { newSignedIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { type Answer, BOOTSTRAP, type Caller, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const message = ({ json }: Answer): string => json.error.message;
const detailsOf = (answer: Answer) => {
  expect([answer.status, answer.json.error.code]).toEqual([400, 'VALIDATION_FAILED']);
  return answer.json.error.details;
};

describe('validation: a message says what is expected of a field', () => {
  const secret = { name: 'A', type: 'generic', value: 'v' };
  const key = { name: 'k', scopes: ['secrets:read'] };
  const org = { name: 'Acme', owner: { email: 'ann@example.com', name: 'Ann' } };
  const types = secretTypes.join(', ');

  it.each<[string, string, object, string, unknown]>([
    ['a missing field', '/secrets', { type: 'generic', value: 'v' }, 'name', 'is required'],
    ['a missing array', '/api-keys', { name: 'k' }, 'scopes', 'is required'],
    ['a missing number', '/access-tokens', {}, 'ttlSeconds', 'is required'],
    ['a missing object', '/grants', { permission: 'read' }, 'grantee', 'is required'],
    ['a missing choice', '/members', { email: 'b@example.com', name: 'Bob' }, 'role', 'is required'],
    ['null for a string', '/secrets', { ...secret, name: null }, 'name', 'must be a string'],
    ['a number for a string', '/secrets', { ...secret, name: 1 }, 'name', 'must be a string'],
    ['a string for a number', '/access-tokens', { ttlSeconds: '900' }, 'ttlSeconds', 'must be an integer'],
    ['a fraction', '/access-tokens', { ttlSeconds: 900.5 }, 'ttlSeconds', 'must be an integer'],
    ['a string for an array', '/api-keys', { ...key, scopes: 'secrets:read' }, 'scopes', 'must be an array'],
    [
      'a string for an object',
      '/grants',
      { permission: 'read', grantee: 'mem' },
      'grantee',
      'must be an object',
    ],
    ['an array for a record', '/secrets', { ...secret, tags: [] }, 'tags', 'must be an object'],
    [
      'a string for a boolean',
      '/panic',
      { reason: 'a test', api_keys: 'no' },
      'api_keys',
      'must be a boolean',
    ],
    ['a number below its minimum', '/access-tokens', { ttlSeconds: 59 }, 'ttlSeconds', 'must be at least 60'],
    [
      'a number above its maximum',
      '/access-tokens',
      { ttlSeconds: 86_401 },
      'ttlSeconds',
      'must be at most 86400',
    ],
    ['an empty string', '/api-keys', { ...key, name: '' }, 'name', 'must not be empty'],
    [
      'a string that is too short',
      '/break-glass-tokens',
      { reason: 'short' },
      'reason',
      'must have at least 10 characters',
    ],
    [
      'a string that is too long',
      '/api-keys',
      { ...key, name: 'x'.repeat(256) },
      'name',
      'must have at most 255 characters',
    ],
    ['an empty array', '/api-keys', { ...key, scopes: [] }, 'scopes', 'must not be empty'],
    [
      'an array that is too long',
      '/api-keys',
      { ...key, environments: Array.from({ length: 101 }, (_, n) => `e${n}`) },
      'environments',
      'must have at most 100 items',
    ],
    [
      'a repeated item',
      '/api-keys',
      { ...key, scopes: ['secrets:read', 'secrets:read'] },
      'scopes',
      'must not contain duplicates',
    ],
    ['an unknown field', '/secrets', { ...secret, colour: 'red' }, 'colour', 'is not a known field'],
    [
      'an unknown field inside',
      '/grants',
      { permission: 'read', grantee: { type: 'team', id: 'x', at: 1 } },
      'grantee.at',
      'is not a known field',
    ],
    ['a value outside a choice', '/secrets', { ...secret, type: 'pin' }, 'type', `must be one of: ${types}`],
    [
      'an unknown scope',
      '/api-keys',
      { ...key, scopes: ['secrets:eat'] },
      'scopes.0',
      'is not a known scope',
    ],
    [
      'no email address',
      '/members',
      { email: 'bob', name: 'Bob', role: 'viewer' },
      'email',
      'must be an email address',
    ],
    [
      'no time',
      '/api-keys',
      { ...key, expires_at: 'soon' },
      'expires_at',
      expect.stringMatching(/^must be a time in ISO 8601/),
    ],
    [
      'a time that has passed',
      '/api-keys',
      { ...key, expires_at: '2020-01-01T00:00:00Z' },
      'expires_at',
      'must be in the future',
    ],
    [
      'a tag with a long name',
      '/secrets',
      { ...secret, tags: { ['a'.repeat(129)]: 'x' } },
      `tags.${'a'.repeat(129)}`,
      expect.stringMatching(/128/),
    ],
  ])('%s', async (_, path, body, field, expected) => {
    const o = await newOrg();
    expect(detailsOf(await o.post(path, body))).toEqual([{ path: field, message: expected }]);
  });

  slow('a body that is not an object, and a missing nested field', async () => {
    const o = await newOrg();
    expect(detailsOf(await o.post('/secrets', '[]'))).toEqual([{ path: '', message: 'must be an object' }]);
    const answer = await send('POST', '/api/v1/orgs', {
      token: BOOTSTRAP,
      body: { ...org, owner: { name: 'Ann' } },
    });
    expect(detailsOf(answer)).toEqual([{ path: 'owner.email', message: 'is required' }]);
  });

  slow('a query parameter', async () => {
    const o = await newOrg();
    for (const [query, path, expected] of [
      ['limit=0', 'limit', 'must be between 1 and 100'],
      ['limit=ten', 'limit', 'must be an integer'],
      ['status=gone', 'status', 'must be one of: active, expired, revoked, deleted'],
      ['colour=red', 'colour', 'is not a known parameter'],
    ])
      expect(detailsOf(await o.get(`/secrets?${query}`)), query).toContainEqual({ path, message: expected });
    // A call that takes no parameters at all.
    expect(detailsOf(await o.get('?colour=red'))).toEqual([
      { path: 'colour', message: 'is not a known parameter' },
    ]);
  });

  slow('without texts of a library and without the value that was sent', async () => {
    const o = await newOrg();
    const sent = 'the-value-of-a-field';
    const wrong = [sent, 1, -1, 1.5, null, true, [], {}, [sent], { [sent]: sent }, 'x'.repeat(5000)];
    const bodies: [string, string[]][] = [
      [
        '/secrets',
        [
          'name',
          'type',
          'value',
          'environment',
          'description',
          'tags',
          'ttlSeconds',
          'rotate_every_seconds',
          'generate',
        ],
      ],
      ['/api-keys', ['name', 'scopes', 'expires_at', 'environments', 'secrets', 'allowed_addresses']],
      ['/grants', ['grantee', 'permission', 'environments', 'secrets', 'expires_at']],
      ['/members', ['email', 'name', 'role']],
    ];
    for (const [path, fields] of bodies)
      for (const field of fields)
        for (const value of wrong) {
          const { status, json, text } = await o.post(path, { [field]: value });
          expect(status, `${path} ${field}`).toBe(400);
          for (const { message } of json.error.details)
            expect(message).toMatch(
              /^(must |is required|is not (a |allowed)|has a field whose name |does not apply to )/,
            );
          expect(text.replaceAll(`.${sent}"`, '"').replaceAll(`"path":"${sent}`, '')).not.toContain(sent);
          expect(text).not.toMatch(/Invalid|expected|received|Too (small|big)|Unrecognized/);
        }
  });
});

describe('authentication: a 401 says what is wrong with the header', () => {
  const get = (authorization: string | null, path = '/api/v1/whoami') =>
    send('GET', path, authorization === null ? {} : { headers: { Authorization: authorization } });
  const refused = (answer: Answer) => {
    expect([answer.status, answer.json.error.code, answer.headers.get('www-authenticate')]).toEqual([
      401,
      'UNAUTHENTICATED',
      'Bearer',
    ]);
    return message(answer);
  };

  it('no Authorization header, or one without a bearer token', async () => {
    expect(refused(await get(null))).toContain('header is missing');
    for (const header of [
      'Basic YTpi',
      'Bearer',
      'Bearer two words',
      'svc_live_abc',
      `Bearer ${'x'.repeat(1025)}`,
    ])
      expect(refused(await get(header)), header).toContain('does not contain a bearer token');
  });

  it('a mistyped, forged or forgotten token: the same message, which does not tell whether it ever existed', async () => {
    const o = await newOrg();
    const mistyped = `${o.token.slice(0, -1)}${o.token.endsWith('0') ? '1' : '0'}`;
    const said = new Set<string>();
    for (const token of [
      mistyped,
      o.token.slice(0, -4),
      `svc_live_${'0'.repeat(66)}`,
      'svcsess_x',
      'svcag_x',
      'svc_agent_x',
      'eyJ.eyJ.sig',
    ])
      said.add(refused(await get(`Bearer ${token}`)));
    // Genuine by its form, and unknown to the gate and to D1.
    const deployment = await keyring().deployment();
    said.add(refused(await get(`Bearer ${newToken('api_key', o.id, deployment.tokenTag).token}`)));
    expect([...said]).toEqual([expect.stringContaining('not a valid token of this deployment')]);
  });

  it('the bootstrap token where it is not accepted: no hint whether a guess is correct', async () => {
    const right = refused(await get(`Bearer ${BOOTSTRAP}`));
    expect(right).toContain('bootstrap token is not accepted for this request');
    expect(refused(await get(`Bearer ${BOOTSTRAP.slice(0, -1)}x`))).toBe(right);
    expect(refused(await get(`Bearer ${BOOTSTRAP.slice(0, -1)}x`, '/api/v1/orgs'))).toContain(
      'neither the bootstrap token nor',
    );
  });
});

describe('permission: a 403 has a subject', () => {
  slow('the agent that may not read', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'app/a' });
    const blind = await newAgent(o, { scopes: ['secrets:list'] });
    expect(message(await blind.o.get(`/secrets/${id}`))).toMatch(
      /^This agent does not hold the scope secrets:read\. /,
    );
    const agent = await newAgent(o, { environments: ['staging'], secrets: ['app/*'] });
    for (const [path, start] of [
      [`/secrets/${id}`, 'This agent may not read this secret. '],
      [
        '/secrets/by-name/app/a?environment=production',
        'This agent may not read secrets in the environment production. ',
      ],
      [
        '/secrets/by-name/other?environment=staging',
        'This agent may not read a secret with the name other. ',
      ],
      ['/environments/production/values', 'This agent may not read secrets in the environment production. '],
    ] as const) {
      const answer = await agent.o.get(path);
      expect([answer.status, answer.json.error.code]).toEqual([403, 'SECRET_ACCESS_DENIED']);
      expect(message(answer).startsWith(start), `${path}: ${message(answer)}`).toBe(true);
    }
  });

  it('the credential without the scope or the reach; names from a body appear only if they are well-formed', async () => {
    const o = await newOrg();
    const key = await newKey(o, { scopes: ['secrets:write'], environments: ['staging'], secrets: ['app/*'] });
    expect(message(await key.o.get('/audit-log'))).toBe(
      'This credential does not hold the scope audit:read, which this request needs.',
    );
    const create = (environment: string, name: string) =>
      key.o.post('/secrets', { name, type: 'generic', value: 'v', environment });
    expect(message(await create('production', 'app/a'))).toBe(
      'This credential may not access the environment production.',
    );
    expect(message(await create('staging', 'web'))).toBe(
      'This credential may not access a secret with the name web.',
    );
    expect(message(await create('a\u202eb <script>', 'app/a'))).toBe(
      'This credential may not access this environment.',
    );
    const provider = await newProvider(o, { environments: ['staging'] });
    const issued = await send('POST', '/api/v1/provider/revoke', {
      token: provider.token,
      body: { secretName: 'a', environment: 'my password!' },
    });
    expect(issued.text).not.toContain('my password!');
  });
});

describe('permission: a 404 on a read by name says which part is unknown', () => {
  const read = (o: Caller, name: string, environment?: string) =>
    o.get(`/secrets/by-name/${name}${environment === undefined ? '' : `?environment=${environment}`}`);
  const missing = async (answer: Promise<Answer>) => {
    const got = await answer;
    expect([got.status, got.json.error.code]).toEqual([404, 'NOT_FOUND']);
    return message(got);
  };

  slow('the environment, the name, or the environments that have the name', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'db/url', environment: 'staging' });
    await newSecret(o, { name: 'db/url', environment: 'development' });
    expect(await missing(read(o, 'db/url', 'nowhere'))).toBe('There is no environment nowhere.');
    expect(await missing(o.get('/environments/nowhere/values'))).toBe('There is no environment nowhere.');
    expect(await missing(o.get('/secrets?environment=nowhere'))).toBe('There is no environment nowhere.');
    expect(await missing(read(o, 'other'))).toBe('There is no secret other in the environment production.');
    expect(await missing(read(o, 'db/url'))).toMatch(
      /^There is no secret db\/url in the environment production\. It exists in: (staging, development|development, staging)\.$/,
    );
  });

  slow('also for a member, and not for a deleted secret', async () => {
    const { o, browser } = await newSignedIn();
    const { id } = await newSecret(o, { name: 'A', environment: 'staging' });
    expect(await missing(read(browser.o, 'A'))).toContain('It exists in: staging.');
    await o.del(`/secrets/${id}`);
    expect(await missing(read(browser.o, 'A'))).toBe('There is no secret A in the environment production.');
    expect(await missing(read(browser.o, 'A', 'staging'))).toBe(
      'There is no secret A in the environment staging.',
    );
  });

  it('tenant isolation: names only environments and secrets that the caller reaches', async () => {
    const o = await newOrg();
    for (const environment of ['staging', 'development']) await newSecret(o, { name: 'app/a', environment });
    const elsewhere = async (fields: object, environment = 'production') => {
      const key = await newKey(o, { scopes: ['secrets:read'], ...fields });
      return missing(read(key.o, 'app/a', environment));
    };
    const plain = 'There is no secret app/a in the environment production.';
    expect(await elsewhere({ environments: ['production'] })).toBe(plain);
    expect(await elsewhere({ environments: ['production', 'staging'] })).toBe(
      `${plain} It exists in: staging.`,
    );
    expect(await elsewhere({ environments: ['production'], secrets: ['app/*'] })).toBe(plain);
    const agent = await newAgent(o, { environments: ['production'] });
    expect(await missing(read(agent.o, 'app/a'))).toBe(plain);
    // Where it may not read at all, what is there and what is not look alike.
    const narrow = await newKey(o, {
      scopes: ['secrets:read'],
      environments: ['staging'],
      secrets: ['app/b'],
    });
    const there = await read(narrow.o, 'app/a', 'staging');
    const nowhere = await read(narrow.o, 'app/z', 'staging');
    expect([there.status, nowhere.status]).toEqual([403, 403]);
    expect(message(there).replace('app/a', '…')).toBe(message(nowhere).replace('app/z', '…'));
    const other = await read(narrow.o, 'app/b', 'production');
    const none = await read(narrow.o, 'app/b', 'nowhere');
    expect([other.status, none.status]).toEqual([403, 403]);
    expect(message(other).replace('production', '…')).toBe(message(none).replace('nowhere', '…'));
  });

  slow('audit log: the entry contains only the requested name', async () => {
    const o = await newOrg();
    await newSecret(o, { name: 'A', environment: 'staging' });
    await missing(read(o, 'A'));
    const [entry] = (await o.get('/audit-log?limit=1&action=secret.read')).json.data;
    expect(entry).toMatchObject({
      resource: null,
      resource_name: 'A',
      environment: 'production',
      status: 404,
    });
    expect(JSON.stringify(entry)).not.toContain('staging');
  });
});
