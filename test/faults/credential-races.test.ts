// Races between everything that makes a credential and everything that ends the one who makes it: whichever
// comes first, what was made is dead once both have been answered, unless the contract says that it lives on.
// The list of what makes credentials comes from the table of actions, and the gate makes none for any other
// action.
import { describe, expect, it } from 'vitest';
import { actions } from '../../src/domains';
import { newAgent, newKey, newSession } from '../support/credentials';
import { holdNext, until } from '../support/faults';
import { vaultOf } from '../support/integrations/vault';
import { sampled } from '../support/limits/sampled';
import {
  type Browser,
  newBrowser,
  newEnrolment,
  newSignedIn,
  ORIGIN,
  signIn,
} from '../support/signin/browser';
import { exchange, newIssuer, newTrust, trustIn } from '../support/signin/issuers';
import { newPasskey } from '../support/signin/passkey';
import { decide, newTerminal } from '../support/signin/terminal';
import { few, slow } from '../support/slow';
import { type Answer, type Caller, send, useWorld } from '../support/world';

useWorld();

/** Who makes, and what can be ended of theirs. */
interface Maker {
  o: Caller;
  /** The credential that asks, and the member behind it. */
  id: string;
  member?: string;
  browser?: Browser;
}

type World = { o: Caller };

/** Gets ready to make a credential; what it gives makes it, and answers with its token. */
type Make = (maker: Maker, world: World) => Promise<() => Promise<Answer>>;

const post =
  (path: string, body: unknown): Make =>
  async ({ o }) =>
  () =>
    o.post(path, body);

/**
 * Each action that makes a credential, as the maker does it. Null: nobody who can be ended makes one by it.
 */
const making: Record<string, Make | null> = {
  'org.create': null,
  'org.recover': null,
  // The successor of a panic's caller is the new first key: it lives.
  'org.panic': null,
  'api_key.create': post('/api-keys', { name: 'k', scopes: ['secrets:read'] }),
  'api_key.rotate': async ({ o, id }, world) => {
    const target = id.startsWith('key_') ? id : (await newKey(world.o, { scopes: ['secrets:read'] })).id;
    return () => o.post(`/api-keys/${target}/rotate`, { overlap_seconds: 600 });
  },
  'access_token.create': post('/access-tokens', { ttlSeconds: 600 }),
  'access_token.create_child':
    async ({ o }) =>
    () =>
      vaultOf(o).put('auth/token/create', {}),
  'agent.create': post('/agent-credentials', { name: 'a', scopes: ['secrets:read'] }),
  'provider_token.create': post('/provider-tokens', { name: 'p', scopes: ['issue'] }),
  'break_glass.create': post('/break-glass-tokens', { reason: 'the database is down' }),
  'auth.login':
    async ({ browser }) =>
    () =>
      newBrowser((browser as Browser).passkey).login(),
  'auth.device_confirm': async ({ browser }) => {
    const terminal = newTerminal();
    await terminal.start();
    return async () => {
      const confirmed = await decide(browser as Browser, 'confirm', terminal.codes.user_code);
      return confirmed.status === 200 ? terminal.poll() : confirmed;
    };
  },
  'auth.enrol': async ({ o, member }) => {
    const url = await newEnrolment(o.id, member as string);
    const other = newBrowser(await newPasskey(ORIGIN));
    return () => other.enrol(url);
  },
  'scim_token.create': post('/scim-tokens', { name: 'idp' }),
  // A provider signs the person in: test/api/sso/ends.test.ts ends what it stands on.
  'auth.sso': null,
  'trust.create':
    async ({ o }) =>
    () =>
      o.post('/trusts', trustIn(issuer)),
  'auth.exchange':
    async ({ o, id }) =>
    async () =>
      exchange(o, { id }, await issuer.sign()),
};

/** Session tokens live in the gate alone: no call to D1 can be held while one is created. */
const IN_THE_GATE = ['access_token.create', 'access_token.create_child', 'auth.exchange'];

const issuer = await newIssuer();

const makers: Record<string, { make: string[]; start(world: World): Promise<Maker> }> = {
  'an API key': {
    make: [
      'api_key.create',
      'api_key.rotate',
      'access_token.create',
      'access_token.create_child',
      'agent.create',
      'provider_token.create',
      'break_glass.create',
      'trust.create',
    ],
    async start({ o }) {
      const key = await newKey(o);
      return { o: key.o, id: key.id };
    },
  },
  'a session token': {
    make: ['access_token.create_child'],
    start: ({ o }) => newSession(o),
  },
  'a member in a browser session': {
    make: [
      'api_key.create',
      'api_key.rotate',
      'agent.create',
      'provider_token.create',
      'break_glass.create',
      'auth.login',
      'auth.enrol',
      'auth.device_confirm',
      'trust.create',
    ],
    async start({ o }) {
      const browser = await signIn(o, 'admin');
      const id = JSON.parse(atob(browser.token.split('.')[1] as string)).sid as string;
      return { o: browser.o, id, member: browser.member.id, browser };
    },
  },
  'an agent': {
    make: ['api_key.create', 'agent.create', 'trust.create'],
    async start({ o }) {
      const agent = await newAgent(o, { scopes: ['*'] });
      return { o: agent.o, id: agent.id };
    },
  },
  'a trust': {
    make: ['auth.exchange'],
    start: async ({ o }) => ({ o, id: (await newTrust(o, issuer)).id }),
  },
  'an API key that acts as an owner': {
    make: ['scim_token.create'],
    async start({ o }) {
      const key = await newKey(o, { scopes: ['*'] });
      return { o: key.o, id: key.id };
    },
  },
};

/** Each way of ending the maker, with what it leaves alive by the contract. */
const ending: Record<
  string,
  {
    of: (maker: string) => boolean;
    end(maker: Maker, world: World): Promise<Answer>;
    spares: string[];
    /** What can still be created once it has taken effect. */
    leaves?: string[];
  }
> = {
  contain: {
    of: () => true,
    end: ({ id }, { o }) => o.post(`/credentials/${id}/contain`, {}),
    // A session of a member is contained alone: other sessions of theirs go on.
    spares: ['auth.login', 'auth.enrol'],
  },
  'panic with API keys': {
    of: () => true,
    end: (_, { o }) => o.post('/panic', { reason: 'a laptop was stolen', api_keys: true }),
    spares: [],
    // Enrolment links and passkeys go on working, and the report of the incident names them.
    leaves: ['auth.enrol', 'auth.login'],
  },
  'delete the organisation': {
    of: () => true,
    end: (_, { o }) => o.del('', { confirm: 'an org' }),
    spares: [],
  },
  'remove the member': {
    of: (maker) => maker.includes('member'),
    end: ({ member }, { o }) => o.del(`/members/${member}?revoke_credentials=true`),
    spares: [],
  },
  'revoke the API key': {
    of: (maker) => maker === 'an API key',
    end: ({ id }, { o }) => o.del(`/api-keys/${id}`),
    spares: [
      'api_key.create',
      'api_key.rotate',
      'agent.create',
      'provider_token.create',
      'break_glass.create',
      'trust.create',
    ],
  },
  'revoke the session token': {
    of: (maker) => maker === 'a session token',
    end: ({ id }, { o }) => o.del(`/access-tokens/${id}`),
    spares: [],
  },
  'delete the trust': {
    of: (maker) => maker === 'a trust',
    end: ({ id }, { o }) => o.del(`/trusts/${id}`),
    spares: [],
  },
  'revoke the agent': {
    of: (maker) => maker === 'an agent',
    end: ({ id }, { o }) => o.del(`/agent-credentials/${id}`),
    spares: [],
  },
};

/** Whether what was made may be used: a token by itself, a trust by an exchange. */
const isAlive = async ({ o }: World, { json }: Answer) =>
  json.id?.startsWith('trs_')
    ? (await exchange(o, json, await issuer.sign())).status === 201
    : alive(json.token ?? json.auth.client_token);

const alive = async (token: string) => (await send('GET', '/api/v1/whoami', { token })).status === 200;

const pairs = Object.entries(makers).flatMap(([maker, { make, start }]) =>
  make.flatMap((action) =>
    Object.entries(ending)
      .filter(([, { of, spares }]) => of(maker) && !spares.includes(action))
      .map(([end, { end: how, leaves = [] }]) => ({
        name: `${maker}: ${action} and ${end}`,
        action,
        start,
        end: how,
        isLeft: leaves.includes(action),
      })),
  ),
);

describe('revocation: a credential that is created while its maker ends', () => {
  it('is created by an action that is declared to create credentials', () => {
    const declared = Object.entries(actions).flatMap(([action, need]) => ('makes' in need ? [action] : []));
    expect(Object.keys(making).sort()).toEqual(declared.sort());
    const made = new Set(Object.values(makers).flatMap(({ make }) => make));
    expect(declared.filter((action) => making[action] !== null && !made.has(action))).toEqual([]);
  });

  const inTheGate = pairs.filter(({ action }) => IN_THE_GATE.includes(action));
  const written = pairs.filter(({ action }) => !IN_THE_GATE.includes(action));

  it.each(few(sampled(inTheGate, 2), 8))(
    '$name: both are asked for at once',
    async ({ action, start, end }) => {
      const { o } = await newSignedIn();
      const maker = await start({ o });
      const make = await (making[action] as Make)(maker, { o });
      const [made, ended] = await Promise.all([make(), end(maker, { o })]);
      await expectDead({ o }, action, made, ended);
    },
  );

  it.each(few(sampled(written, 2), 8))('$name: the creation is in flight', async ({ action, start, end }) => {
    const { o } = await newSignedIn();
    const maker = await start({ o });
    const make = await (making[action] as Make)(maker, { o });
    // Two batches of an enrolment look for the member before one enrols them.
    const { held, release } = holdNext('batch', action === 'auth.enrol' ? 3 : 1);
    const made = make();
    await held();
    const ended = end(maker, { o });
    // Long enough for an end that takes no lock to overtake it.
    await until(() => false, 10);
    release();
    await expectDead({ o }, action, await made, await ended);
  });

  // An end takes effect before its reply leaves.
  it.each(
    sampled(
      pairs.filter(({ isLeft }) => !isLeft),
      2,
      1,
    ),
  )('$name: the end is in flight', async ({ action, start, end }) => {
    const { o } = await newSignedIn();
    const maker = await start({ o });
    const make = await (making[action] as Make)(maker, { o });
    const { held, release } = holdNext('batch');
    const ended = end(maker, { o });
    await held();
    const made = make();
    await until(() => false, 10);
    release();
    await expectDead({ o }, action, await made, await ended);
  });
});

async function expectDead(world: World, action: string, made: Answer, ended: Answer) {
  expect([action, ended.status < 300]).toEqual([action, true]);
  if (made.status >= 300) return;
  expect([action, await isAlive(world, made)]).toEqual([action, false]);
}

describe('revocation: a containment that overtakes a rotation', () => {
  slow('names the new key in its response, and in the audit entry of the rotation', async () => {
    const { o } = await newSignedIn();
    const key = await newKey(o);
    const { held, release } = holdNext('batch');
    const rotated = key.o.post(`/api-keys/${key.id}/rotate`, { overlap_seconds: 600 });
    await held();
    const contained = o.post(`/credentials/${key.id}/contain`, {});
    await until(() => false, 10);
    release();
    const { json: successor } = await rotated;
    const { json } = await contained;
    expect(json.credentials.map(({ id }: { id: string }) => id)).toContain(successor.id);
    expect(json.revoked.map(({ id }: { id: string }) => id).sort()).toEqual([key.id, successor.id].sort());
    const [entry] = (await o.get('/audit-log?action=api_key.rotate&limit=1')).json.data;
    expect(entry).toMatchObject({ resource: key.id, successor: successor.id });
  });

  it('audit log: a panic that creates a key names it', async () => {
    const { o } = await newSignedIn();
    const { json } = await o.post('/panic', { reason: 'a laptop was stolen', api_keys: true });
    const [entry] = (await o.as(json.api_key.token).get('/audit-log?action=org.panic&limit=1')).json.data;
    expect(entry.successor).toBe(json.api_key.id);
  });
});
