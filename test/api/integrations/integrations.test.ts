// Stored connections: how they are created, shown, changed and removed, and who may use them.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type NotifyPlatform, notifyPlatforms, syncPlatforms } from '../../../src/adapters/platforms';
import { decrypt } from '../../../src/crypto/envelope';
import { newId } from '../../../src/db/ids';
import type { IntegrationRow } from '../../../src/db/schema';
import { problemOf } from '../../model/invariants';
import { newAgent, newBreakGlass, newKey, newProvider } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore, inGate, keysOf } from '../../support/gate';
import { accepted, configs, problemsOf, type Seen } from '../../support/integrations/notify';
import { slow } from '../../support/slow';
import { type Caller, codeOf, db, newOrg, useWorld } from '../../support/world';
import { hostileTargets } from '../../unit/delivery/targets';

useWorld();

/** What was sent, and how the platform answers. */
let seen: Seen[];
let answer: () => Response | Promise<Response>;

beforeEach(() => {
  seen = [];
  answer = () => new Response('ok');
  vi.stubGlobal('fetch', async (target: string, init: RequestInit) => {
    const url = new URL(target);
    if (url.hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ name: 'x', type: 1, TTL: 60, data: '93.184.215.14' }] });
    seen.push({
      url,
      method: init.method as string,
      headers: new Headers(init.headers),
      body: init.body as string,
    });
    return answer();
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  faults.variables = {};
  faults.isolate++;
});

const create = (o: Caller, platform: NotifyPlatform = 'slack', fields: Record<string, unknown> = {}) =>
  o.post('/integrations', {
    kind: 'notify',
    platform,
    name: 'Operations',
    config: configs[platform],
    ...fields,
  });
const send = (o: Caller, fields: Record<string, unknown>) => o.post('/integrations/notify', fields);
const made = async (o: Caller, platform: NotifyPlatform = 'slack', fields: Record<string, unknown> = {}) => {
  const { status, json, text } = await create(o, platform, fields);
  if (status !== 201) throw new Error(text);
  return json as { id: string; config: Record<string, unknown>; events: unknown };
};

/** Deployment variables, as a new isolate reads them. */
function deploy(variables: typeof faults.variables) {
  faults.variables = variables;
  faults.isolate++;
}

const entries = async (o: Caller) =>
  (await o.get('/audit-log?limit=100')).json.data.map(
    ({ action, resource, status }: Record<string, unknown>) => ({
      action,
      resource,
      status,
    }),
  );

/** What of each config may be shown. */
const shown: Record<NotifyPlatform, Record<string, unknown>> = {
  slack: { webhookUrl: 'hooks.slack.com' },
  'microsoft-teams': { webhookUrl: 'prod-01.westeurope.logic.azure.com' },
  discord: { webhookUrl: 'discord.com' },
  'google-chat': { webhookUrl: 'chat.googleapis.com' },
  mattermost: { webhookUrl: 'mattermost.example.com' },
  telegram: { chatId: -100123 },
  pagerduty: {},
  opsgenie: {},
  webhook: { url: 'receiver.example.com' },
  email: { provider: 'resend', from: 'Vault <vault@example.com>', to: ['ops@example.com'] },
};

describe('integration: stored connections', () => {
  slow('integration: one is stored, shown, listed, changed and removed', async () => {
    const o = await newOrg();
    const { status, json } = await create(o);
    const { id, createdAt } = json;
    expect([status, json]).toEqual([
      201,
      {
        id,
        kind: 'notify',
        platform: 'slack',
        name: 'Operations',
        config: shown.slack,
        events: ['SECRET_ROTATED', 'SECRET_LEAKED', 'POLICY_VIOLATED'],
        revision: 1,
        createdAt,
        updatedAt: createdAt,
      },
    ]);
    expect(id).toMatch(/^int_/);
    expect((await o.get(`/integrations/${id}`)).json).toEqual(json);
    expect((await o.get('/integrations')).json).toEqual({ data: [json], next_cursor: null, has_more: false });
    const patched = await o.patch(`/integrations/${id}`, { name: 'Security', events: '*' });
    expect([patched.status, patched.json]).toEqual([
      200,
      { ...json, name: 'Security', events: '*', revision: 2, updatedAt: patched.json.updatedAt },
    ]);
    expect((await o.patch(`/integrations/${id}`, { events: ['SECRET_LEAKED'] })).json.events).toEqual([
      'SECRET_LEAKED',
    ]);
    expect((await o.del(`/integrations/${id}`)).status).toBe(204);
    for (const gone of [
      await o.get(`/integrations/${id}`),
      await o.patch(`/integrations/${id}`, { name: 'x' }),
      await o.patch(`/integrations/${id}`, { config: configs.slack }),
      await o.del(`/integrations/${id}`),
      await send(o, { integrationId: id }),
      await o.get('/integrations/int_0'),
    ])
      expect(codeOf(gone)).toEqual([404, 'NOT_FOUND']);
    expect(seen).toEqual([]);
    expect(await problemOf(o)).toBe(null);
  });

  it.each(notifyPlatforms)(
    'integration: of %s no credential is shown, and the events are its usual ones',
    async (platform) => {
      const o = await newOrg();
      const { id, config, events } = await made(o, platform);
      expect(config).toEqual(shown[platform]);
      const paging = ['pagerduty', 'opsgenie'].includes(platform);
      expect(events).toEqual(['SECRET_ROTATED', 'SECRET_LEAKED', ...(paging ? [] : ['POLICY_VIOLATED'])]);
      expect((await o.get(`/integrations/${id}`)).json.config).toEqual(shown[platform]);
      answer = accepted[platform];
      const { status, json } = await send(o, {
        integrationId: id,
        severity: 'warning',
        message: 'From the <store> @channel',
      });
      expect([status, json]).toEqual([200, { delivered: true, status: accepted[platform]().status }]);
      expect(problemsOf(platform, seen[0] as Seen)).toEqual([]);
    },
  );

  slow('integration: a body that is not as it should be is refused', async () => {
    const o = await newOrg();
    const paths = async (platform: NotifyPlatform, fields: Record<string, unknown>) => {
      const { json, status } = await create(o, platform, fields);
      return [status, ...(json.error?.details ?? []).map(({ path }: { path: string }) => path)];
    };
    expect(await paths('slack', { config: {} })).toEqual([400, 'config.webhookUrl']);
    expect(await paths('slack', { config: { ...configs.slack, channel: 'x' } })).toEqual([
      400,
      'config.channel',
    ]);
    expect(await paths('pagerduty', { config: { ...configs.pagerduty, region: 'ch' } })).toEqual([
      400,
      'config.region',
    ]);
    expect(await paths('email', { config: { ...configs.email, to: [] } })).toEqual([400, 'config.to']);
    expect(await paths('telegram', { config: configs.slack })).toEqual([
      400,
      'config.botToken',
      'config.chatId',
      'config.webhookUrl',
    ]);
    for (const fields of [
      ...[
        { kind: 'sync' },
        { kind: 'sync', platform: 'vercel' },
        { platform: 'vercel' },
        { platform: 'constructor' },
        { name: '' },
      ],
      ...[
        { events: [] },
        { events: ['X'] },
        { events: 'all' },
        { events: ['SECRET_LEAKED', 'SECRET_LEAKED'] },
        { auto: true },
        { prune: true },
      ],
      ...[
        { environments: ['production'] },
        { surprise: 1 },
        { config: null },
        { config: [] },
        { config: 'x' },
      ],
    ])
      expect(codeOf(await create(o, 'slack', fields)), JSON.stringify(fields)).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    expect((await o.get('/integrations')).json.data).toEqual([]);
  });

  it('integration: an organisation has at most 100', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    await inCore(o, ({ rows }) => vi.spyOn(rows, 'count').mockReturnValue(100));
    expect(codeOf(await create(o))).toEqual([409, 'LIMIT_REACHED']);
    expect((await o.get(`/integrations/${id}`)).status).toBe(200);
  });

  it('integration: one of another organisation is not found', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const { id } = await made(o);
    expect(codeOf(await other.get(`/integrations/${id}`))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await other.patch(`/integrations/${id}`, { name: 'x' }))).toEqual([404, 'NOT_FOUND']);
    expect(codeOf(await send(other, { integrationId: id }))).toEqual([404, 'NOT_FOUND']);
    expect(seen).toEqual([]);
  });
});

describe('integration: change of a config', () => {
  slow('integration: fields are merged, and credentials that are not given stay', async () => {
    const o = await newOrg();
    const { id } = await made(o, 'pagerduty');
    await o.patch(`/integrations/${id}`, { config: { routingKey: 'needleNext0123456789' } });
    await send(o, { integrationId: id });
    expect(JSON.parse(seen[0]?.body ?? '').routing_key).toBe('needleNext0123456789');
    const { id: hook } = await made(o, 'webhook');
    await o.patch(`/integrations/${hook}`, { config: { url: 'https://other.example.com/' } });
    await send(o, { integrationId: hook });
    expect([seen[1]?.url.href, seen[1]?.headers.has('x-svc-signature')]).toEqual([
      'https://other.example.com/',
      true,
    ]);
    expect((await o.patch(`/integrations/${hook}`, { config: { secret: null } })).json.config).toEqual({
      url: 'other.example.com',
    });
    await send(o, { integrationId: hook });
    expect(seen[2]?.headers.has('x-svc-signature')).toBe(false);
  });

  it('integration: stored credentials cannot be sent to another address', async () => {
    const o = await newOrg();
    const { id } = await made(o, 'email');
    const before = (await o.get(`/integrations/${id}`)).json;
    for (const config of [
      ...[
        { provider: 'sendgrid' },
        { to: ['eve@example.com'] },
        { from: 'eve@example.com' },
        { to: ['ops@example.com', 'eve@example.com'] },
      ],
      ...[{ provider: null }, { apiKey: null }, { region: 'eu' }, { apiKey: '' }],
    ])
      expect(codeOf(await o.patch(`/integrations/${id}`, { config })), JSON.stringify(config)).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    expect((await o.get(`/integrations/${id}`)).json).toEqual(before);
    // What does not change moves nothing.
    expect((await o.patch(`/integrations/${id}`, { config: { to: ['ops@example.com'] } })).status).toBe(200);
    await send(o, { integrationId: id });
    expect(seen[0]?.headers.get('authorization')).toBe('Bearer needleEmail0123456789');
    const moved = await o.patch(`/integrations/${id}`, {
      config: { provider: 'postmark', apiKey: 'needleNext0123456789' },
    });
    expect([moved.status, moved.json.config]).toEqual([200, { ...shown.email, provider: 'postmark' }]);
    await send(o, { integrationId: id });
    expect(seen[1]?.headers.get('x-postmark-server-token')).toBe('needleNext0123456789');
    const { id: paging } = await made(o, 'opsgenie');
    expect(codeOf(await o.patch(`/integrations/${paging}`, { config: { region: 'eu' } }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
  });

  it('integration: a change that another overtook is refused, and changes nothing', async () => {
    const o = await newOrg();
    const { id } = await made(o, 'pagerduty');
    faults.delay = 20;
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => o.patch(`/integrations/${id}`, { config: { routingKey: `needle${n}` } })),
    );
    const taken = answers.filter(({ status }) => status === 200);
    expect(taken.length).toBeGreaterThan(0);
    expect(taken.length).toBeLessThan(answers.length);
    for (const one of answers.filter(({ status }) => status !== 200))
      expect(codeOf(one)).toEqual([409, 'CONFLICT']);
    faults.delay = 0;
    await send(o, { integrationId: id });
    expect(JSON.parse(seen[0]?.body ?? '').routing_key).toMatch(/^needle[1-4]$/);
    expect(await problemOf(o)).toBe(null);
  });

  it('integration: kind and platform are fixed', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    for (const fields of [
      { kind: 'notify' },
      { platform: 'slack' },
      { auto: true },
      { config: null },
      { name: null },
      { events: null },
    ])
      expect(codeOf(await o.patch(`/integrations/${id}`, fields))).toEqual([400, 'VALIDATION_FAILED']);
  });
});

describe('notify: a message', () => {
  it.each(notifyPlatforms)('notify: %s takes a message with a config that is not kept', async (platform) => {
    const o = await newOrg();
    answer = accepted[platform];
    for (const fields of [
      {},
      { severity: 'critical', message: 'Deploy @channel <!here> [x](https://evil.example) 😀' },
    ]) {
      const { status, json } = await send(o, { platform, config: configs[platform], ...fields });
      expect([status, json]).toEqual([200, { delivered: true, status: accepted[platform]().status }]);
    }
    expect(seen).toHaveLength(2);
    for (const one of seen) expect(problemsOf(platform, one)).toEqual([]);
    expect(seen[0]?.body).toMatch(/test notification/i);
    expect(seen[0]?.headers.get('user-agent')).toMatch(/^secrets-vault-service/);
    expect((await o.get('/integrations')).json.data).toEqual([]);
  });

  it('notify: each is an incident of its own', async () => {
    const o = await newOrg();
    for (let n = 0; n < 2; n++) await send(o, { platform: 'pagerduty', config: configs.pagerduty });
    const [first, second] = seen.map(({ body }) => JSON.parse(body).dedup_key);
    expect(first).not.toBe(second);
  });

  it('notify: either a stored connection or a platform with its config', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    const inline = { platform: 'slack', config: configs.slack };
    for (const fields of [
      ...[
        {},
        { integrationId: id, ...inline },
        { platform: 'slack' },
        { config: configs.slack },
        { integrationId: id, platform: 'slack' },
      ],
      ...[
        { ...inline, platform: 'vercel' },
        { ...inline, severity: 'fatal' },
        { ...inline, message: '' },
        { ...inline, message: 1 },
        { ...inline, x: 1 },
      ],
      ...[
        { ...inline, config: {} },
        { ...inline, config: { webhookUrl: 'https://hooks.slack.com/x', token: 'x' } },
      ],
    ])
      expect(codeOf(await send(o, fields)), JSON.stringify(fields)).toEqual([400, 'VALIDATION_FAILED']);
    for (const integrationId of [newId('int'), 'x', 'int_0', '../x'])
      expect(codeOf(await send(o, { integrationId }))).toEqual([404, 'NOT_FOUND']);
    expect(seen).toEqual([]);
  });

  it('notify: a connection of another kind is refused', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    await inCore(o, ({ rows }) => {
      const get = rows.get.bind(rows);
      vi.spyOn(rows, 'get').mockImplementation(((kind: never, key: string) => {
        const row = get(kind, key) as IntegrationRow | null;
        return row && kind === 'integration' ? { ...row, kind: 'sync' } : row;
      }) as never);
    });
    expect(codeOf(await send(o, { integrationId: id }))).toEqual([400, 'VALIDATION_FAILED']);
    expect(seen).toEqual([]);
  });

  it('notify: a refusal of the target is 502 with its status and time, and nothing of its text', async () => {
    const o = await newOrg();
    const body = { platform: 'slack', config: configs.slack };
    const answers: [number, Record<string, string>, number?][] = [
      [301, { Location: 'https://evil.example' }],
      ...([400, 404, 500] as const).map((status): [number, Record<string, string>] => [status, {}]),
      ...[7, 120].map((wait): [number, Record<string, string>, number] => [
        429,
        { 'Retry-After': String(wait) },
        wait,
      ]),
    ];
    for (const [status, headers, wait] of answers) {
      answer = () => new Response('needleAnswer', { status, headers });
      const refused = await send(o, body);
      expect(codeOf(refused)).toEqual([502, 'TARGET_REJECTED']);
      expect([refused.json.error.retry_after, refused.headers.get('retry-after')]).toEqual([
        wait,
        wait === undefined ? null : String(wait),
      ]);
      expect(refused.json.error.message).toContain(String(status));
      expect(refused.text).not.toMatch(/needle/);
    }
    answer = () =>
      Response.json({
        ok: false,
        error_code: 429,
        description: 'needleAnswer',
        parameters: { retry_after: 5 },
      });
    const told = await send(o, { platform: 'telegram', config: configs.telegram });
    expect([...codeOf(told), told.json.error.retry_after]).toEqual([502, 'TARGET_REJECTED', 5]);
    expect(told.json.error.message).toContain('429');
    expect(told.text).not.toMatch(/needle/);
  });

  it('notify: a target without an answer is 502, and is not tried again', async () => {
    const o = await newOrg();
    answer = () => Promise.reject(new Error(`connect to ${configs.slack.webhookUrl}`));
    const refused = await send(o, { platform: 'slack', config: configs.slack });
    expect(codeOf(refused)).toEqual([502, 'TARGET_UNREACHABLE']);
    expect(refused.text).not.toMatch(/needle|hooks\.slack/);
    expect(seen).toHaveLength(1);
  });

  it('notify: the audit log says what was sent where, and the result', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    await send(o, { integrationId: id });
    answer = () => new Response('', { status: 404 });
    await send(o, { platform: 'slack', config: configs.slack });
    await send(o, { integrationId: newId('int') });
    expect(
      (await entries(o)).filter(({ action }: { action: string }) => action.startsWith('integration')),
    ).toEqual([
      { action: 'integration.notify', resource: null, status: 404 },
      { action: 'integration.notify', resource: 'slack', status: 502 },
      { action: 'integration.notify', resource: id, status: 200 },
      { action: 'integration.create', resource: id, status: 201 },
    ]);
  });
});

describe('notify: targets', () => {
  it.each(hostileTargets.map((target) => [JSON.stringify(target).slice(0, 80), target]))(
    'notify: %s is no target',
    async (_shown, target) => {
      const o = await org();
      for (const [platform, config] of [
        ['slack', { webhookUrl: target }],
        ['discord', { webhookUrl: target }],
        ['webhook', { url: target }],
      ] as const) {
        for (const refused of [await send(o, { platform, config }), await create(o, platform, { config })]) {
          expect(codeOf(refused)).toEqual([400, 'VALIDATION_FAILED']);
          expect(refused.json.error.details[0].path).toBe(`config.${Object.keys(config)[0]}`);
          if (target.length > 20) expect(refused.text).not.toContain(target);
        }
      }
      expect(seen).toEqual([]);
    },
  );

  it('notify: base URLs replace scheme, host and port, and obey the same rules', async () => {
    deploy({
      PLATFORM_BASE_URLS:
        '{"slack":"https://proxy.example.com/s/","telegram":"http://127.0.0.1:9000","pagerduty":"https://pd.example.com"}',
    });
    const o = await newOrg();
    expect((await send(o, { platform: 'slack', config: configs.slack })).status).toBe(200);
    expect(
      (await send(o, { platform: 'pagerduty', config: { ...configs.pagerduty, region: 'eu' } })).status,
    ).toBe(200);
    expect(seen.map(({ url }) => url.href)).toEqual([
      'https://proxy.example.com/s/services/T024BE7LD/B024BE7LD/needleSlack0123456789',
      'https://pd.example.com/v2/enqueue',
    ]);
    // The address in effect counts, not the one in the config.
    expect((await send(o, { platform: 'slack', config: { webhookUrl: 'https://10.0.0.1/x' } })).status).toBe(
      200,
    );
    expect(codeOf(await send(o, { platform: 'telegram', config: configs.telegram }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ]);
    deploy({ PLATFORM_BASE_URLS: '{"telegram":"http://127.0.0.1:9000"}', ALLOW_PRIVATE_TARGETS: 'true' });
    answer = accepted.telegram;
    expect((await send(o, { platform: 'telegram', config: configs.telegram })).status).toBe(200);
    expect(seen.at(-1)?.url.href).toBe(
      'http://127.0.0.1:9000/bot123456:needleTelegram0123456789/sendMessage',
    );
  });

  it.each([
    '{',
    '[]',
    '{"nowhere":"https://x.example.com"}',
    '{"slack":"https://u@x.example.com"}',
    '{"slack":"https://x.example.com?a"}',
    '{"slack":1}',
  ])('notify: base URLs of the form %s stop the service', async (value) => {
    const o = await newOrg();
    deploy({ PLATFORM_BASE_URLS: value });
    const refused = await o.get('/integrations');
    expect(codeOf(refused)).toEqual([503, 'MISCONFIGURED']);
    expect(refused.json.error.message).toContain('PLATFORM_BASE_URLS');
  });
});

let shared: Promise<Caller> | null = null;
/** One organisation for many tests that leave nothing. */
const org = () => (shared ??= newOrg());

describe('integration: who may', () => {
  slow('integration: each call needs its scope', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    const inline = { platform: 'slack', config: configs.slack };
    const calls: [string, (by: Caller) => Promise<{ status: number }>][] = [
      ['integrations:read', (by) => by.get('/integrations')],
      ['integrations:read', (by) => by.get(`/integrations/${id}`)],
      ['integrations:read', (by) => by.get('/integrations/platforms')],
      ['integrations:write', (by) => by.patch(`/integrations/${id}`, { config: configs.slack })],
      ['integrations:write', (by) => create(by)],
      ['integrations:notify', (by) => send(by, inline)],
      ['integrations:notify', (by) => send(by, { integrationId: id })],
      ['integrations:write', (by) => by.del(`/integrations/${id}`)],
    ];
    for (const scope of [
      'integrations:read',
      'integrations:write',
      'integrations:notify',
      'integrations:sync',
      'secrets:read',
    ]) {
      const { o: by } = await newKey(o, { scopes: [scope] });
      for (const [needed, call] of calls) {
        if (scope === needed) continue;
        expect(codeOf((await call(by)) as never)).toEqual([403, 'INSUFFICIENT_SCOPE']);
      }
    }
    expect(seen).toEqual([]);
    const agent = await newAgent(o, { scopes: ['integrations:*'] });
    for (const [, call] of calls) expect((await call(agent.o)).status).toBeLessThan(300);
    for (const { o: by } of [await newProvider(o), await newBreakGlass(o)])
      expect(codeOf(await send(by, inline))).toEqual([403, 'CREDENTIAL_KIND_NOT_ALLOWED']);
  });

  it('integration: a credential that is limited to environments or names changes no connection', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    for (const limits of [{ environments: ['production'] }, { secrets: ['app/*'] }]) {
      const { o: by } = await newKey(o, { scopes: ['integrations:*'], ...limits });
      expect(codeOf(await create(by))).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect(codeOf(await by.patch(`/integrations/${id}`, { events: '*' }))).toEqual([
        403,
        'INSUFFICIENT_SCOPE',
      ]);
      expect((await send(by, { integrationId: id })).status).toBe(200);
    }
  });
});

describe('integration: platforms', () => {
  it('integration: each platform is listed with the JSON Schema of its config', async () => {
    const o = await newOrg();
    const { status, json } = await o.get('/integrations/platforms');
    expect([status, json.next_cursor, json.has_more]).toEqual([200, null, false]);
    expect(json.data.map(({ platform }: { platform: string }) => platform)).toEqual([
      ...syncPlatforms,
      ...notifyPlatforms,
    ]);
    for (const { platform, kind, configSchema } of json.data) {
      if (kind === 'sync') continue;
      expect(kind).toBe('notify');
      expect(configSchema).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        additionalProperties: false,
      });
      const hidden = Object.entries(
        configSchema.properties as Record<string, { writeOnly?: boolean }>,
      ).filter(([, field]) => field.writeOnly);
      const needles = Object.entries(configs[platform as NotifyPlatform]).filter(([, value]) =>
        JSON.stringify(value).includes('needle'),
      );
      expect(hidden.map(([name]) => name).sort()).toEqual(needles.map(([name]) => name).sort());
      for (const name of configSchema.required) expect(configSchema.properties).toHaveProperty(name);
    }
    const { configSchema } = json.data.find(({ platform }: { platform: string }) => platform === 'email');
    expect(configSchema.required).toEqual(['provider', 'apiKey', 'from', 'to']);
    expect(configSchema.properties.to).toMatchObject({ type: 'array', minItems: 1, maxItems: 50 });
    expect(configSchema.properties.provider.enum).toEqual(['resend', 'postmark', 'sendgrid']);
  });
});

describe('integration: secrecy', () => {
  slow('integration: no credential is stored unencrypted or returned', async () => {
    const logged: string[] = [];
    for (const level of ['log', 'warn', 'error', 'info'] as const)
      vi.spyOn(console, level).mockImplementation((...args) => void logged.push(args.map(String).join(' ')));
    const o = await newOrg();
    const answers: string[] = [];
    for (const platform of notifyPlatforms) {
      const stored = await create(o, platform, {});
      const { id } = stored.json;
      answer = accepted[platform];
      const fine = await send(o, { integrationId: id });
      answer = () => new Response('needleAnswer', { status: 403 });
      const inline = await o.post(
        '/integrations/notify',
        { platform, config: configs[platform] },
        { 'Idempotency-Key': platform },
      );
      const moved = await o.patch(`/integrations/${id}`, { config: configs[platform], name: 'Moved' });
      const refused = await o.patch(`/integrations/${id}`, {
        config: { ...configs[platform], surprise: 'needleRefused' },
      });
      const kept = await o.post(
        '/integrations',
        { kind: 'notify', platform, name: 'kept', config: configs[platform] },
        { 'Idempotency-Key': `c${platform}` },
      );
      for (const one of [stored, fine, inline, moved, refused, kept, await o.get(`/integrations/${id}`)])
        answers.push(one.text);
      expect(seen.length).toBeGreaterThan(0);
    }
    answers.push(
      (await o.get('/integrations')).text,
      (await o.get('/audit-log?limit=100')).text,
      JSON.stringify(faults.queued),
    );
    const all = async (sql: (query: string) => unknown[] | Promise<unknown[]>) => {
      const tables = (await sql(
        "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\'",
      )) as {
        name: string;
      }[];
      const parts: string[] = [];
      for (const { name } of tables) parts.push(JSON.stringify(await sql(`select * from "${name}"`)));
      return parts.join('\n');
    };
    const inStorage = await inGate(o, (_gate, { storage }) =>
      all((query) => storage.sql.exec(query).toArray()),
    );
    const inDatabase = await all(async (query) => (await db.prepare(query).all()).results);
    expect(inStorage).toContain('hooks.slack.com');
    expect(inDatabase).toContain('hooks.slack.com');
    for (const text of [inStorage, inDatabase, ...answers, ...logged]) {
      const at = text.search(/needle|bmVlZGxl|5lZWRsZ|uZWVkbG/);
      expect(at < 0 ? '' : text.slice(Math.max(0, at - 80), at + 80)).toBe('');
    }
  });

  slow('integration: credentials are bound to their organisation, their row and their purpose', async () => {
    const o = await newOrg();
    const { id } = await made(o);
    const { value } = await keysOf(o);
    const row = (await inCore(o, ({ rows }) => rows.get('integration', id))) as IntegrationRow;
    const sealed = row.credentials_sealed as string;
    expect(decrypt(value, 'connection', [o.id, id], sealed)).not.toBeNull();
    expect(decrypt(value, 'connection', [o.id, newId('int')], sealed)).toBeNull();
    expect(decrypt(value, 'connection', [newId('org'), id], sealed)).toBeNull();
    expect(decrypt(value, 'secret value', [o.id, id], sealed)).toBeNull();
  });

  it('integration: altered data is neither decrypted nor sent, and is reported', async () => {
    const o = await newOrg();
    const { id } = await made(o, 'slack');
    await inCore(o, ({ rows }) => {
      const get = rows.get.bind(rows);
      vi.spyOn(rows, 'get').mockImplementation(((kind: never, key: string) => {
        const row = get(kind, key) as IntegrationRow | null;
        return row && kind === 'integration' ? { ...row, platform: 'discord' } : row;
      }) as never);
    });
    expect(codeOf(await send(o, { integrationId: id }))).toEqual([500, 'INTERNAL']);
    expect(codeOf(await o.patch(`/integrations/${id}`, { config: configs.discord }))).toEqual([
      500,
      'INTERNAL',
    ]);
    expect(seen).toEqual([]);
    expect((await entries(o)).some(({ action }: { action: string }) => action.startsWith('integrity'))).toBe(
      true,
    );
  });

  it('integration: credentials that do not open are replaced by those of a change, and not kept', async () => {
    const o = await newOrg();
    const { id } = await made(o, 'slack');
    await inCore(o, ({ rows, storage }) =>
      storage.transactionSync(() =>
        rows.put('integration', {
          ...(rows.get('integration', id) as IntegrationRow),
          credentials_sealed: 'altered',
        }),
      ),
    );
    const lacking = await o.patch(`/integrations/${id}`, { config: {} });
    expect(codeOf(lacking)).toEqual([400, 'VALIDATION_FAILED']);
    expect((await o.patch(`/integrations/${id}`, { config: configs.slack })).status).toBe(200);
    expect((await send(o, { integrationId: id })).status).toBe(200);
  });
});
