// svc init --worker: the binding to the vault in the configuration of a Worker, of which all else stays.
import fs from 'node:fs';
import path from 'node:path';
import { parse } from 'jsonc-parser';
import { beforeAll, expect, it } from 'vitest';
import { type Machine, signedIn, succeeding } from '../harness.ts';

let at: Awaited<ReturnType<typeof signedIn>>;
let machine: Machine;
const { ok } = succeeding(() => machine);

const write = (name: string, text: string) => {
  for (const file of ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml'])
    fs.rmSync(path.join(machine.work, file), { force: true });
  if (name) fs.writeFileSync(path.join(machine.work, name), text);
};
const read = (name: string) => fs.readFileSync(path.join(machine.work, name), 'utf8');
const refused = async (args: string[] = []) => {
  const ran = await machine.svc(['init', '--worker', ...args]);
  expect(ran.code).not.toBe(0);
  return ran.stderr;
};

const TOML = `# The Worker that bills.
name = "billing" # also its name at Cloudflare
main = "index.js"

[vars]
A = "b" # stays`;
const JSONC = `{
  // The Worker that bills.
  "name": "billing",
  "main": "index.js", // stays
  "services": [
    { "binding": "OTHER", "service": "other" }, // and this
  ],
}
`;

let trust: string;
beforeAll(async () => {
  at = await signedIn();
  machine = at.machine;
});

it('init --worker: without a trust that takes the name it says how to make one', async () => {
  write('wrangler.toml', TOML);
  expect(await refused()).toContain('svc trust create billing --worker billing --scopes secrets:read');
  expect(read('wrangler.toml')).toBe(TOML);
  const made = await ok(['trust', 'create', 'b', '--worker', 'bill*', '--scopes', 'secrets:read', '--json']);
  trust = made.json.id;
});

it('init --worker: wrangler.toml gets the binding, and keeps its comments', async () => {
  write('wrangler.toml', TOML);
  await ok(['init', '--worker', '--upstream', 'stripe-eu']);
  const props = `org = "${at.org}", trust = "${trust}", name = "billing"`;
  expect(read('wrangler.toml')).toBe(`${TOML}

[[services]]
binding = "VAULT"
service = "secrets-vault-service"
entrypoint = "Vault"
props = { ${props} }

[[services]]
binding = "STRIPE_EU"
service = "secrets-vault-service"
entrypoint = "Upstream"
props = { ${props}, upstream = "stripe-eu" }
`);
  expect(await refused(['--service', 'other'])).toContain('already has another binding VAULT');
});

it('init --worker: wrangler.jsonc gets it too, in the list that is there or a new one', async () => {
  write('wrangler.jsonc', JSONC);
  await ok(['init', '--worker', '--service', 'vault', '--trust', 'trs_6TuVw7XyZa8BcDe9FgHi0j']);
  const text = read('wrangler.jsonc');
  for (const kept of ['// The Worker that bills.', '// stays', '// and this', '"OTHER"'])
    expect(text).toContain(kept);
  expect(parse(text, [], { allowTrailingComma: true }).services[1]).toEqual({
    binding: 'VAULT',
    service: 'vault',
    entrypoint: 'Vault',
    props: { org: at.org, trust: 'trs_6TuVw7XyZa8BcDe9FgHi0j', name: 'billing' },
  });
  const said = await refused(['--service', 'other']);
  expect(said).toContain('already has another binding VAULT');
  expect(said).toContain('{"binding":"VAULT","service":"other","entrypoint":"Vault","props":{');
  write('wrangler.jsonc', '{ "name": "billing" /* here */ }');
  await ok(['init', '--worker']);
  expect(read('wrangler.jsonc')).toContain('/* here */');
  expect(parse(read('wrangler.jsonc')).services).toHaveLength(1);
});

it.each([
  ['wrangler.toml', TOML],
  ['wrangler.jsonc', JSONC],
])('init --worker: in %s, a second run adds what is new alone', async (name, text) => {
  write(name, text);
  await ok(['init', '--worker']);
  const once = read(name);
  await ok(['init', '--worker']);
  expect(read(name)).toBe(once);
  await ok(['init', '--worker', '--upstream', 'stripe']);
  expect(read(name).match(/"VAULT"/g)).toHaveLength(1);
  expect(read(name).match(/"STRIPE"/g)).toHaveLength(1);
});

it.each([
  ['is nested too deeply', `{ "name": "billing", "x": ${'['.repeat(100_000)}${']'.repeat(100_000)} }`],
  ['has a list as its name', '{ "name": ["billing"] }'],
  ['has a name that is an option', '{ "name": "--help" }'],
])('init --worker: a wrangler.json that %s is refused in one sentence', async (_, text) => {
  write('wrangler.json', text);
  expect(await refused()).toMatch(/^error: wrangler\.json (is not valid JSON|has no name of the Worker)\./);
  expect(read('wrangler.json')).toBe(text);
});

it('init --worker: names that no upstream, trust or Worker has are refused', async () => {
  write('wrangler.toml', TOML);
  for (const option of ['--upstream', '--trust', '--service'])
    for (const name of ['a(', 'x"]', 'a\nb'])
      expect(await refused([option, name]), option).toContain(`${option} must be`);
  expect(read('wrangler.toml')).toBe(TOML);
});

it('init --worker: what to add by hand stands in one line, ready to be copied', async () => {
  write('wrangler.toml', `${TOML}\n[[services]]\nbinding = "VAULT"\nservice = "other"\n`);
  const said = await refused();
  expect(said).toContain('already has another binding VAULT');
  expect(said).toContain(
    '{ binding = "VAULT", service = "secrets-vault-service", entrypoint = "Vault", props =',
  );
  expect(said).not.toContain('u{a}');
});

it('init --worker: a configuration that it cannot extend is left as it is', async () => {
  for (const [name, text, said] of [
    ['wrangler.toml', 'name = "billing"\nservices = [{ binding = "A", service = "b" }]\n', 'in one list'],
    ['wrangler.toml', 'main = "index.js"\n[vars]\nname = "billing"\n', 'no name'],
    ['wrangler.jsonc', '{ "name": "billing", "services": {} }', 'are no list'],
    ['wrangler.jsonc', '{ "name": ', 'not valid JSON'],
  ] as const) {
    write(name, text);
    expect(await refused(), text).toContain(said);
    expect(read(name)).toBe(text);
  }
  write('', '');
  expect(await refused()).toContain('There is no wrangler.jsonc');
  const ran = await machine.svc(['init', '--trust', trust]);
  expect(ran.stderr).toContain('--trust goes with --worker');
});

it('attack: a link in place of the configuration is not followed', async () => {
  write('', '');
  const elsewhere = path.join(machine.home, 'elsewhere.toml');
  fs.writeFileSync(elsewhere, TOML);
  fs.symlinkSync(elsewhere, path.join(machine.work, 'wrangler.toml'));
  expect(await refused()).toContain('symbolic link');
  expect(fs.readFileSync(elsewhere, 'utf8')).toBe(TOML);
});
