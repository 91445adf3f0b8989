// What clients do at random with the secrets, credentials and budgets that they share. Each write has a value
// of its own, so a read tells which write it saw. An answer that no model allows for is an error.
import { statusOf } from './client.mjs';

/** How long a budget is used, in milliseconds: a rate limit counts the last minute alone. */
const BUDGET_AGE = 40_000;
/** Over the limit of the client's own key: nothing was done. */
const LIMITED = 429;

/** @typedef {import('./client.mjs').Client} Client @typedef {import('./client.mjs').Answer} Answer */
/** @typedef {import('./client.mjs').Input} Input @typedef {import('./client.mjs').Request} Request */
/** @typedef {import('./client.mjs').Budget} Budget @typedef {import('./client.mjs').World} World */

const keyOf = (/** @type {World} */ world) => ({ 'Idempotency-Key': world.unique() });
const anyName = (/** @type {World} */ world) => /** @type {string} */ (world.any(world.names().names));
const byName = ({ api }, name) => `${api}/secrets/by-name/${encodeURIComponent(name)}`;
const secretOf = (name) => `secret ${name}`;

// ---------------------------------------------------------------- secrets

/** What an answer says of a secret. @param {World} world @param {string} name @param {number[]} statuses */
const outputsOf = (world, name, statuses) => (/** @type {Answer} */ answer) => {
  const status = statusOf(answer, [...statuses, LIMITED]);
  if (status === LIMITED) return {};
  if (status !== 200 && status !== 201) return { [secretOf(name)]: { status } };
  const { id, version, value } = answer.json;
  world.remember(name, { id, version, value });
  return { [secretOf(name)]: { status, id, version, value } };
};

/**
 * Reads or changes the secret of a name. @param {Client} client @param {string} name @param {Input} input
 * @param {Request} request @param {number[]} statuses @param {{ isRepeated?: boolean }} [options]
 */
const onSecret = ({ world, operate }, name, input, request, statuses, options) =>
  operate(request, { [secretOf(name)]: input }, outputsOf(world, name, statuses), options);

/** A secret that had a name, and sometimes the version that it must have. @param {World} world */
function anyKnown(world) {
  const name = anyName(world);
  const one = world.any(world.known(name));
  if (!one) return null;
  const at = `${world.api}/secrets/${one.id}`;
  if (world.random() < 0.5) return { name, one, at, input: { id: one.id } };
  const headers = { 'If-Match': `"v${one.version}"` };
  return { name, one, at, headers, input: { id: one.id, version: one.version } };
}

/**
 * Reads a secret if it has changed since it was seen: what is not modified is as it was then.
 * @param {Client} client
 * @param {{ name: string, at: string, one?: import('./client.mjs').Known, id?: string }} what
 */
async function readIfChanged({ world, operate }, { name, at, one, id }) {
  const headers = one?.value === undefined ? {} : { 'If-None-Match': `"v${one.version}"` };
  await operate({ at, headers }, { [secretOf(name)]: { op: 'read', id } }, (answer) =>
    answer.status === 304
      ? { [secretOf(name)]: { status: 200, ...one } }
      : outputsOf(world, name, [200, 404])(answer),
  );
}

/** @type {Record<string, (client: Client) => Promise<unknown>>} */
const secrets = {
  async read(client) {
    const { world } = client;
    const name = anyName(world);
    const one = world.random() < 0.5 ? world.any(world.known(name)) : undefined;
    await readIfChanged(client, { name, at: byName(world, name), one });
  },
  async readById(client) {
    const known = anyKnown(client.world);
    if (known) await readIfChanged(client, { ...known, id: known.one.id });
  },
  /** Reads all of a folder, if anything has changed since this client did so. */
  async readAll(client) {
    const { world, operate } = client;
    const { folder, names } = world.names();
    const inputs = Object.fromEntries(names.map((name) => [secretOf(name), { op: 'read' }]));
    const at = `${world.api}/environments/production/values?prefix=${folder}`;
    const last = client.last?.at === at ? client.last : null;
    await operate({ at, headers: last ? { 'If-None-Match': last.etag } : {} }, inputs, (answer) => {
      const status = statusOf(answer, last ? [200, 304, LIMITED] : [200, LIMITED]);
      if (status !== 200) return status === 304 && last ? last.outputs : {};
      const { values, versions } = answer.json;
      const found = (name) => ({ status: 200, version: versions[name], value: values[name] });
      const outputs = Object.fromEntries(
        names.map((name) => [secretOf(name), name in values ? found(name) : { status: 404 }]),
      );
      client.last = { at, etag: answer.headers.get('etag') ?? '', outputs };
      return outputs;
    });
  },
  async create(client) {
    const { world } = client;
    const name = anyName(world);
    const value = world.unique();
    const body = { name, type: 'generic', value };
    const request = { at: `${world.api}/secrets`, method: 'POST', body, headers: keyOf(world) };
    const options = { isRepeated: world.random() < 0.8 };
    await onSecret(client, name, { op: 'create', value }, request, [201, 409], options);
  },
  async put(client) {
    const name = anyName(client.world);
    const value = client.world.unique();
    const request = { at: byName(client.world, name), method: 'PUT', body: { value } };
    await onSecret(client, name, { op: 'put', value }, request, [200, 201]);
  },
  async patch(client) {
    const known = anyKnown(client.world);
    if (!known) return;
    const { name, at, headers, input } = known;
    const value = client.world.unique();
    const request = { at, method: 'PATCH', body: { value }, headers };
    await onSecret(client, name, { op: 'patch', value, ...input }, request, [200, 404, 412]);
  },
  async delete(client) {
    const known = anyKnown(client.world);
    if (!known) return;
    const { name, at, headers, input } = known;
    await onSecret(
      client,
      name,
      { op: 'delete', ...input },
      { at, method: 'DELETE', headers },
      [204, 404, 412],
    );
  },
};

// ---------------------------------------------------------------- credentials

/** @type {Record<string, (client: Client) => Promise<unknown>>} */
const credentials = {
  /** Creates an API key, and a session token of it. The key is live once anybody knows it. */
  async create({ world, operate }) {
    const body = { name: 'reader', scopes: ['secrets:read'] };
    const request = { at: `${world.api}/api-keys`, method: 'POST', body, headers: keyOf(world) };
    const made = await operate(request, {}, () => ({}), { isRepeated: true });
    if (!made || statusOf(made, [201, LIMITED]) === LIMITED) return;
    const { id, token } = made.json;
    /** @type {import('./client.mjs').Credential} */
    const credential = { id, token };
    world.use('credentials', credential);
    const minted = await operate(
      { at: `${world.api}/access-tokens`, method: 'POST', body: { ttlSeconds: 900 }, token },
      { [`credential ${id}`]: { op: 'use' } },
      (answer) => ({ [`credential ${id}`]: { status: statusOf(answer, [201, 401]) === 401 ? 401 : 200 } }),
    );
    if (minted?.status === 201) credential.session = minted.json;
  },
  /** Reads a secret with a credential, or its session token, that others may be revoking. */
  async use({ world, operate }) {
    const credential = world.any(world.used.credentials);
    if (!credential) return;
    const name = anyName(world);
    const object = `credential ${credential.id}`;
    const session = world.random() < 0.5 ? credential.session : undefined;
    const token = session?.token ?? credential.token;
    const inputs = {
      [object]: { op: 'use', ...(session && { id: 'session' }) },
      [secretOf(name)]: { op: 'read' },
    };
    await operate({ at: byName(world, name), token }, inputs, (answer) =>
      answer.status === 401
        ? { [object]: { status: 401 } }
        : { [object]: { status: 200 }, ...outputsOf(world, name, [200, 404])(answer) },
    );
  },
  /** Revokes one, or only its session token; again if the answer was lost. */
  async revoke({ world, operate }) {
    const credential = world.any(world.used.credentials);
    if (!credential) return;
    const object = `credential ${credential.id}`;
    const session = world.random() < 0.5 ? credential.session : undefined;
    const at = session ? `/access-tokens/${session.id}` : `/api-keys/${credential.id}`;
    const revoke = (loss) =>
      operate(
        { at: `${world.api}${at}`, method: 'DELETE' },
        { [object]: { op: 'revoke', ...(session && { id: 'session' }) } },
        (answer) => (statusOf(answer, [204, LIMITED]) === LIMITED ? {} : { [object]: { status: 204 } }),
        { loss },
      );
    const answer = (await revoke(0.3)) ?? (await revoke(0));
    if (answer?.status === 204) world.onRevoked();
  },
};

// ---------------------------------------------------------------- budgets

/** Makes what has a budget. @param {Client} client @param {string} at @param {object} body */
async function make({ world, operate }, at, body) {
  const request = { at: `${world.api}${at}`, method: 'POST', body, headers: keyOf(world) };
  const since = performance.now();
  const answer = await operate(request, {}, () => ({}), { isRepeated: true });
  if (!answer || statusOf(answer, [201, LIMITED]) === LIMITED) return null;
  // What replicas hold counts as used.
  const kind = world.hasReplicas && answer.json.token ? 'bound' : 'budget';
  return { since, object: `${kind} ${answer.json.id}`, made: answer.json };
}

/** Reads a secret with an agent that has a rate limit. @param {Client} client @param {Budget} budget */
async function useAgent({ world, operate }, { object, limit, token }) {
  const name = anyName(world);
  const inputs = { [object]: { op: 'use', limit }, [secretOf(name)]: { op: 'read' } };
  await operate({ at: byName(world, name), token }, inputs, (answer) => {
    const read = outputsOf(world, name, [200, 404])(answer);
    if (answer.status === LIMITED) return { [object]: { status: LIMITED } };
    const remaining = Number(answer.headers.get('x-ratelimit-remaining'));
    return { [object]: { status: 200, ...(!world.hasReplicas && { remaining }) }, ...read };
  });
}

/** Views a link, from an address of its own: an address is refused only so often a minute. */
async function view({ world, operate }, { object, limit, link }) {
  const address = Array.from({ length: 3 }, () => world.between(0, 255)).join('.');
  const headers = { 'CF-Connecting-IP': `10.${address}` };
  const request = { at: link.at, method: 'POST', body: { key: link.key }, headers, token: undefined };
  const output = (answer) => ({ [object]: { status: statusOf(answer, [200, 410]) } });
  await operate(request, { [object]: { op: 'use', limit } }, output, { loss: 0 });
}

/** @type {Record<string, (client: Client) => Promise<unknown>>} */
const budgets = {
  async createAgent(client) {
    const limit = client.world.between(5, 40);
    const body = { name: 'agent', scopes: ['secrets:read'], rate_limit: limit };
    const agent = await make(client, '/agent-credentials', body);
    if (agent) client.world.use('budgets', { ...agent, limit, token: agent.made.token });
  },
  async createLink(client) {
    const limit = client.world.between(3, 20);
    const body = { kind: 'link', expires_in: 3600, max_views: limit };
    const share = await make(client, `/secrets/${client.world.shared}/share`, body);
    if (!share) return;
    const { pathname, hash } = new URL(share.made.url);
    client.world.use('budgets', { ...share, limit, link: { at: pathname, key: hash.slice(1) } });
  },
  async use(client) {
    const budget = client.world.any(client.world.used.budgets);
    if (!budget || performance.now() - budget.since > BUDGET_AGE) return;
    await (budget.link ? view(client, budget) : useAgent(client, budget));
  },
};

/**
 * How often each is done, relative to the others.
 * @type {[number, (client: Client) => Promise<unknown>][]}
 */
const OPERATIONS = [
  [25, secrets.read],
  [10, secrets.readById],
  [6, secrets.readAll],
  [6, secrets.create],
  [10, secrets.put],
  [12, secrets.patch],
  [6, secrets.delete],
  [2, credentials.create],
  [20, credentials.use],
  [2, credentials.revoke],
  [1, budgets.createAgent],
  [1, budgets.createLink],
  [20, budgets.use],
];
const ALL = OPERATIONS.reduce((sum, [weight]) => sum + weight, 0);

/** Does one operation. @param {Client} client */
export async function act(client) {
  let at = client.world.random() * ALL;
  for (const [weight, operation] of OPERATIONS) {
    at -= weight;
    if (at < 0) return operation(client);
  }
}
