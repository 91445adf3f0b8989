// `npm run bench:events`: how many webhook deliveries per second the service makes, and what idle event
// streams cost.
//   npm run bench:events -- [--events N] [--webhooks N] [--streams N] [--seconds N]
// Deliveries: the receivers, in this process, hold the first requests until all events are raised, and then
// respond immediately; measured are the elapsed time and the runtime's CPU time from then until the last
// delivery. Streams: memory and CPU time of the runtime without streams and with this many idle ones, each
// for the same time.
import http from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { callerOf, good, newOrg, parallel, requestOf, startVault, tell } from './measure.mjs';

const options = /** @type {const} */ ({
  events: { type: 'string', default: '300' },
  webhooks: { type: 'string', default: '10' },
  streams: { type: 'string', default: '1000' },
  seconds: { type: 'string', default: '60' },
});
const { values } = parseArgs({ options });
const names = /** @type {const} */ (['events', 'webhooks', 'streams', 'seconds']);
for (const name of names.filter((one) => !(Number(values[one]) > 0))) {
  process.stderr.write(`--${name} must be a number above 0, such as ${options[name].default}.\n`);
  process.exit(1);
}
const [events, webhooks, streams, seconds] = names.map((name) => Number(values[name]));
/** The most streams of a credential. */
const STREAMS_OF_ONE = 100;
const megabytes = (bytes) => `${Math.round(bytes / 1024 ** 2).toLocaleString('en')} MB`;

const vault = await startVault();
try {
  const call = callerOf(vault);
  const keys = Math.max(10, Math.ceil(streams / STREAMS_OF_ONE));
  await measureDeliveries(call, await newOrg(vault, { secrets: 0, keys }));
  await measureStreams(call, await newOrg(vault, { secrets: 0, keys }));
} finally {
  await vault.stop();
}
process.exit();

async function measureDeliveries(call, org) {
  const held = [];
  // A request that was held for too long is repeated.
  const came = new Set();
  let isHolding = true;
  const receiver = http.createServer((request, response) => {
    request.resume().on('end', () => {
      came.add(`${request.url} ${request.headers['webhook-id']}`);
      if (isHolding) held.push(response);
      else response.end('ok');
    });
  });
  await new Promise((done) => receiver.listen(0, '127.0.0.1', () => done(undefined)));
  const { port } = /** @type {net.AddressInfo} */ (receiver.address());
  for (let n = 0; n < webhooks; n++)
    good(
      await call('POST', `/orgs/${org.id}/webhooks`, org.token, {
        url: `http://127.0.0.1:${port}/${n}`,
        events: '*',
      }),
    );
  await parallel(events, async (n) =>
    good(
      await call('POST', `/orgs/${org.id}/secrets`, org.tokens[n % org.tokens.length], {
        name: `n-${n}`,
        type: 'generic',
        value: 'v',
      }),
    ),
  );
  const due = events * webhooks;
  // Wait until each endpoint has been called.
  while (held.length < webhooks) await sleep(10);
  tell(`${events} events are raised, ${held.length} requests are held`);
  const cpu = vault.cpu();
  const started = performance.now();
  isHolding = false;
  for (const response of held.splice(0)) response.end('ok');
  while (came.size < due) await sleep(10);
  const took = (performance.now() - started) / 1000;
  const each = (vault.cpu() - cpu) / due;
  process.stdout.write(
    `deliveries: ${due} in ${took.toFixed(1)} s, ${(due / took).toFixed(0)} a second, ${each.toFixed(2)} CPU ms each\n`,
  );
  receiver.close();
}

async function measureStreams(call, org) {
  const idle = async (what) => {
    await sleep(5000);
    const cpu = vault.cpu();
    await sleep(seconds * 1000);
    const used = (vault.cpu() - cpu) / seconds;
    const memory = vault.memory();
    process.stdout.write(`${what}: ${megabytes(memory)}, ${used.toFixed(1)} CPU ms a second\n`);
    return { used, memory };
  };
  const without = await idle('without streams');
  /** @type {net.Socket[]} */
  const open = [];
  let came = 0;
  await parallel(streams, async (n) => {
    const socket = net.connect(vault.port, '127.0.0.1');
    const token = org.tokens[Math.floor(n / STREAMS_OF_ONE)];
    socket.write(requestOf('GET', `/api/v1/orgs/${org.id}/events/stream`, token));
    await new Promise((done, fail) =>
      socket
        .on('error', fail)
        .on('close', () => fail(new Error('a stream has ended')))
        .once('data', (data) =>
          /^HTTP\/1.1 200 /.test(String(data)) ? done(undefined) : fail(new Error(String(data))),
        ),
    );
    socket.on('data', (data) => {
      came += String(data).split('event: SECRET_CREATED').length - 1;
    });
    open.push(socket);
  });
  const during = await idle(`${streams} streams`);
  const added = during.used - without.used;
  process.stdout.write(
    `each stream: ${((during.memory - without.memory) / streams / 1024).toFixed(0)} kB, ${(added / streams).toFixed(3)} CPU ms a second\n`,
  );
  const cpu = vault.cpu();
  const started = performance.now();
  good(
    await call('POST', `/orgs/${org.id}/secrets`, org.token, { name: 'seen', type: 'generic', value: 'v' }),
  );
  while (came < streams) await sleep(5);
  process.stdout.write(
    `one event to all of them: ${((performance.now() - started) / 1000).toFixed(1)} s, ${((vault.cpu() - cpu) / 1000).toFixed(1)} CPU s\n`,
  );
  for (const socket of open) socket.removeAllListeners('close').destroy();
}
