// What any request may hold: parameters, the shape of a body, text, tags, patterns and headers; and what
// every response bears.
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MOST_DEPTH, MOST_FIELDS, MOST_ITEMS, MOST_VALUES, shapeOf } from '../../../src/http/input/shape';
import { faults } from '../../support/faults';
import { slow } from '../../support/slow';
import { type Answer, type Caller, newOrg, newSecret, send, useWorld } from '../../support/world';

useWorld();

const details = ({ status, json }: Answer) => [status, json?.error?.code, ...(json?.error?.details ?? [])];
const refusal = (path: string, message: unknown) => [400, 'VALIDATION_FAILED', { path, message }];
const secret = (fields: object) => ({
  name: `s-${crypto.randomUUID()}`,
  type: 'generic',
  value: 'v',
  ...fields,
});
const filled = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));

describe('validation: parameters', () => {
  it('at most 50, and none repeated', async () => {
    const o = await newOrg();
    const query = (count: number) => filled(count, (n) => `q${n}=`).join('&');
    expect((await o.get(`/secrets?${query(50)}`)).json.error.details).toHaveLength(50);
    expect(details(await o.get(`/secrets?${query(51)}`))).toEqual(
      refusal('', 'must have at most 50 parameters'),
    );
    expect(details(await o.get(`/secrets?${query(5000)}`))).toEqual(
      refusal('', 'must have at most 50 parameters'),
    );
    expect(details(await o.get('/secrets?limit=1&limit=1'))).toEqual(
      refusal('limit', 'must not be repeated'),
    );
    expect(details(await o.get('/secrets?__proto__=1'))).toEqual(
      refusal('__proto__', 'is not a known parameter'),
    );
    expect(details(await o.get('?x=1'))).toEqual(refusal('x', 'is not a known parameter'));
  });
});

describe('validation: the shape of a body', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

  it('is limited in depth, fields, items and values', () => {
    expect(shapeOf(nested(MOST_DEPTH))).toBe(null);
    expect(shapeOf(nested(MOST_DEPTH + 1))?.message).toContain('16 levels');
    expect(shapeOf(Object.fromEntries(filled(MOST_FIELDS, (n) => [`f${n}`, n])))).toBe(null);
    expect(shapeOf({ a: Object.fromEntries(filled(MOST_FIELDS + 1, (n) => [`f${n}`, n])) })).toEqual({
      path: 'a',
      message: 'must have at most 100 fields',
    });
    expect(shapeOf(filled(MOST_ITEMS, (n) => n))).toBe(null);
    expect(shapeOf({ a: [filled(MOST_ITEMS + 1, (n) => n)] })).toEqual({
      path: 'a.0',
      message: 'must have at most 1000 items',
    });
    // The body itself is one value, and each of two arrays another.
    expect(shapeOf([filled(999, (n) => n), filled(998, (n) => n)])).toBe(null);
    expect(shapeOf([filled(999, (n) => n), filled(999, (n) => n)])).toEqual({
      path: '',
      message: `must have at most ${MOST_VALUES} values in total`,
    });
    for (const whole of [undefined, null, 'text', 1, {}, []]) expect(shapeOf(whole)).toBe(null);
  });

  it('refuses a field named __proto__ anywhere', () => {
    for (const [body, path] of [
      ['{"__proto__":{}}', '__proto__'],
      ['{"tags":{"a":"b","__proto__":"x"}}', 'tags.__proto__'],
      ['[{"a":[{"__proto__":null}]}]', '0.a.0.__proto__'],
    ] as const)
      expect(shapeOf(JSON.parse(body))).toEqual({ path, message: 'is not allowed as a field name' });
  });

  slow('takes a bounded number of steps, regardless of the request', () => {
    // Each value that is looked at is read once from its object.
    let reads = 0;
    const counted = (value: unknown): unknown =>
      typeof value === 'object' && value !== null
        ? new Proxy(value, {
            get: (target, key) => {
              if (key !== 'length') reads++;
              return counted(Reflect.get(target, key));
            },
          })
        : value;
    const hold = (body: unknown) => {
      reads = 0;
      shapeOf(counted(body));
      expect(reads).toBeLessThanOrEqual(MOST_VALUES);
    };
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), hold), { numRuns: 200 });
    hold(filled(100_000, (n) => [n]));
    hold(filled(1000, () => filled(1000, () => 1)));
    hold(Object.fromEntries(filled(100_000, (n) => [`f${n}`, n])));
    hold(JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`));
  });

  it('names a place only where something is wrong: names of fields are as long as a body', () => {
    const body = { [`${'k'.repeat(1000)}`]: filled(900, () => [{}]) };
    const joined = vi.spyOn(Array.prototype, 'join');
    const found = shapeOf(body);
    const times = joined.mock.calls.length;
    joined.mockRestore();
    expect([found, times]).toEqual([null, 0]);
  });

  slow('is refused over HTTP up to the largest body that is read, with one small response', async () => {
    const o = await newOrg();
    const large = (fields: object) => JSON.stringify(secret(fields)).slice(0, 1_048_576);
    for (const [body, path] of [
      [large({ tags: Object.fromEntries(filled(70_000, (n) => [` ${n}`, ''])) }), 'tags'],
      [large(Object.fromEntries(filled(80_000, (n) => [`u${n}`, 1]))), ''],
      [large({ tags: filled(400_000, () => 1) }), 'tags'],
    ] as const) {
      const answer = await o.post('/secrets', body);
      expect(details(answer)).toEqual(refusal(path, expect.stringMatching(/^must have at most/)));
      expect(answer.text.length).toBeLessThan(400);
    }
    expect(details(await o.post('/secrets', `${'['.repeat(400_000)}${']'.repeat(400_000)}`))).toEqual(
      refusal(filled(16, () => '0').join('.'), expect.stringContaining('16 levels')),
    );
  });
});

describe('validation: the message of a refusal', () => {
  it('shows an unknown field in at most 200 printable characters, quotes no value, and has at most 100 details', async () => {
    const o = await newOrg();
    const long = `${'x'.repeat(300)}`;
    const { json } = await o.post(
      '/secrets',
      secret({ [long]: 1, 'a\u202eb\u0085c\u2028d\ud800e\u0000f': 'the-value' }),
    );
    expect(json.error.details).toEqual([
      { path: 'x'.repeat(200), message: 'is not a known field' },
      { path: 'abcdef', message: 'is not a known field' },
    ]);
    const many = await o.post('/secrets', Object.fromEntries(filled(100, (n) => [`u${n}`, 'the-value'])));
    expect(many.json.error.details).toHaveLength(100);
    expect(many.text).not.toContain('the-value');
    expect((await o.get(`/secrets?${'y'.repeat(500)}%E2%80%AE=1`)).json.error.details[0].path).toBe(
      'y'.repeat(200),
    );
  });
});

describe('validation: text', () => {
  const unprintable = [
    '\u0000',
    '\n',
    '\u007f',
    '\u0085',
    '\u200b',
    '\u2028',
    '\u2029',
    '\u202e',
    '\u2066',
    '\ufeff',
    '\ue000',
    '\ud800',
    '\u034f',
    '\u115f',
    '\u1160',
    '\u2800',
    '\u3164',
    '\uffa0',
  ];

  slow('for people has no control, format, bidi or line-separator character', async () => {
    const o = await newOrg();
    const stored = await newSecret(o);
    const says = async (answer: Promise<Answer>, path: string) => {
      const message = 'must not contain control, format or line-separator characters';
      expect(details(await answer), path).toEqual(refusal(path, message));
    };
    for (const char of unprintable) {
      const text = `a ${char} reason`;
      await says(o.post('/secrets', secret({ description: text })), 'description');
      await says(o.patch(`/secrets/${stored.id}`, { description: text }), 'description');
      await says(o.post('/secrets', secret({ tags: { team: text } })), 'tags.team');
      await says(o.post('/members', { email: 'i@example.com', name: text, role: 'viewer' }), 'name');
      await says(o.post('/teams', { name: text }), 'name');
      await says(o.post('/break-glass-tokens', { reason: text }), 'reason');
      await says(o.patch('', { name: text }), 'name');
    }
    const fine = 'Zoë 漢字 עברית العربية 👍🏽 – “x”';
    expect((await o.patch(`/secrets/${stored.id}`, { description: fine })).json.description).toBe(fine);
    expect((await o.post('/teams', { name: fine })).json.name).toBe(fine);
  });

  it('of X-Access-Reason has none either, in UTF-8, and at most 256 characters', async () => {
    const o = await newOrg();
    const bytes = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));
    const asked = (reason: string) => o.get('', { 'X-Access-Reason': bytes(reason) });
    for (const reason of [
      'a\u0085b',
      'a\u2028b',
      'a\u2029b',
      'a\u202eb',
      'a\u200bb',
      'a\u3164b',
      'a\u2800b',
      'x'.repeat(257),
      'é'.repeat(257),
      'x'.repeat(8000),
    ])
      expect(details(await asked(reason))).toEqual(
        refusal('X-Access-Reason', 'must be 1 to 256 printable characters'),
      );
    for (const reason of ['fine', '漢'.repeat(256), '👍'.repeat(256)])
      expect((await asked(reason)).status).toBe(200);
  });
});

describe('validation: X-Access-Call', () => {
  it('has 1 to 8,000 printable ASCII characters', async () => {
    const o = await newOrg();
    const asked = (call: string) => o.get('', { 'X-Access-Call': call });
    for (const call of [
      '',
      'a\tb',
      'a\x01b',
      'a\x7fb',
      'a\x1b[2Jb',
      'a\u0085b',
      'Zo\u00eb',
      'x'.repeat(8001),
    ])
      expect(details(await asked(call))).toEqual(
        refusal('X-Access-Call', 'must be 1 to 8,000 printable ASCII characters'),
      );
    for (const call of ['x', '~ ~', 'x'.repeat(8000)]) expect((await asked(call)).status).toBe(200);
  });
});

describe('validation: tags', () => {
  it('of one secret have at most 16 kB together, in UTF-8', async () => {
    const o = await newOrg();
    const stored = await newSecret(o);
    // 49 tags of 6 + 321 bytes and a key of 4 leave 357 bytes of 16,384.
    const tags = (last: number) => ({
      ...Object.fromEntries(filled(49, (n) => [`key-${String(n).padStart(2, '0')}`, '漢'.repeat(107)])),
      last: '漢'.repeat(last),
    });
    expect((await o.post('/secrets', secret({ tags: tags(119) }))).status).toBe(201);
    const more = tags(120);
    for (const answer of [
      await o.post('/secrets', secret({ tags: more })),
      await o.patch(`/secrets/${stored.id}`, { tags: more }),
    ])
      expect(details(answer)).toEqual(refusal('tags', 'must have at most 16,384 bytes in total'));
  });

  it('may have any name but __proto__, which is refused and not lost', async () => {
    const o = await newOrg();
    const body = (tags: string) =>
      `{"name":"s-${crypto.randomUUID()}","type":"generic","value":"v","tags":${tags}}`;
    expect(details(await o.post('/secrets', body('{"team":"core","__proto__":"x"}')))).toEqual(
      refusal('tags.__proto__', 'is not allowed as a field name'),
    );
    const kept = await o.post('/secrets', body('{"constructor":"a","toString":"b"}'));
    expect(kept.json.tags).toEqual({ constructor: 'a', toString: 'b' });
  });
});

describe('validation: name patterns', () => {
  slow('of one credential or grant have at most 4 kB together', async () => {
    const o = await newOrg();
    const sixteen = filled(16, (n) => `${String(n).padStart(2, '0')}${'x'.repeat(254)}`);
    const over = [...sixteen, '*'];
    const member = (await o.post('/members', { email: 'i@example.com', name: 'I', role: 'viewer' })).json.id;
    const grant = (secrets: string[]) => ({
      grantee: { type: 'member', id: member },
      permission: 'read',
      secrets,
    });
    const makes: [string, (secrets: string[]) => object][] = [
      ['/api-keys', (secrets) => ({ name: 'k', scopes: ['secrets:read'], secrets })],
      ['/agent-credentials', (secrets) => ({ name: 'a', scopes: ['secrets:read'], secrets })],
      ['/provider-tokens', (secrets) => ({ name: 'p', scopes: ['issue'], secrets })],
      ['/grants', grant],
    ];
    for (const [path, make] of makes) {
      expect((await o.post(path, make(sixteen))).status, path).toBe(201);
      expect(details(await o.post(path, make(over))), path).toEqual(
        refusal('secrets', 'must have at most 4,096 bytes in total'),
      );
    }
    const agent = (await o.post('/agent-credentials', makes[1]?.[1](['*']))).json.id;
    expect(details(await o.patch(`/agent-credentials/${agent}`, { secrets: over }))).toEqual(
      refusal('secrets', 'must have at most 4,096 bytes in total'),
    );
  });
});

describe('validation: headers', () => {
  it('If-Match and If-None-Match have at most 1,000 characters', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o);
    for (const name of ['If-Match', 'If-None-Match'])
      expect(details(await o.get(`/secrets/${id}`, { [name]: '"v1", '.repeat(200) }))).toEqual(
        refusal(name, 'must have at most 1000 characters'),
      );
    expect((await o.get(`/secrets/${id}`, { 'If-None-Match': '"v9", '.repeat(150) })).status).toBe(200);
  });

  const newest = async (o: Caller, headers: Record<string, string>) => {
    const { headers: given } = await o.get('', headers);
    const { data } = (await o.get('/audit-log')).json as {
      data: { request_id: string; ip: string; user_agent: string | null }[];
    };
    const entry = data.find(({ request_id }) => request_id === given.get('request-id'));
    return [entry?.ip, entry?.user_agent];
  };

  slow(
    'audit log: the client address is an address or unknown; the user agent is bounded and printable',
    async () => {
      const o = await newOrg();
      const addresses = ['198.51.100.7', '2001:db8::1', '::ffff:198.51.100.7'];
      for (const address of addresses)
        expect((await newest(o, { 'CF-Connecting-IP': address }))[0]).toBe(address);
      for (const address of [
        'x'.repeat(5000),
        '1'.repeat(40),
        '198.51.100.7, 10.0.0.1',
        'fe80::1%eth0',
        '<script>',
        '0x7f000001',
      ])
        expect((await newest(o, { 'CF-Connecting-IP': address }))[0]).toBe('unknown');
      expect((await newest(o, { 'User-Agent': 'x'.repeat(5000) }))[1]).toBe('x'.repeat(256));
      expect((await newest(o, { 'User-Agent': 'a\u0085b\tc' }))[1]).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
    },
  );
});

describe('security headers: Strict-Transport-Security', () => {
  const paths = [
    '/healthz',
    '/docs',
    '/docs/errors/NOPE',
    '/sign-in',
    '/.well-known/jwks.json',
    '/api/v1/whoami',
    '/nothing',
  ];

  it('is sent with every response if PUBLIC_URL is https, and never otherwise', async () => {
    const sent = async () => {
      const found = new Set<string | null>();
      for (const path of paths)
        for (const method of ['GET', 'POST'])
          found.add((await send(method, path)).headers.get('strict-transport-security'));
      return [...found];
    };
    expect(await sent()).toEqual([null]);
    try {
      faults.variables = { PUBLIC_URL: 'https://vault.example.com' };
      faults.isolate++;
      expect(await sent()).toEqual(['max-age=31536000']);
      // A deployment that is not set up answers 503, and the same header.
      faults.variables = { PUBLIC_URL: 'https://vault.example.com', MASTER_KEYS: '' };
      faults.isolate++;
      expect(await sent()).toEqual(['max-age=31536000']);
    } finally {
      faults.variables = {};
      faults.isolate++;
    }
  });
});
