// The hostile callers of `npm run soak`: what holders of weak, narrow and ended credentials may send to stop,
// fill or slow an organisation. Invariants: every response has one of the statuses declared for its kind of
// request; everything they create is revoked or expires.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, good, requestOf } from './measure.mjs';

/** @typedef {Record<'weak' | 'writer' | 'minter' | 'narrow' | 'revoked' | 'orphan', string>} Tokens */

/**
 * The credentials of an attacker in an organisation.
 * @param {import('./measure.mjs').Org} org
 * @param {ReturnType<typeof import('./measure.mjs').callerOf>} call
 * @returns {Promise<{ tokens: Tokens, asked: number }>} `asked`: how many requests it took
 */
export async function newAttacker(org, call) {
  let asked = 0;
  const post = async (target, body, token = org.token) => {
    asked++;
    return good(await call('POST', `/orgs/${org.id}${target}`, token, body));
  };
  const key = async (fields) => post('/api-keys', { name: 'hostile', ...fields });
  const revoked = await key({ scopes: ['*'] });
  const orphan = await post('/access-tokens', { ttlSeconds: 3600 }, revoked.token);
  await call('DELETE', `/orgs/${org.id}/api-keys/${revoked.id}`, org.token);
  const narrow = await post('/agent-credentials', {
    name: 'hostile',
    scopes: ['secrets:list'],
    secrets: globs(),
    rate_limit: 600,
  });
  const tokens = {
    weak: (await key({ scopes: ['secrets:list'] })).token,
    writer: (await key({ scopes: ['secrets:write'], secrets: ['hostile/*'] })).token,
    minter: (await key({ scopes: ['secrets:list', 'tokens:write'] })).token,
    narrow: narrow.token,
    revoked: revoked.token,
    orphan: orphan.token,
  };
  return { tokens, asked: asked + 1 };
}

const noise = (length) => randomBytes(length).toString('hex').slice(0, length);
const pick = (list) => list[Math.floor(Math.random() * list.length)];

/** The most expensive patterns within the 4 kB that a credential may have, or beyond. */
function globs(times = 1) {
  return Array.from(
    { length: 15 * times },
    (_, n) => `${['g', '', 'g0', '?'][n % 4]}*${'0?'.repeat(60)}*${'s/'.repeat(55)}*0*${n}*`,
  );
}

/**
 * What one hostile connection does, one request after the other.
 * @typedef {object} Attack
 * @property {keyof Tokens} by
 * @property {() => { method: string, target: string, body?: unknown, headers?: Record<string, string> }} make
 * @property {number[]} expect besides 429
 */

/** @type {Attack[]} */
const attacks = [
  ...[
    () => `/secrets/${noise(15_000)}/versions`,
    () => `/secrets/sec_${noise(22)}`,
    () => `/secrets/by-name/${noise(9_000)}`,
  ]
    .concat([() => `/environments/${noise(12_000)}/values`, () => `/credentials/${noise(3_000)}/graph`])
    .map((target) => ({
      by: /** @type {const} */ ('weak'),
      make: () => ({ method: 'GET', target: target() }),
      expect: [400, 403, 404],
    })),
  { by: 'weak', make: () => ({ method: 'GET', target: `/secrets?cursor=${noise(7_000)}` }), expect: [400] },
  { by: 'weak', make: () => ({ method: 'GET', target: `/secrets?${'a=1&'.repeat(1_500)}` }), expect: [400] },
  { by: 'revoked', make: () => ({ method: 'GET', target: '/secrets' }), expect: [401] },
  {
    by: 'orphan',
    make: () => ({ method: 'POST', target: '/access-tokens', body: { ttlSeconds: 60 } }),
    expect: [401],
  },
  {
    by: 'writer',
    make: () => ({ method: 'POST', target: '/secrets', body: { name: 'x'.repeat(1_100_000) } }),
    expect: [413],
  },
  {
    by: 'writer',
    make: () => ({
      method: 'POST',
      target: '/secrets',
      body: Object.fromEntries(Array.from({ length: 200 }, () => [noise(200), 1])),
      headers: { 'Idempotency-Key': pick(['again', noise(200)]) },
    }),
    expect: [400, 409, 422],
  },
  { by: 'narrow', make: () => ({ method: 'GET', target: '/secrets?limit=100' }), expect: [200] },
  ...[1, 2].map((times) => ({
    by: /** @type {const} */ ('minter'),
    make: () => ({
      method: 'POST',
      target: '/agent-credentials',
      body: { name: 'a', scopes: ['secrets:list'], secrets: globs(times) },
    }),
    expect: [times === 1 ? 201 : 400],
  })),
  {
    by: 'minter',
    make: () => ({ method: 'POST', target: '/access-tokens', body: { ttlSeconds: 60 } }),
    expect: [201, 409],
  },
];

/** The share of minted tokens that are left to expire. */
const LEFT_ALIVE = 0.5;

/**
 * The requests of one hostile connection. `world.over` counts 429 responses, which share an audit entry per
 * credential and minute, `world.unsure` the requests whose connection broke.
 * @param {{ id: string, asked: number, over: number, unsure: number, attacker: Tokens }} world
 * @param {{ port: number, end: number, blame: (what: string) => void, counts: Record<string, number> }} run
 */
export async function attack(world, { port, end, blame, counts }) {
  let connection = await connect(port);
  const ask = async ({ by, expect }, { method, target, body, headers }) => {
    if (!connection.alive()) connection = await connect(port);
    const request = requestOf(
      method,
      `/api/v1/orgs/${world.id}${target}`,
      world.attacker[by],
      body,
      undefined,
      headers,
    );
    const answer = await connection.send(request).catch(() => null);
    counts.hostile++;
    world.asked++;
    if (answer?.status === 429) world.over++;
    else if (!answer) world.unsure++;
    else if (!expect.includes(answer.status))
      blame(
        `hostile: ${method} ${target.slice(0, 60)} by ${by}: ${answer.status} where ${expect} was expected: ${answer.text().slice(0, 200)}`,
      );
    return answer;
  };
  for (let n = Math.floor(Math.random() * attacks.length); Date.now() < end; n++) {
    const one = attacks[n % attacks.length];
    const made = one.make();
    const answer = await ask(one, made);
    if (answer?.status === 201) {
      counts.hostile_mint++;
      const { id } = answer.json();
      const { target } = made;
      if (target !== '/access-tokens' || Math.random() > LEFT_ALIVE)
        await ask({ by: one.by, expect: [204] }, { method: 'DELETE', target: `${target}/${id}` });
    }
    await sleep(5);
  }
  connection.close();
}
