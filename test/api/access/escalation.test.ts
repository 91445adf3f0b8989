// No way up: whatever credential someone starts with, and whatever they then do with it and with all that it
// gets them, nobody ends with authority that the start did not have: in scope, environment, name, time or
// number. Nor does anybody change the passkeys of a member who may do more than they may; and a browser
// session without a fresh confirmation, an owner's too, changes no passkey, re-enrols nobody and makes no
// owner. Judged by a reference of its own, a few lines long, on what the service says of each credential and
// member; not by the functions that decide.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newKey } from '../../support/credentials';
import { faults } from '../../support/faults';
import { addPasskey } from '../../support/people';
import { type Browser, ORIGIN, signIn } from '../../support/signin/browser';
import { newPasskey } from '../../support/signin/passkey';
import { runs } from '../../support/slow';
import { type Caller, callerOf, newOrg, send, useWorld } from '../../support/world';

useWorld();

// ---------------------------------------------------------------- the reference

const SCOPES = [
  ...[
    'org:read',
    'org:write',
    'environments:read',
    'environments:write',
    'secrets:list',
    'secrets:read',
    'secrets:write',
    'secrets:rotate',
  ],
  ...[
    'secrets:delete',
    'tokens:read',
    'tokens:write',
    'members:read',
    'members:write',
    'teams:read',
    'teams:write',
    'audit:read',
  ],
];
const ENVIRONMENTS = ['development', 'staging', 'production'];
const NAMES = ['a', 'b', 'app/a', 'app/b', 'app/deep/a', 'ax', 'other'];
const PATTERNS = ['*', 'a', 'a*', 'app/*', 'app/?', '?', '*/a', 'app/*/a', 'other'];
/** What a provider token does, by the scope that does the same. */
const PROVIDED: Record<string, string> = {
  issue: 'secrets:write',
  rotate: 'secrets:rotate',
  revoke: 'secrets:delete',
};
const GRANTED: Record<string, string[]> = {
  read: ['secrets:list', 'secrets:read'],
  write: ['secrets:list', 'secrets:read', 'secrets:write', 'secrets:rotate'],
};

interface Part {
  scopes: string[];
  environments: string[] | null;
  secrets: string[] | null;
  /** Milliseconds, or without end. */
  until: number;
}

const covers = (held: string[], scope: string) =>
  held.some(
    (one) => one === '*' || one === scope || one === `${scope.split(':')[0]}:*` || PROVIDED[one] === scope,
  );
const isNamed = (patterns: string[], name: string) =>
  patterns.some((pattern) =>
    new RegExp(
      `^${pattern
        .replace(/[.+^${}()|[\]\\]/g, '\\$&')
        .replaceAll('*', '.*')
        .replaceAll('?', '.')}$`,
    ).test(name),
  );

/** Everything that some parts allow, point by point, and until when: the later end counts. */
function reachOf(parts: Part[]): Map<string, number> {
  const reach = new Map<string, number>();
  for (const { scopes, environments, secrets, until } of parts)
    for (const scope of SCOPES.filter((one) => covers(scopes, one)))
      for (const environment of ENVIRONMENTS.filter((one) => environments?.includes(one) ?? true))
        for (const name of NAMES.filter((one) => secrets === null || isNamed(secrets, one))) {
          const point = `${scope} ${environment} ${name}`;
          reach.set(point, Math.max(reach.get(point) ?? 0, until));
        }
  return reach;
}

/** The first point at which something goes beyond all of these, or null. */
function beyond(reach: Map<string, number>, ...bounds: Map<string, number>[]): string | null {
  for (const [point, until] of reach)
    if (!bounds.some((bound) => (bound.get(point) ?? 0) >= until))
      return `${point} until ${until === Infinity ? 'ever' : new Date(until).toISOString()}`;
  return null;
}

const until = (time: string | null | undefined) => (time ? Date.parse(time) : Infinity);

// ---------------------------------------------------------------- what the service says

interface Shown {
  id: string;
  scopes: string[];
  environments: string[] | null;
  secrets: string[] | null;
  expires_at?: string | null;
}
const LISTS = ['/api-keys', '/agent-credentials', '/provider-tokens'];

/** The reach of every credential and member of an org, by id. */
async function everybody(owner: Caller): Promise<Map<string, Map<string, number>>> {
  const all = new Map<string, Map<string, number>>();
  const list = async (path: string) => (await owner.get(`${path}?limit=100`)).json.data;
  for (const path of LISTS)
    for (const { id, scopes, environments, secrets, expires_at } of (await list(path)) as Shown[])
      all.set(id, reachOf([{ scopes, environments, secrets, until: until(expires_at) }]));
  for (const { id, scopes, expires_at } of (await list('/break-glass-tokens')) as Shown[])
    all.set(id, reachOf([{ scopes, environments: null, secrets: null, until: until(expires_at) }]));
  const roles = new Map<string, string[]>(
    ((await owner.get('/roles')).json.data as { role: string; scopes: string[] }[]).map((one) => [
      one.role,
      one.scopes,
    ]),
  );
  const teams = (await list('/teams')) as { id: string }[];
  const inTeam = new Map<string, string[]>();
  for (const { id } of teams)
    inTeam.set(
      id,
      ((await list(`/teams/${id}/members`)) as { id: string; member_id?: string }[]).map(
        (one) => one.member_id ?? one.id,
      ),
    );
  const grants = (await list('/grants')) as (Shown & {
    grantee: { type: string; id: string };
    permission: string;
  })[];
  for (const { id, role } of (await list('/members')) as { id: string; role: string }[]) {
    const mine = grants.filter(({ grantee }) => grantee.id === id || inTeam.get(grantee.id)?.includes(id));
    const reach = reachOf([
      { scopes: roles.get(role) ?? [], environments: null, secrets: null, until: Infinity },
      ...mine.map((grant) => ({
        scopes: GRANTED[grant.permission] ?? [],
        environments: grant.environments,
        secrets: grant.secrets,
        until: until(grant.expires_at),
      })),
    ]);
    if (role === 'owner') reach.set(OWNER, Infinity);
    all.set(id, reach);
  }
  return all;
}

/** What an owner may do besides is a point of its own: tried by a call that then finds nobody. */
const OWNER = 'to act as an owner';
/** The passkeys of each member of an org, with their names. */
async function passkeysOf(owner: Caller): Promise<Map<string, string>> {
  const members = ((await owner.get('/members?limit=100')).json.data ?? []) as { id: string }[];
  const shown = await Promise.all(members.map(({ id }) => owner.get(`/members/${id}/passkeys`)));
  return new Map(members.map(({ id }, i) => [id, JSON.stringify(shown[i]?.json.data)]));
}

/** Who is an owner, and who waits to enrol since when. */
async function standingOf(owner: Caller) {
  const members = (await owner.get('/members?limit=100')).json.data as {
    id: string;
    role: string;
    enrolment: unknown;
  }[];
  return {
    owners: members.filter(({ role }) => role === 'owner').map(({ id }) => id),
    enrolments: new Map(members.map(({ id, enrolment }) => [id, JSON.stringify(enrolment)])),
  };
}

const actsAsOwner = async (o: Caller) => (await o.post('/members/mem_none/enrolments')).status === 404;

/** What a token says of itself. */
async function reachOfToken(token: string): Promise<Map<string, number> | null> {
  const { status, json } = await send('GET', '/api/v1/whoami', { token });
  if (status !== 200) return null;
  const reach = reachOf([{ ...json, until: until(json.expires_at) }]);
  if (await actsAsOwner(callerOf(json.org_id, token))) reach.set(OWNER, Infinity);
  return reach;
}

// ---------------------------------------------------------------- what is tried

const subset = <T>(values: readonly T[], most: number) =>
  fc.subarray([...values], { minLength: 1, maxLength: most });
const holding = fc.record(
  {
    scopes: fc.oneof(subset(SCOPES, 6), subset(['*', 'secrets:*', 'tokens:*', 'members:*', 'teams:*'], 3)),
    environments: subset(ENVIRONMENTS, 2),
    secrets: subset(PATTERNS, 2),
    seconds: fc.constantFrom(60, 600, 100_000),
  },
  { requiredKeys: ['scopes'] },
);
type Holding = typeof holding extends fc.Arbitrary<infer T> ? T : never;

const start = fc.record({
  kind: fc.constantFrom(
    'api_key',
    'session',
    'agent',
    'provider',
    'break_glass',
    'owner',
    'admin',
    'developer',
    'viewer',
  ),
  holding,
  /**
   * Of a member: whether the session was confirmed more than five minutes ago, and the passkey is not at
   * hand: a stolen JWT.
   */
  stolen: fc.boolean(),
});
type Start = typeof start extends fc.Arbitrary<infer T> ? T : never;
const move = fc.record({
  do: fc.constantFrom(
    ...[
      'key',
      'session',
      'agent',
      'provider',
      'break-glass',
      'change agent',
      'change key',
      'rotate key',
      'invite',
      'change role',
      're-enrol',
    ],
    ...['grant', 'team', 'join', 'environment', 'default', 'panic'],
    ...['confirm', 'add passkey', 'rename passkey', 'remove passkey'],
  ),
  /** Which of the tokens at hand, and which of the things that there are; numbers wrap around. */
  who: fc.nat(7),
  target: fc.nat(9),
  holding,
  role: fc.constantFrom('owner', 'admin', 'developer', 'viewer', 'auditor'),
  permission: fc.constantFrom('read', 'write'),
  rate: fc.constantFrom(1, 120, 6000),
});

const iso = (seconds: number | undefined) =>
  seconds === undefined ? {} : { expires_at: new Date(Date.now() + seconds * 1000).toISOString() };
const bounds = ({ environments, secrets }: Holding) => ({
  ...(environments && { environments }),
  ...(secrets && { secrets }),
});
let people = 0;

/** A credential of a kind with about that holding, made by the owner; null where there is none. */
async function begin(
  owner: Caller,
  { kind, holding: wish }: Pick<Start, 'kind' | 'holding'>,
): Promise<{ id: string; token: string; browser?: Browser } | null> {
  const key = () =>
    newKey(owner, {
      scopes: wish.scopes,
      ...bounds(wish),
      ...iso(kind === 'api_key' ? wish.seconds : undefined),
    });
  if (kind === 'api_key') return key();
  if (kind === 'session') {
    const parent = await key();
    const { json } = await parent.o.post('/access-tokens', {
      ttlSeconds: Math.min(86_400, wish.seconds ?? 600),
    });
    return json.token ? json : null;
  }
  if (kind === 'agent')
    return (
      await owner.post('/agent-credentials', {
        name: 'a',
        scopes: wish.scopes,
        ...bounds(wish),
        ...(wish.seconds && { ttlSeconds: wish.seconds }),
      })
    ).json;
  if (kind === 'owner' || kind === 'admin' || kind === 'developer' || kind === 'viewer') {
    const browser = await signIn(owner, kind);
    return { id: browser.member.id, token: browser.token, browser };
  }
  if (kind === 'provider')
    return (
      await owner.post('/provider-tokens', {
        name: 'p',
        scopes: ['issue', 'rotate', 'revoke'],
        ...bounds(wish),
      })
    ).json;
  return (await owner.post('/break-glass-tokens', { reason: 'a rehearsed emergency' })).json;
}

const plain = {
  who: 0,
  target: 0,
  holding: { scopes: ['*'] },
  role: 'owner',
  permission: 'write',
  rate: 120,
} as const;
/**
 * Ways that have been thought of: a key that acts as an owner for somebody who is none, made or rotated; what
 * outlives an agent.
 */
const known: [Start, (typeof move extends fc.Arbitrary<infer T> ? T : never)[]][] = [
  ...(['key', 'rotate key'] as const).map((first): (typeof known)[number] => [
    { kind: 'admin', holding: { scopes: ['*'] }, stolen: false },
    [
      { ...plain, holding: { scopes: ['*'] }, do: first },
      { ...plain, holding: { scopes: ['*'] }, do: 're-enrol', who: 1 },
      { ...plain, holding: { scopes: ['*'] }, do: 'invite', who: 1 },
    ],
  ]),
  // A stolen JWT of an owner, on each member in turn.
  ...(
    ['add passkey', 'rename passkey', 'remove passkey', 're-enrol', 'invite', 'change role', 'panic'] as const
  ).map((what): (typeof known)[number] => [
    { kind: 'owner', holding: { scopes: ['*'] }, stolen: true },
    [0, 1, 2].map((target) => ({ ...plain, holding: { scopes: ['*'] }, do: what, target })),
  ]),
  // An admin who has confirmed, on each member in turn.
  ...(['add passkey', 'rename passkey', 'remove passkey'] as const).map((what): (typeof known)[number] => [
    { kind: 'admin', holding: { scopes: ['*'] }, stolen: false },
    [
      { ...plain, holding: { scopes: ['*'] }, do: 'confirm' },
      ...[0, 1, 2].map((target) => ({ ...plain, holding: { scopes: ['*'] }, do: what, target })),
    ],
  ]),
  [
    { kind: 'agent', holding: { scopes: ['*'] }, stolen: false },
    [{ ...plain, holding: { scopes: ['*'] }, do: 'change agent' }],
  ],
];

it('privilege escalation: no sequence of calls gives more authority than the first credential had', {
  timeout: 300_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(start, fc.array(move, { minLength: 1, maxLength: 14 }), async (from, moves) => {
      const owner = await newOrg();
      // Others are there already, whose authority might be widened or taken.
      await newKey(owner, { scopes: ['secrets:read', 'tokens:write'], secrets: ['other'] });
      await owner.post('/agent-credentials', { name: 'theirs', scopes: ['secrets:list'] });
      await owner.post('/members', { email: `there${++people}@example.com`, name: 'M', role: 'viewer' });
      for (const { id } of (await owner.get('/members')).json.data)
        for (let i = 0; i < 2; i++) await addPasskey(owner, id);
      const team = (await owner.post('/teams', { name: 't' })).json;
      await owner.post('/grants', {
        grantee: { type: 'team', id: team.id },
        permission: 'write',
        secrets: ['app/*'],
      });
      const begun = await begin(owner, from);
      if (!begun?.token) return;
      const before = await everybody(owner);
      const had = (await reachOfToken(begun.token)) as Map<string, number>;
      expect(had).not.toBe(null);

      const keys = await passkeysOf(owner);
      const standing = await standingOf(owner);
      const isStolen = from.stolen && begun.browser !== undefined;
      const tokens = [begun.token];
      /** Members whom they may become, by an enrolment that they were shown. */
      const become = new Set<string>();
      for (const one of moves) {
        // An API key that an owner makes needs no confirmation: what is judged of a stolen JWT is what it
        // does itself.
        const mine = callerOf(owner.id, (isStolen ? begun.token : tokens[one.who % tokens.length]) as string);
        faults.clock = isStolen ? Date.now() + 360_000 : null;
        const { seconds, scopes } = one.holding;
        const pick = async (path: string) => {
          const items = ((await owner.get(`${path}?limit=100`)).json.data ?? []) as { id: string }[];
          return items[one.target % Math.max(1, items.length)]?.id ?? 'none';
        };
        const common = { name: 'x', scopes, ...bounds(one.holding) };
        const sent = async () => {
          switch (one.do) {
            case 'key':
              return mine.post('/api-keys', { ...common, ...iso(seconds) });
            case 'session':
              return mine.post('/access-tokens', {
                ttlSeconds: Math.min(86_400, seconds ?? 60),
                ...(one.target % 2 && { scopes }),
              });
            case 'agent':
              return mine.post('/agent-credentials', {
                ...common,
                rate_limit: one.rate,
                ...(seconds && { ttlSeconds: seconds }),
              });
            case 'provider':
              return mine.post('/provider-tokens', {
                name: 'p',
                scopes: ['issue', 'rotate', 'revoke'].slice(one.target % 3),
                ...bounds(one.holding),
              });
            case 'break-glass':
              return mine.post('/break-glass-tokens', {
                reason: 'because I would like to',
                ttlSeconds: 14_400,
              });
            case 'change agent':
              return mine.patch(`/agent-credentials/${await pick('/agent-credentials')}`, {
                ...(one.rate > 1 && { scopes }),
                environments: one.holding.environments ?? null,
                secrets: one.holding.secrets ?? null,
                ttlSeconds: seconds ?? null,
              });
            case 'change key':
              return mine.patch(`/api-keys/${await pick('/api-keys')}`, { allowed_addresses: null });
            case 'rotate key':
              return mine.post(`/api-keys/${await pick('/api-keys')}/rotate`, { overlap_seconds: 600 });
            case 'invite':
              return mine.post('/members', {
                email: `new${++people}@example.com`,
                name: 'N',
                role: one.role,
              });
            case 'change role':
              return mine.patch(`/members/${await pick('/members')}`, { role: one.role });
            case 're-enrol':
              return mine.post(`/members/${await pick('/members')}/enrolments`);
            case 'grant': {
              const type = one.target % 2 ? 'member' : 'team';
              const id = await pick(type === 'member' ? '/members' : '/teams');
              return mine.post('/grants', {
                grantee: { type, id },
                permission: one.permission,
                ...bounds(one.holding),
                ...iso(seconds),
              });
            }
            case 'team':
              return mine.post('/teams', { name: 'mine' });
            case 'join':
              return mine.post(`/teams/${await pick('/teams')}/members`, {
                member_id: await pick('/members'),
              });
            case 'environment':
              return mine.post('/environments', { name: `e${++people}` });
            case 'default':
              return mine.patch('', { default_environment: ENVIRONMENTS[one.target % 3] });
            case 'confirm': {
              const { browser } = begun;
              if (!browser || isStolen) return { status: 404, json: null };
              return browser.confirm();
            }
            case 'add passkey': {
              const path = `/members/${await pick('/members')}/passkeys`;
              const options = await mine.post(`${path}/options`);
              return options.status === 200
                ? mine.post(path, { response: await (await newPasskey(ORIGIN)).create(options.json) })
                : options;
            }
            case 'rename passkey':
            case 'remove passkey': {
              const path = `/members/${await pick('/members')}/passkeys`;
              const passkey = `${path}/${await pick(path)}`;
              return one.do === 'rename passkey' ? mine.patch(passkey, { name: 'mine' }) : mine.del(passkey);
            }
            default:
              return mine.post('/panic', { reason: 'to see what happens', api_keys: true });
          }
        };
        const { status, json } = await sent();
        if (status >= 300) continue;
        for (const token of [json?.token, json?.api_key?.token]) if (token) tokens.push(token);
        // Whoever is shown an enrolment can sign in as that member; it tells whose it is.
        if (json?.enrolment_url) become.add(json.id ?? json.member_id);
        if (one.do === 'panic') break;
      }
      faults.clock = null;

      if (isStolen) {
        expect((await owner.get('')).status, 'the API key of the organisation lives').toBe(200);
        const afterKeys = await passkeysOf(owner);
        const now = await standingOf(owner);
        expect(
          now.owners.filter((id) => !standing.owners.includes(id)),
          'a new owner',
        ).toEqual([]);
        for (const [id, was] of keys) expect(afterKeys.get(id), `passkeys of ${id}`).toBe(was);
        // A change of role ends an enrolment that waits.
        for (const [id, was] of standing.enrolments)
          if (now.enrolments.get(id) !== 'null')
            expect(now.enrolments.get(id), `enrolment of ${id}`).toBe(was);
      }

      for (const token of tokens) {
        const reach = await reachOfToken(token);
        expect(reach && beyond(reach, had), 'a token that was got').toBe(null);
      }
      if (had.has(OWNER)) return;
      const after = await everybody(owner);
      for (const [id, listed] of await passkeysOf(owner))
        if (keys.has(id) && keys.get(id) !== listed)
          expect(beyond(before.get(id) ?? new Map(), had), `${id}, whose passkeys were changed`).toBe(null);
      for (const [id, reach] of after) {
        const stood = before.get(id);
        expect(
          beyond(reach, had, ...(stood ? [stood] : [])),
          `${id}, who ${stood ? 'was there' : 'is new'}`,
        ).toBe(null);
      }
      for (const id of become)
        expect(beyond(after.get(id) ?? new Map(), had), `member ${id}, whose enrolment was shown`).toBe(null);

      // What ends with its maker ends with the start.
      if (from.kind !== 'session' && from.kind !== 'agent') return;
      await owner.del(`/${from.kind === 'session' ? 'access-tokens' : 'agent-credentials'}/${begun.id}`);
      for (const token of tokens) expect((await send('GET', '/api/v1/whoami', { token })).status).toBe(401);
      const left = await everybody(owner);
      for (const [id, reach] of left)
        expect(beyond(reach, before.get(id) ?? new Map()), `${id}, afterwards`).toBe(null);
    }),
    { numRuns: runs(25, known.length), examples: known },
  );
});
