// Many streams and many events: work is shared between streams, and what a socket carries is bounded.
import { exports } from 'cloudflare:workers';
import { afterEach, expect, it } from 'vitest';
import { socketBounds } from '../../../src/domains/events/stream';
import { listeners } from '../../../src/gate/events/listeners';
import { until } from '../../support/faults';
import { inCore } from '../../support/gate';
import { type Caller, newOrg, useWorld } from '../../support/world';

useWorld();
const most = socketBounds.characters;
afterEach(() => {
  socketBounds.characters = most;
});

/** A socket of a path, with what it receives. */
async function open({ token }: Caller, path: string) {
  const { webSocket } = await exports.default.fetch(`http://localhost${path}`, {
    headers: { Authorization: `Bearer ${token}`, 'CF-Connecting-IP': '203.0.113.7', Upgrade: 'websocket' },
  });
  const socket = webSocket as WebSocket;
  const received: string[] = [];
  const closed = new Promise<number>((resolve) =>
    socket.addEventListener('close', ({ code }) => resolve(code)),
  );
  socket.addEventListener('message', ({ data }) => void received.push(data as string));
  socket.accept();
  return { socket, received, closed };
}

const listening = (o: Caller, many: number) =>
  until(() => inCore(o, (core) => listeners(core).count() === many));

const importing = (o: Caller, many: number) =>
  o.post('/integrations/import', {
    source: 'dotenv',
    onConflict: 'fail',
    data: Array.from({ length: many }, (_, n) => `NAME_${n}=value-${n}`).join('\n'),
  });

const STREAMS = 6;
const NAMES = 150;

it('event stream: events are read once for all streams, and each gets all of them in order', async () => {
  const o = await newOrg();
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, () => open(o, '/v1/sys/events/subscribe/kv*')),
  );
  await listening(o, STREAMS);
  let rows = 0;
  await inCore(o, ({ outbox }) => {
    const { from } = outbox;
    outbox.from = (...asked) => {
      const found = from(...asked);
      rows += found.length;
      return found;
    };
  });
  expect((await importing(o, NAMES)).status).toBe(200);
  await until(() => streams.every(({ received }) => received.length === 2 * NAMES));
  for (const { received } of streams) {
    const paths = received.map((text) => JSON.parse(text).data.event.metadata.path);
    expect(paths.filter((path) => path.includes('/NAME_')).map((path) => path.split('_')[1])).toEqual(
      Array.from({ length: NAMES }, (_, n) => String(n)),
    );
  }
  // The events from three places: the first, after the ten that each stream gets at once, and the rest.
  expect(rows).toBeLessThan(3 * NAMES);
  for (const { socket } of streams) socket.close();
});

it('event stream: a WebSocket that has carried its bound closes, and resumes after the last event', async () => {
  const o = await newOrg();
  socketBounds.characters = 2000;
  const { received, closed } = await open(o, `/api/v1/orgs/${o.id}/events/stream?after=0`);
  await importing(o, 20);
  expect(await closed).toBe(1013);
  expect(received.length).toBeGreaterThan(1);
  expect(received.join('').length).toBeLessThanOrEqual(2000);
  const last = JSON.parse(received.at(-1) as string).sequence;
  const next = await open(o, `/api/v1/orgs/${o.id}/events/stream?after=${last}`);
  await until(() => next.received.length > 0);
  expect(JSON.parse(next.received[0] as string).sequence).toBe(last + 1);
  next.socket.close();
});
