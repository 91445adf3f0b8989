// Changes of secrets over a WebSocket, as Vault Secrets Operator takes them for instant updates.
import { exports } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { listeners } from '../../../src/gate/events/listeners';
import { newKey } from '../../support/credentials';
import { until } from '../../support/faults';
import { inCore } from '../../support/gate';
import { seen, vaultOf } from '../../support/integrations/vault';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

interface Message {
  data: { event: { metadata: Record<string, string> }; event_type: string; plugin_info: object };
  namespace: string;
}

/** A subscription, as the operator opens it. */
async function subscribe({ token }: Pick<Caller, 'token'>, path = 'kv*?json=true', namespace?: string) {
  const { status, webSocket } = await exports.default.fetch(
    `http://localhost/v1/sys/events/subscribe/${path}`,
    {
      headers: {
        'X-Vault-Token': token,
        'CF-Connecting-IP': '203.0.113.7',
        Upgrade: 'websocket',
        ...(namespace !== undefined && { 'X-Vault-Namespace': namespace }),
      },
    },
  );
  const messages: Message[] = [];
  if (!webSocket) return { status, messages, closed: Promise.resolve() };
  const closed = new Promise((resolve) => webSocket.addEventListener('close', resolve));
  webSocket.addEventListener('message', ({ data }) => void messages.push(JSON.parse(data as string)));
  webSocket.accept();
  return { status, messages, closed };
}

const listening = (o: Caller) => until(() => inCore(o, (core) => listeners(core).count() > 0));
const told = ({ data }: Message) => [data.event_type, data.event.metadata.path];

it('Vault events: a change is a message for its secret and for its folder, in the shape of Vault', async () => {
  const o = await newOrg();
  const { status, messages, closed } = await subscribe(o, undefined, `${o.id}/`);
  expect(status).toBe(101);
  await listening(o);
  const vault = vaultOf(o);
  await vault.put('production/data/app/db/user', { data: { value: 'x' } });
  await until(() => messages.length === 2);
  expect(messages[0]).toMatchObject({
    specversion: '1.0',
    type: '*',
    namespace: `${o.id}/`,
    data: {
      event: {
        metadata: {
          path: 'production/data/app/db/user',
          operation: 'data-write',
          modified: 'true',
          current_version: '1',
        },
      },
      event_type: 'kv-v2/data-write',
      plugin_info: { mount_path: 'production/' },
    },
  });
  await vault.patch('production.folders/data/app/db', { data: { user: 'y' } });
  await vault.del('production/data/app/db/user');
  await newSecret(o, { name: 'top' });
  await until(() => messages.length === 8);
  expect(messages.map(told)).toEqual([
    ['kv-v2/data-write', 'production/data/app/db/user'],
    ['kv-v2/data-write', 'production.folders/data/app/db'],
    ['kv-v2/data-write', 'production/data/app/db/user'],
    ['kv-v2/data-write', 'production.folders/data/app/db'],
    ['kv-v2/data-delete', 'production/data/app/db/user'],
    ['kv-v2/data-delete', 'production.folders/data/app/db'],
    ['kv-v2/data-write', 'production/data/top'],
    ['kv-v2/data-write', 'production.folders/data'],
  ]);
  await o.del(`/api-keys/${o.keyId}`).catch(() => {});
  await closed;
});

it('Vault events: only secrets that the token reaches, of the type that was asked for, until it ends', async () => {
  const o = await newOrg();
  const key = await newKey(o, { scopes: ['secrets:read'], secrets: ['app/*'] });
  const { messages, closed } = await subscribe(key, 'kv-v2/data-write');
  await listening(o);
  await newSecret(o, { name: 'other/a' });
  const { id } = await newSecret(o, { name: 'app/a' });
  await o.del(`/secrets/${id}`);
  await newSecret(o, { name: 'app/b' });
  await until(() => messages.length === 4);
  expect(messages.map(told).map(([, path]) => path)).toEqual([
    'production/data/app/a',
    'production.folders/data/app',
    'production/data/app/b',
    'production.folders/data/app',
  ]);
  expect(messages[0]?.namespace).toBe('');
  await o.del(`/api-keys/${key.id}`);
  await closed;
});

it('Vault events: refused without a token, without a WebSocket, and with a filter', async () => {
  const o = await newOrg();
  expect((await subscribe({ token: 'x' })).status).toBe(403);
  expect((await subscribe(await newKey(o, { scopes: ['audit:read'] }))).status).toBe(403);
  expect((await subscribe(o, 'kv*?filter=x')).status).toBe(400);
  expect(seen(await vaultOf(o).get('sys/events/subscribe/kv*'))).toEqual([
    400,
    { errors: ['events are sent over a WebSocket'] },
  ]);
});

it('Vault events: a pattern of types has five wildcards at most, so that comparing takes few steps', async () => {
  const o = await newOrg();
  for (const pattern of [
    `${'*'.repeat(6)}x`,
    `${'*a'.repeat(40)}`,
    `kv${'-'.repeat(255)}`,
    'kv-v2/data-writ%3F',
  ])
    expect([pattern, (await subscribe(o, pattern)).status]).toEqual([pattern, 400]);
  const { status, messages } = await subscribe(o, '*v2*-w*');
  expect(status).toBe(101);
  await listening(o);
  await newSecret(o, { name: 'top' });
  await until(() => messages.length === 2);
});
