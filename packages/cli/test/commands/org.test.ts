// svc org: from a bootstrap token to a signed-in profile, and where the token may be sent.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { expect, inject, it } from 'vitest';
import { startProxy } from '../../../../test/packages/proxy.mjs';
import { BOOTSTRAP_TOKEN } from '../../../../test/packages/vault.mjs';
import { Machine } from '../harness.ts';

const url = inject('vaultUrl');
const { port } = new URL(url);
const CREATE = ['org', 'create', 'Acme', '--email', 'you@example.com'];

/** A clone after `npm start`. */
function clone(env: NodeJS.ProcessEnv = {}): Machine {
  const machine = new Machine({ PORT: port, ...env });
  fs.writeFileSync(
    path.join(machine.work, '.dev.vars'),
    `# Created\nMASTER_KEYS=x\nBOOTSTRAP_TOKEN=${BOOTSTRAP_TOKEN}\n`,
    { mode: 0o600 },
  );
  return machine;
}

/** A server that is not a vault, and the requests it received. */
async function stranger(answer: (request: http.IncomingMessage, response: http.ServerResponse) => void) {
  const seen: http.IncomingHttpHeaders[] = [];
  const server = http.createServer((request, response) => {
    seen.push(request.headers);
    answer(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { seen, port: String((server.address() as { port: number }).port), close: () => server.close() };
}

it('organisation: in a clone, one command creates it, stores its key and prints the enrolment link of the owner', async () => {
  const machine = clone();
  const made = await machine.svc(CREATE);
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toMatch(/^http:\/\/[^\s]+\/enrol#\S+\n$/);
  expect(made.stderr).not.toMatch(/svc_live_/);
  expect(made.stderr).not.toContain(BOOTSTRAP_TOKEN);
  expect((await machine.svc(['set', 'DATABASE_URL'], { stdin: 'postgres://one' })).code).toBe(0);
  expect((await machine.svc(['get', 'DATABASE_URL'])).stdout).toBe('postgres://one');
  expect((await machine.svc(['whoami', '--json'])).json).toMatchObject({ kind: 'api_key' });
  const listed = await machine.svc(['org', 'list', '--json']);
  expect(listed.json.data.length).toBeGreaterThan(0);
  expect(JSON.stringify(fs.readdirSync(machine.home, { recursive: true }))).not.toContain('bootstrap');
});

it('organisation: --print-key prints the key once, and stores nothing', async () => {
  const machine = clone();
  const { code, stdout, stderr } = await machine.svc([...CREATE, '--print-key']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^svc_live_\w+\n$/);
  expect(stderr).toContain('/enrol#');
  expect(fs.existsSync(machine.config)).toBe(false);
  const { json } = await machine.svc([...CREATE, '--print-key', '--name', 'Ann', '--json']);
  expect(json).toMatchObject({
    org: { name: 'Acme' },
    api_key: { token: expect.stringMatching(/^svc_live_/) },
    stored_in: null,
  });
});

it('organisation: a stored key is replaced only after confirmation', async () => {
  const machine = clone();
  expect((await machine.svc(CREATE)).code).toBe(0);
  const before = (await machine.svc(['whoami', '--json'])).json.org_id;
  const again = await machine.svc(['org', 'create', 'Never created', ...CREATE.slice(3)]);
  expect(again).toMatchObject({ code: 2 });
  expect(again.stderr).toContain('--profile');
  expect((await machine.svc(['org', 'list'])).stdout).not.toContain('Never created');
  expect((await machine.svc(['whoami', '--json'])).json.org_id).toBe(before);
  expect((await machine.svc([...CREATE, '--profile', 'second'])).code).toBe(0);
  expect((await machine.svc(['whoami', '--json', '--profile', 'second'])).json.org_id).not.toBe(before);
});

it('organisation: the token comes from a variable, a file or stdin, and never from an argument', async () => {
  const machine = new Machine();
  const created = { code: 0, stdout: expect.stringContaining('/enrol#') };
  expect(
    await machine.svc([...CREATE, '--url', url, '--profile', 'a'], { stdin: `${BOOTSTRAP_TOKEN}\n` }),
  ).toMatchObject(created);
  const env = { BOOTSTRAP_TOKEN };
  expect(await machine.svc([...CREATE, '--url', url, '--profile', 'b'], { env })).toMatchObject(created);
  fs.writeFileSync(path.join(machine.work, 'vars'), `BOOTSTRAP_TOKEN="${BOOTSTRAP_TOKEN}"\n`, {
    mode: 0o600,
  });
  const named = [...CREATE, '--profile', 'c', '--bootstrap-file', 'vars'];
  expect(await machine.svc(named, { env: { PORT: port } })).toMatchObject(created);
  fs.chmodSync(path.join(machine.work, 'vars'), 0o644);
  expect(await machine.svc(named, { env: { PORT: port } })).toMatchObject({ code: 2 });
  const wrong = await machine.svc([...CREATE, '--url', url, '--profile', 'd'], { stdin: 'x'.repeat(40) });
  expect(wrong.code).toBe(3);
  expect(wrong.stderr).not.toContain('x'.repeat(40));
  for (const argv of [
    [...CREATE, BOOTSTRAP_TOKEN],
    [...CREATE, '--bootstrap-token', BOOTSTRAP_TOKEN],
  ]) {
    const ran = await machine.svc(argv);
    expect(ran.code).toBe(2);
    expect(ran.stderr).not.toContain(BOOTSTRAP_TOKEN);
  }
});

it('organisation: the token is not sent to an address from a repository or a profile', async () => {
  const other = await stranger((_, response) => response.writeHead(404).end());
  const origin = `http://127.0.0.1:${other.port}`;
  const machine = clone();
  fs.writeFileSync(path.join(machine.work, '.svc.json'), JSON.stringify({ url: origin }));
  fs.mkdirSync(machine.config, { recursive: true });
  const profiles = { version: 1, profiles: { default: { url: origin } } };
  fs.writeFileSync(path.join(machine.config, 'config.json'), JSON.stringify(profiles), { mode: 0o600 });
  expect((await machine.svc([...CREATE, '--profile', 'mine'])).code).toBe(0);
  const named = await machine.svc([...CREATE, '--profile', 'other'], { env: { BOOTSTRAP_TOKEN } });
  expect(named).toMatchObject({ code: 2 });
  expect((await machine.svc([...CREATE, '--url', 'http://vault.example.com'])).code).toBe(2);
  expect(other.seen).toEqual([]);
  other.close();
});

it('organisation: a redirect is not followed, and a response cannot control the terminal', async () => {
  const target = await stranger((_, response) => response.end());
  const other = await stranger((_, response) =>
    response.writeHead(307, { Location: `http://127.0.0.1:${target.port}/` }).end(),
  );
  const machine = clone();
  expect((await machine.svc([...CREATE, '--url', `http://127.0.0.1:${other.port}`])).code).toBe(7);
  expect(target.seen).toEqual([]);
  for (const server of [target, other]) server.close();
});

it('organisation: a lost response does not create a second organisation, and no key is lost', async () => {
  const proxy = await startProxy(url);
  proxy.fail({ kind: 'lose', times: 2, when: ({ method }) => method === 'POST' });
  const machine = clone();
  // Other tests create organisations on this service meanwhile.
  const named = `Lost ${crypto.randomUUID()}`;
  const made = await machine.svc(['org', 'create', named, '--email', 'you@example.com', '--url', proxy.url]);
  expect(made.code, made.stderr).toBe(0);
  const { data } = (await machine.svc(['org', 'list', '--json'])).json;
  expect(data.filter(({ name }: { name: string }) => name === named)).toHaveLength(1);
  expect((await machine.svc(['whoami', '--json'])).json).toMatchObject({ kind: 'api_key' });
  expect(proxy.count('POST')).toBe(3);
  proxy.close();
});

it('organisation: a key that cannot be stored is printed', async () => {
  const machine = clone();
  fs.writeFileSync(path.join(machine.home, '.config'), 'in the way');
  const { code, stdout, stderr } = await machine.svc(CREATE);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^svc_live_\w+\n$/);
  expect(stderr).toContain('could not be stored');
});

it('organisation: its regions are shown and set', async () => {
  const machine = clone();
  expect((await machine.svc(CREATE)).code).toBe(0);
  const shown = async () => (await machine.svc(['org', 'show'])).stdout;
  const set = (regions: string) => machine.svc(['org', 'set', '--regions', regions]);
  expect(await shown()).toMatch(/^organisation: Acme \(org_\w+\)\n.*\nregions: none\n$/);
  expect((await machine.svc(['org', 'set', '--regions', 'weur', '--regions', 'oc'])).stderr).toContain(
    'Regions: weur, oc.',
  );
  expect(await shown()).toMatch(/regions: weur, oc\n\nweur\tstarting\t0\t0\noc\tstarting\t0\t0\n$/);
  expect((await machine.svc(['org', 'show', '--json'])).json).toMatchObject({
    location_hint: null,
    replicas: [
      { region: 'weur', status: 'starting', reads_per_minute: 0, behind: 0 },
      { region: 'oc', status: 'starting' },
    ],
  });
  expect((await machine.svc(['org', 'set', '--regions', 'auto', '--json'])).json.regions).toBe('auto');
  expect(await shown()).toContain('regions: auto\n');
  expect((await set('none')).stderr).toContain('Regions: none.');
  expect((await machine.svc(['org', 'show', '--json'])).json).toMatchObject({ name: 'Acme', regions: [] });
});

it('organisation: what is no region changes nothing, and svc says which there are', async () => {
  const machine = clone();
  expect((await machine.svc(CREATE)).code).toBe(0);
  for (const regions of ['mars', 'weur,auto', 'none,weur', 'weur,weur']) {
    const { code, stderr } = await machine.svc(['org', 'set', '--regions', regions]);
    expect(code, regions).toBe(2);
    expect(stderr).toMatch(regions === 'weur,weur' ? /duplicates/ : /wnam, enam, .*, me/);
  }
  for (const args of [[], ['--regions', ''], ['--regions', 'weur,']])
    expect((await machine.svc(['org', 'set', ...args])).code, args.join(' ')).toBe(2);
  expect((await machine.svc(['org', 'show', '--json'])).json.regions).toEqual([]);
});
