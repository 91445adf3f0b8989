// 10,000 events to 20 real HTTP receivers of the real service, of which some are slow, dead or lying: each
// event reaches each living receiver, none of which waits for a sick one; what a sick one did not get is in
// its log, and arrives once it is well. Nothing here depends on how long anything takes. Part of
// `npm run test:operations`; by itself: node --import ./scripts/shared/temporary-files.mjs --test
// test/scripts/deliveries/deliveries.slow.mjs
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyOfProject, startService } from '../service.mjs';
import { NEVER_ENDS } from '../slow.mjs';

const EVENTS = Number(process.env.EVENTS ?? 10_000);
const LIVING = 10;
/** A key may make 1,200 requests a minute. */
const KEYS = 16;
const PAGE = 100;
const EPOCH = '1970-01-01T00:00:00Z';

/** @typedef {(response: http.ServerResponse, n: number) => void} Answer */

/** How the sick ones answer. @type {Record<string, Answer>} */
const sick = {
  // Answered when all that live are done: by then whoever asked has gone.
  'slow 1': (response) => void held.push(response),
  'slow 2': (response) => void held.push(response),
  closing: (response) => response.socket?.destroy(),
  half(response) {
    response.writeHead(200, { 'Content-Length': '1000' });
    response.write('only the start', () => response.socket?.destroy());
  },
  redirecting: (response) => void response.writeHead(307, { Location: 'http://127.0.0.1:1024/' }).end(),
  busy(response, n) {
    const wishes = ['soon', '-1', '0', '1e9', '99999999999999999999', 'Thu, 01 Jan 1970 00:00:00 GMT', ''];
    response.writeHead(503, { 'Retry-After': wishes[n % wishes.length] }).end('busy');
  },
  gone: (response) => void response.writeHead(410).end(),
  failing: (response) => void response.writeHead(500).end('x'.repeat(100_000)),
};
/** Lies, and is served all the same: a success whose body has no end. */
const endless = (response) => {
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
    if (!response.destroyed) response.once('drain', more);
  };
  response.writeHead(200);
  more();
};
/** @type {http.ServerResponse[]} */
const held = [];

/** @param {string} name @param {Answer} answer */
async function receiver(name, answer) {
  const one = {
    name,
    answer,
    requests: 0,
    got: new Set(),
    url: '',
    id: '',
    restart: async () => {},
    shut: () => {},
  };
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part) => (body += part));
    request.on('end', () => {
      one.got.add(JSON.parse(body).id);
      one.answer(response, one.requests++);
    });
    response.on('error', () => {});
  });
  const listen = (port = 0) => new Promise((done) => server.listen(port, '127.0.0.1', () => done(undefined)));
  await listen();
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  one.url = `http://127.0.0.1:${port}/`;
  one.restart = () => listen(port);
  one.shut = () => {
    server.closeAllConnections();
    server.close();
  };
  after(one.shut);
  return one;
}

const well = (response) => void response.end('ok');

/** Waits for what will be, however long that takes: the test has a timeout for what will not. */
async function until(holds, ms = 500) {
  while (!(await holds())) await sleep(ms);
}

it(`webhooks: none of ${EVENTS} events to 20 receivers is lost, and no healthy receiver waits`, {
  timeout: NEVER_ENDS,
}, async (t) => {
  const service = await startService(copyOfProject(), { ALLOW_PRIVATE_TARGETS: 'true' });
  const founded = (
    await service.call('POST', '/orgs', service.variable('BOOTSTRAP_TOKEN'), {
      name: 'A',
      owner: { email: 'a@example.com', name: 'A' },
    })
  ).json;
  const at = `/orgs/${founded.org.id}`;
  const tokens = [];
  for (let n = 0; n < KEYS; n++)
    tokens.push(
      (await service.call('POST', `${at}/api-keys`, founded.api_key.token, { name: `k${n}`, scopes: ['*'] }))
        .json.token,
    );
  let calls = 0;
  /** A call that has to succeed; one over the limit waits. */
  const call = async (method, path, body) => {
    for (;;) {
      const answer = await service
        .call(method, `${at}${path}`, tokens[calls++ % KEYS], body)
        .catch(() => null);
      if (answer && answer.status < 300) return answer.json;
      assert.ok(
        answer === null || answer.status === 429 || answer.status === 503,
        `${method} ${path}: ${answer?.status}`,
      );
      await sleep(500);
    }
  };

  const living = [await receiver('endless', endless)];
  while (living.length < LIVING) living.push(await receiver(`living ${living.length}`, well));
  // One that answers late, but answers.
  living.push(await receiver('late', (response) => void setTimeout(() => well(response), 20)));
  const ill = [];
  for (const [name, answer] of Object.entries(sick)) ill.push(await receiver(name, answer));
  const dead = await receiver('dead', well);
  dead.shut();
  ill.push(dead);
  const all = [...living, ...ill];
  assert.equal(all.length, 20);
  for (const one of all)
    one.id = (await call('POST', '/webhooks', { url: one.url, events: ['SECRET_CREATED'] })).id;

  let made = 0;
  const run = Date.now().toString(36);
  const make = async () => {
    for (let n = made++; n < EVENTS; n = made++) {
      await call('POST', '/secrets', { name: `n-${run}-${n}`, type: 'generic', value: `value-of-${n}` });
      if (n % 1000 === 0)
        t.diagnostic(
          `${n} events; delivered: ${all.map(({ name, got }) => `${name} ${got.size}`).join(', ')}`,
        );
    }
  };
  await Promise.all(Array.from({ length: 8 }, make));

  /** @type {Map<string, number>} */
  const sent = new Map();
  let disabledAt = 0;
  const readFeed = async () => {
    for (let after = 0, more = true; more; ) {
      const page = await call(
        'GET',
        `/events?types=SECRET_CREATED,WEBHOOK_DISABLED&limit=${PAGE}&after=${after}`,
      );
      for (const { id, type, sequence } of page.data)
        if (type === 'SECRET_CREATED') sent.set(id, sequence);
        else disabledAt = sequence;
      ({ next_after: after, has_more: more } = page);
    }
  };
  await readFeed();
  assert.ok(sent.size >= EVENTS, `${sent.size} events`);
  t.diagnostic(`all are made; delivered: ${all.map(({ name, got }) => `${name} ${got.size}`).join(', ')}`);

  // Those that live are done while the slow ones have answered nothing: nobody has waited for them.
  await until(() => living.every(({ got }) => got.size >= sent.size));
  assert.ok(held.length > 0);
  for (const { name, got } of living)
    assert.deepEqual(
      [...sent.keys()].filter((id) => !got.has(id)),
      [],
      name,
    );
  t.diagnostic(
    `all that live have all; in ${all.map(({ name, requests }) => `${name} ${requests}`).join(', ')} requests`,
  );

  /** The events in the log of an endpoint, by status. */
  const logOf = async ({ id }) => {
    const found = { pending: new Set(), delivered: new Set(), failed: new Set() };
    for (let cursor = ''; ; ) {
      const { data, next_cursor } = await call(
        'GET',
        `/webhooks/${id}/deliveries?limit=${PAGE}${cursor && `&cursor=${cursor}`}`,
      );
      for (const { event_id, status } of data) found[status].add(event_id);
      if (!next_cursor) return found;
      cursor = encodeURIComponent(next_cursor);
    }
  };
  await until(async () => (await logOf(living[0])).pending.size === 0);
  await readFeed();
  assert.ok(disabledAt > 0, 'the endpoint that is gone is disabled');
  /** The events that an endpoint has to get: one that is disabled, those from before. */
  const dueTo = ({ name }) =>
    [...sent].flatMap(([id, sequence]) => (name !== 'gone' || sequence < disabledAt ? [id] : []));
  for (const one of ill) {
    const { pending, delivered, failed } = await logOf(one);
    const due = dueTo(one);
    assert.deepEqual([...pending, ...delivered, ...failed].sort(), due.sort(), one.name);
    for (const id of delivered) assert.ok(one.got.has(id), `${one.name} was never sent ${id}`);
    t.diagnostic(`${one.name}: ${delivered.size} delivered, ${pending.size} wait, ${failed.size} failed`);
  }

  // The sick ones get well. What waits fails when an endpoint is disabled, and all that failed is sent again.
  for (const response of held.splice(0)) well(response);
  for (const one of ill) one.answer = well;
  await dead.restart();
  for (const { id } of ill) await call('PATCH', `/webhooks/${id}`, { enabled: false });
  for (const { id } of ill)
    await until(
      async () => (await call('GET', `/webhooks/${id}/deliveries?status=pending&limit=1`)).data.length === 0,
    );
  for (const { id } of ill) {
    await call('PATCH', `/webhooks/${id}`, { enabled: true });
    while ((await call('POST', `/webhooks/${id}/redeliver`, { since: EPOCH })).has_more);
  }
  await until(async () => {
    const left = await Promise.all(
      ill.map(({ id }) => call('GET', `/webhooks/${id}/deliveries?status=pending&limit=1`)),
    );
    return left.every(({ data }) => data.length === 0);
  }, 2000);
  for (const one of ill) {
    const { delivered } = await logOf(one);
    assert.deepEqual([...delivered].sort(), dueTo(one).sort(), one.name);
    assert.deepEqual(
      dueTo(one).filter((id) => !one.got.has(id)),
      [],
      one.name,
    );
  }
});
