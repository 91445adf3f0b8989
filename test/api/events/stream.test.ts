// Event streams: new events arrive, a stream resumes from an id, and it ends in the same turn as its caller.
import { exports } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import { listeners } from '../../../src/gate/events/listeners';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults, until } from '../../support/faults';
import { inCore } from '../../support/gate';
import { newSignedIn, signIn } from '../../support/signin/browser';
import { slow } from '../../support/slow';
import { MINUTE } from '../../support/time';
import { type Caller, codeOf, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
beforeEach(() => {
  faults.clock = null;
});

interface Received {
  id: string;
  event: string;
  data: { sequence: number; type: string; data: Record<string, unknown> };
}

/** Opens a stream; `next` waits for an event, `ended` for the end. */
async function open(o: Caller, query = '', headers: Record<string, string> = {}) {
  const response = await exports.default.fetch(`http://localhost/api/v1/orgs/${o.id}/events/stream${query}`, {
    headers: { Authorization: `Bearer ${o.token}`, 'CF-Connecting-IP': '203.0.113.7', ...headers },
  });
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = '';
  let done = false;
  const read = async () => {
    const { value, done: last } = await reader.read();
    text += value ?? '';
    done = last;
  };
  /** The next event, or null at the end. */
  const next = async (): Promise<Received | null> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end < 0) {
        if (done) return null;
        await read();
        continue;
      }
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block.startsWith(':')) continue;
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
      return { ...fields, data: JSON.parse(fields.data) } as Received;
    }
  };
  const listening = () => until(() => inCore(o, (core) => listeners(core).count() > 0));
  return { response, next, listening, close: () => reader.cancel() };
}

describe('event stream', () => {
  slow('of a member narrows with the environments of their role, while it is open', async () => {
    const { o } = await newSignedIn();
    const dev = await signIn(o, 'developer', { environments: ['development', 'production'] });
    const stream = await open(dev.o);
    await stream.listening();
    await newSecret(o, { name: 'BEFORE', environment: 'production' });
    expect((await stream.next())?.data.data.name).toBe('BEFORE');
    await o.patch(`/members/${dev.member.id}`, { environments: ['development'] });
    await newSecret(o, { name: 'FAR', environment: 'production' });
    await newSecret(o, { name: 'NEAR', environment: 'development' });
    expect((await stream.next())?.data.data.name).toBe('NEAR');
    await stream.close();
  });

  slow('with changes names the kinds of resources that change, and nothing else', async () => {
    const o = await newOrg();
    const stream = await open(o, '?changes=true');
    await stream.listening();
    await o.patch('/environments/production', { name: 'Live' });
    const first = await stream.next();
    expect([first?.event, first?.id, first?.data]).toEqual([
      'CHANGED',
      undefined,
      { kinds: ['environment'] },
    ]);
    // A change between two rounds is reported too.
    await o.post('/teams', { name: 'Core' });
    expect((await stream.next())?.data).toEqual({ kinds: ['team'] });
    // Events are sent as usual.
    await newSecret(o, { name: 'A' });
    expect((await stream.next())?.event).toBe('SECRET_CREATED');
    await stream.close();
  });

  it('is not sent to callers who did not ask for it or do not see all events', async () => {
    const o = await newOrg();
    const limited = await newKey(o, { scopes: ['events:read'], environments: ['production'] });
    const names = await newKey(o, { scopes: ['secrets:list'] });
    for (const [caller, query] of [
      [o, ''],
      [limited.o, '?changes=true'],
      [names.o, '?changes=true'],
    ] as const) {
      const stream = await open(caller, query);
      await stream.listening();
      await o.post('/teams', { name: 'Core' });
      await newSecret(o, { name: `AFTER_${caller.token.slice(-6)}` });
      const next = await stream.next();
      expect([next?.event, next?.id === undefined], query).toEqual(['SECRET_CREATED', false]);
      await stream.close();
    }
  });

  it('sends new events, as Server-Sent Events', async () => {
    const o = await newOrg();
    await newSecret(o);
    const stream = await open(o);
    expect(stream.response.status).toBe(200);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.response.headers.get('cache-control')).toBe('no-store');
    const { id, name } = await newSecret(o);
    const received = await stream.next();
    expect(received).toMatchObject({
      id: '4',
      event: 'SECRET_CREATED',
      data: { sequence: 4, type: 'SECRET_CREATED', org_id: o.id },
    });
    expect(received?.data.data).toMatchObject({ secret_id: id, name });
    await stream.listening();
    await o.post(`/secrets/${id}/rotate`, { value: 'second' });
    expect((await stream.next())?.event).toBe('SECRET_ROTATED');
    await stream.close();
  });

  slow('resumes behind Last-Event-ID, which counts before after', async () => {
    const o = await newOrg();
    for (let n = 0; n < 3; n++) await newSecret(o);
    const ids = async (query: string, headers: Record<string, string>, many: number) => {
      const stream = await open(o, query, headers);
      const found: string[] = [];
      for (let n = 0; n < many; n++) found.push((await stream.next())?.id as string);
      await stream.close();
      return found;
    };
    expect(await ids('?after=0', {}, 5)).toEqual(['1', '2', '3', '4', '5']);
    expect(await ids('', { 'Last-Event-ID': '3' }, 2)).toEqual(['4', '5']);
    expect(await ids('?after=0', { 'Last-Event-ID': '4' }, 1)).toEqual(['5']);
    expect(await ids('?after=0&types=SECRET_CREATED', {}, 3)).toEqual(['3', '4', '5']);
    for (const bad of ['x', '-1', '1.5', '1e9', '9'.repeat(20)])
      expect(codeOf(await o.get('/events/stream', { 'Last-Event-ID': bad })), bad).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
  });

  slow('shows a limited caller the names that it reaches, and nothing else', async () => {
    const o = await newOrg();
    const mine = await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] });
    const stream = await open(mine.o);
    await newSecret(o, { name: 'other' });
    await newKey(o);
    await newSecret(o, { name: 'app/one' });
    expect((await stream.next())?.data.data.name).toBe('app/one');
    await stream.close();
  });

  const ends: [string, (o: Caller, key: { id: string; o: Caller }) => Promise<unknown>][] = [
    ['is revoked', (o, { id }) => o.del(`/api-keys/${id}`)],
    ['is contained', (o, { id }) => o.post(`/credentials/${id}/contain`, {})],
    ['ends in a panic', (o) => o.post('/panic', { reason: 'stolen', api_keys: true })],
    [
      'belongs to an organisation that is deleted',
      async (o) => o.del('', { confirm: (await o.get('')).json.name }),
    ],
  ];
  it.each(ends)('ends in the turn in which its credential %s', async (_what, end) => {
    const o = await newOrg();
    const key = await newKey(o);
    const stream = await open(key.o);
    await stream.listening();
    const answer = (await end(o, key)) as { status: number };
    expect(answer.status).toBeLessThan(300);
    // Not even the event of the end itself.
    expect(await stream.next()).toBe(null);
    expect(codeOf(await key.o.get('/events'))[0]).toBe(401);
  });

  it('of a browser session ends with the JWT that started it', async () => {
    const { o, browser } = await newSignedIn();
    const stream = await open(browser.o);
    expect(stream.response.status).toBe(200);
    await stream.listening();
    faults.clock = Date.now() + 11 * MINUTE;
    await newSecret(o);
    expect(await stream.next()).toBe(null);
  });

  slow('ends with the parent of its credential, and when an agent loses the scope', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const session = await newSession(key.o);
    const stream = await open(session.o);
    await stream.listening();
    await o.del(`/api-keys/${key.id}`);
    expect(await stream.next()).toBe(null);

    const agent = await newAgent(o, { scopes: ['secrets:list', 'audit:read'] });
    const narrowed = await open(agent.o);
    await narrowed.listening();
    expect((await o.patch(`/agent-credentials/${agent.id}`, { scopes: ['audit:read'] })).status).toBe(200);
    expect(await narrowed.next()).toBe(null);
  });

  slow('sends no event for a name that its caller has lost in the meantime', async () => {
    const o = await newOrg();
    const agent = await newAgent(o, { scopes: ['secrets:list'], secrets: ['app/*', 'db/*'] });
    const stream = await open(agent.o);
    await stream.listening();
    await o.patch(`/agent-credentials/${agent.id}`, { secrets: ['app/*'] });
    await newSecret(o, { name: 'db/one' });
    await newSecret(o, { name: 'app/one' });
    expect((await stream.next())?.data.data.name).toBe('app/one');
    await stream.close();
  });

  it('over a WebSocket sends one JSON message per event, resumes by after, and ends with its credential', async () => {
    const o = await newOrg();
    const key = await newKey(o);
    const connect = (caller: Caller, query: string) =>
      exports.default.fetch(`http://localhost/api/v1/orgs/${o.id}/events/stream${query}`, {
        headers: {
          Authorization: `Bearer ${caller.token}`,
          'CF-Connecting-IP': '203.0.113.7',
          Upgrade: 'websocket',
        },
      });
    expect((await connect(o.as('x'), '')).status).toBe(401);
    const { status, webSocket } = await connect(key.o, '?after=2&types=CREDENTIAL_CREATED,SECRET_CREATED');
    expect(status).toBe(101);
    const socket = webSocket as WebSocket;
    const messages: { sequence: number; type: string; org_id: string }[] = [];
    const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
    socket.addEventListener('message', ({ data }) => void messages.push(JSON.parse(data as string)));
    socket.accept();
    socket.send('not read');
    await until(() => inCore(o, (core) => listeners(core).count() > 0));
    await newSecret(o);
    await until(() => messages.length === 2);
    expect(messages).toMatchObject([
      { sequence: 3, type: 'CREDENTIAL_CREATED', org_id: o.id },
      { sequence: 4, type: 'SECRET_CREATED', org_id: o.id },
    ]);
    await o.del(`/api-keys/${key.id}`);
    await closed;
  });

  it.each(['', 'websocket'])('frees its place at once when its client leaves (%s)', async (Upgrade) => {
    const o = await newOrg();
    const places = () => inCore(o, (core) => listeners(core).places());
    if (Upgrade === '') {
      const stream = await open(o);
      await stream.listening();
      expect(await places()).toBe(1);
      await stream.close();
    } else {
      const { webSocket } = await exports.default.fetch(
        `http://localhost/api/v1/orgs/${o.id}/events/stream`,
        { headers: { Authorization: `Bearer ${o.token}`, Upgrade } },
      );
      webSocket?.accept();
      await until(() => inCore(o, (core) => listeners(core).count() > 0));
      expect(await places()).toBe(1);
      webSocket?.close(1000);
    }
    await until(() => inCore(o, (core) => listeners(core).places() + listeners(core).count() === 0));
  });

  slow('audit log: a stream is one entry, and takes one request of the rate limit', async () => {
    const o = await newOrg();
    const stream = await open(o);
    for (let n = 0; n < 3; n++) {
      await newSecret(o);
      await stream.next();
    }
    await stream.close();
    expect((await o.get('/audit-log?action=event.stream')).json.data).toHaveLength(1);
  });

  slow('catches up a bounded part at a time, then the client connects again', async () => {
    const o = await newOrg();
    await inCore(o, ({ storage, outbox }) =>
      storage.transactionSync(() => {
        for (let n = 0; n < 5400; n++) outbox.put({ type: 'DEVICE_ASSIGNED', data: { n } }, Date.now());
      }),
    );
    const stream = await open(o, '?after=0');
    let last = 0;
    for (let event = await stream.next(); event; event = await stream.next()) last = event.data.sequence;
    expect(last).toBe(5100);
    const next = await open(o, '', { 'Last-Event-ID': String(last) });
    expect((await next.next())?.id).toBe('5101');
    await next.close();
  });

  /** The statuses of streams that are opened at once, and how to close those that opened. */
  async function openMany(callers: Caller[]) {
    const streams = await Promise.all(callers.map((caller) => open(caller)));
    const opened = streams.filter(({ response }) => response.status === 200);
    return {
      opened: opened.length,
      streams: opened,
      close: () => Promise.all(opened.map(({ close }) => close())),
    };
  }

  slow('is refused past a hundred of one root, however many open at once', async () => {
    const o = await newOrg();
    const many = await openMany(Array.from({ length: 150 }, () => o));
    expect(many.opened).toBe(100);
    expect(codeOf(await o.get('/events/stream'))).toEqual([409, 'LIMIT_REACHED']);
    // Another root has its own.
    const other = await newKey(o);
    const stream = await open(other.o);
    expect(stream.response.status).toBe(200);
    await stream.close();
    await many.close();
  });

  slow(
    'counts what a root created towards the same limit: sessions, agents, their agents, and keys that no owner made',
    async () => {
      const o = await newOrg();
      const key = await newKey(o, { scopes: ['events:read', 'tokens:read', 'tokens:write'] });
      const agent = await newAgent(key.o, { scopes: ['events:read', 'tokens:write'] });
      const others = await Promise.all([
        newSession(key.o),
        newAgent(agent.o, { scopes: ['events:read'] }),
        newAgent(agent.o, { scopes: ['events:read'] }),
        newKey(key.o, { scopes: ['events:read', 'tokens:write'] }),
      ]);
      const callers = [key, agent, ...others].map((one) => one.o);
      const many = await openMany(
        Array.from({ length: 108 }, (_, n) => callers[n % callers.length] as Caller),
      );
      expect(many.opened).toBe(100);
      const below = await newKey((others[3] as { o: Caller }).o, { scopes: ['events:read'] });
      for (const caller of [...callers, below.o])
        expect(codeOf(await caller.get('/events/stream'))).toEqual([409, 'LIMIT_REACHED']);
      await many.close();
      const mine = await open(o);
      expect(mine.response.status).toBe(200);
      await mine.close();
    },
  );

  slow('keeps its place between rounds, and gives it up some time after its client is gone', async () => {
    const o = await newOrg();
    faults.clock = Date.now();
    const many = await openMany(Array.from({ length: 100 }, () => o));
    expect(many.opened).toBe(100);
    await until(() => inCore(o, (core) => listeners(core).count() === 100));
    // Every stream goes through a round.
    await newSecret(o);
    for (const { next } of many.streams) expect((await next())?.event).toBe('SECRET_CREATED');
    expect(codeOf(await o.get('/events/stream'))).toEqual([409, 'LIMIT_REACHED']);
    await until(() => inCore(o, (core) => listeners(core).count() === 100));
    await many.close();
    // Their last round ends.
    await newSecret(o);
    await until(() => inCore(o, (core) => listeners(core).count() === 0));
    faults.clock += MINUTE;
    const again = await open(o);
    expect(again.response.status).toBe(200);
    await again.close();
  });
});
