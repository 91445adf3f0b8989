// The ways in which a link ends, and attacks on links: each gets the same response.
import { describe, expect, it, vi } from 'vitest';
import { newToken } from '../../../src/auth/authentication/token';
import { newId } from '../../../src/db/ids';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { evict, inCore } from '../../support/gate';
import { type NewLink, newLink, view } from '../../support/shares';
import { newSignedIn, signIn } from '../../support/signin/browser';
import { few, slow } from '../../support/slow';
import {
  type Answer,
  BOOTSTRAP,
  type Caller,
  codeOf,
  db,
  newOrg,
  newSecret,
  send,
  useWorld,
} from '../../support/world';

useWorld();

const GONE = [410, 'SHARE_GONE'];
const body = { kind: 'link', expires_in: 3600, max_views: 3 };

/** What a refusal tells: all but which request it was. */
const told = ({ status, text, headers }: Answer) => [
  status,
  text,
  [...headers].filter(([name]) => name !== 'request-id' && name !== 'date').sort(),
];

const rowsIn = async (o: Caller) =>
  (await db.prepare('select count(*) n from shares where org_id = ?').bind(o.id).first<{ n: number }>())?.n;

/**
 * Each way in which a link ends: what is done between its making and a view. Some bring a link of their own.
 */
const ends: Record<
  string,
  (o: Caller & { keyId: string }, secret: { id: string }) => Promise<{ id: string; key: string }>
> = {
  async viewed(o, { id }) {
    const link = await newLink(o, id, { max_views: 1 });
    expect((await view(link)).status).toBe(200);
    return link;
  },
  async expired(o, { id }) {
    const link = await newLink(o, id, { expires_in: 60 });
    faults.clock = Date.now() + 60_000;
    return link;
  },
  async revoked(o, { id }) {
    const link = await newLink(o, id);
    expect((await o.del(`/secrets/${id}/shares/${link.id}`)).status).toBe(204);
    return link;
  },
  async 'secret deleted'(o, { id }) {
    const link = await newLink(o, id);
    await o.del(`/secrets/${id}`);
    return link;
  },
  async 'secret deleted and restored'(o, { id }) {
    const link = await newLink(o, id);
    await o.del(`/secrets/${id}`);
    expect((await o.post(`/secrets/${id}/restore`)).status).toBe(200);
    return link;
  },
  async 'secret destroyed'(o, { id }) {
    const link = await newLink(o, id);
    await o.del(`/secrets/${id}?permanent=true`);
    return link;
  },
  async 'secret revoked'(o, { id }) {
    const link = await newLink(o, id);
    const { name } = (await o.get(`/secrets/${id}`)).json;
    const { token } = (await o.post('/provider-tokens', { name: 'p', scopes: ['issue', 'rotate', 'revoke'] }))
      .json;
    const provide = (verb: string, fields: object) =>
      send('POST', `/api/v1/provider/${verb}`, {
        token,
        body: { secretName: name, environment: 'production', ...fields },
      });
    expect((await provide('revoke', {})).status).toBeLessThan(300);
    // A new value makes the secret active again, and the version that was shared stays revoked.
    await provide('issue', { value: 'new', ttlSeconds: 60 });
    return link;
  },
  async 'secret expired, and revived'(o) {
    const secret = await newSecret(o, { ttlSeconds: 60 });
    const link = await newLink(o, secret.id);
    expect(Date.parse(link.expires_at)).toBeLessThanOrEqual(Date.now() + 60_000);
    faults.clock = Date.now() + 61_000;
    await o.patch(`/secrets/${secret.id}`, { ttlSeconds: 3600 });
    return link;
  },
  async 'passphrase wrong ten times'(o, { id }) {
    const link = await newLink(o, id, { passphrase: 'right' });
    for (let i = 0; i < 10; i++) expect(codeOf(await view(link, 'wrong'))).toEqual([403, 'PASSPHRASE_WRONG']);
    return link;
  },
  async 'API key revoked'(o, { id }) {
    const key = await newKey(o);
    const link = await newLink(key.o, id);
    await o.del(`/api-keys/${key.id}`);
    return link;
  },
  async 'parent of the session token revoked'(o, { id }) {
    const key = await newKey(o);
    const link = await newLink((await newSession(key.o)).o, id);
    await o.del(`/api-keys/${key.id}`);
    return link;
  },
  async 'session token expired'(o, { id }) {
    const link = await newLink((await newSession(o, { ttlSeconds: 60 })).o, id);
    faults.clock = Date.now() + 61_000;
    return link;
  },
  async 'agent revoked'(o, { id }) {
    const agent = await newAgent(o, { scopes: ['secrets:read', 'secrets:share'] });
    const link = await newLink(agent.o, id);
    await o.del(`/agent-credentials/${agent.id}`);
    return link;
  },
  async contained(o, { id }) {
    const key = await newKey(o);
    const link = await newLink(key.o, id);
    await o.post(`/credentials/${key.id}/contain`, {});
    return link;
  },
  async panic(o, { id }) {
    const link = await newLink(o, id);
    await o.post('/panic', { reason: 'stolen' });
    return link;
  },
  async unknown() {
    const o = await newOrg();
    const link = await newLink(o, (await newSecret(o)).id);
    return { ...link, id: newId('shr') };
  },
  async 'of an organisation that was deleted'() {
    const o = await newOrg();
    const link = await newLink(o, (await newSecret(o)).id);
    await o.del('', { confirm: (await o.get('')).json.name });
    return link;
  },
  malformed: async () => ({ id: 'x', key: 'y' }),
};

describe('share link: every end gives the same response', () => {
  it.each(Object.keys(ends))('%s', async (how) => {
    const o = await newOrg();
    const secret = await newSecret(o, { type: 'password', value: 'first' });
    const link = await (ends[how] as (typeof ends)[string])(o, secret);
    const answer = await view(link);
    expect(codeOf(answer)).toEqual(GONE);
    const nothing = await send('POST', '/s/none', {
      body: { key: 'none' },
      headers: { 'CF-Connecting-IP': '192.0.2.99' },
    });
    expect(told(answer)).toEqual(told(nothing));
    // So it stays once a gate begins anew.
    await evict(o);
    expect(codeOf(await view(link))).toEqual(GONE);
  });
});

it('share link: links of a member are revoked with the member, and with a contained browser session', async () => {
  const { o } = await newSignedIn();
  const dev = await signIn(o, 'admin');
  const { id } = await newSecret(o);
  const links = [await newLink(dev.o, id), await newLink(dev.o, id)] as const;
  // Signing out ends no link.
  const session = (await send('GET', '/api/v1/whoami', { token: dev.o.token })).json.id as string;
  expect(session).toMatch(/^mem_/);
  expect((await view(links[0])).status).toBe(200);
  const sessions = (await dev.o.call('GET', '/audit-log?action=secret.share')).json.data as {
    actor: { parent_id: string };
  }[];
  const contained = await o.post(`/credentials/${sessions[0]?.actor.parent_id}/contain`, {});
  expect(contained.json.shared).toHaveLength(2);
  for (const link of links) expect(codeOf(await view(link))).toEqual(GONE);
  const again = await signIn(o, 'admin');
  const link = await newLink(again.o, id);
  await o.del(`/members/${again.member.id}`);
  expect(codeOf(await view(link))).toEqual(GONE);
});

slow('share link: nothing is left of one that has ended by use, revocation or deletion', async () => {
  const o = await newOrg();
  const secret = await newSecret(o);
  const links = [
    await newLink(o, secret.id, { max_views: 1 }),
    await newLink(o, secret.id),
    await newLink(o, secret.id),
  ] as const;
  expect(await rowsIn(o)).toBe(3);
  await view(links[0]);
  await o.del(`/secrets/${secret.id}/shares/${links[1].id}`);
  expect(await rowsIn(o)).toBe(1);
  await o.del(`/secrets/${secret.id}`);
  expect(await rowsIn(o)).toBe(0);
});

it('share link: one that has expired is purged', async () => {
  const o = await newOrg();
  await newLink(o, (await newSecret(o)).id, { expires_in: 60 });
  faults.clock = Date.now() + 120_000;
  await inCore(o, (core) => runTasks(core, core.now()));
  expect(await rowsIn(o)).toBe(0);
});

it('attack: the key of another link, of another org, another id, a forged or a re-prefixed key shows nothing', async () => {
  const o = await newOrg();
  const other = await newOrg();
  const secret = await newSecret(o);
  const link = await newLink(o, secret.id);
  const sibling = await newLink(o, secret.id);
  const theirs = await newLink(other, (await newSecret(other)).id);
  const attempts = {
    'key of another link': { id: link.id, key: sibling.key },
    'key of another org': { id: link.id, key: theirs.key },
    'right key, another id': { id: sibling.id, key: link.key },
    'right key, id of another kind': { id: secret.id, key: link.key },
    'right key, altered': {
      id: link.id,
      key: `${link.key.slice(0, -1)}${link.key.endsWith('0') ? '1' : '0'}`,
    },
    'right key, cut': { id: link.id, key: link.key.slice(0, -1) },
    'a key of another deployment': { id: link.id, key: newToken('share', o.id, new Uint8Array(32)).token },
    'the token of its maker': { id: link.id, key: o.token },
    'the body of a token under the prefix of keys': {
      id: link.id,
      key: o.token.replace('svc_live_', 'svcshare_'),
    },
    'an enrolment token': { id: link.id, key: link.key.replace('svcshare_', 'svcenrol_') },
  };
  for (const [what, attempt] of Object.entries(attempts))
    expect(codeOf(await view(attempt)), what).toEqual(GONE);
  // A key is no credential.
  expect((await send('GET', '/api/v1/whoami', { token: link.key })).status).toBe(401);
  expect(
    (await send('POST', '/api/v1/auth/enrol/options', { body: { token: link.key } })).json.error.code,
  ).toBe('ENROLMENT_GONE');
  expect(
    (await o.get(`/secrets/${secret.id}/shares`)).json.data.map(({ views }: { views: number }) => views),
  ).toEqual([0, 0]);
  expect((await view(link)).status).toBe(200);
});

it('attack: a forged key asks no gate', async () => {
  const o = await newOrg();
  const link = await newLink(o, (await newSecret(o)).id);
  faults.gate = 0;
  await view({ ...link, key: newToken('share', o.id, new Uint8Array(32)).token });
  expect(faults.gate).toBe(0);
});

describe('share link: passphrase', () => {
  it('a wrong one uses up no view, a missing one is not an attempt, and the correct one shows the value', async () => {
    const o = await newOrg();
    const secret = await newSecret(o, { value: 'behind it' });
    const link = await newLink(o, secret.id, { passphrase: 'e\u0301t\u00e9', max_views: 1 });
    for (let i = 0; i < 9; i++)
      expect(codeOf(await view(link, `wrong ${i}`))).toEqual([403, 'PASSPHRASE_WRONG']);
    for (let i = 0; i < 12; i++) expect(codeOf(await view(link))).toEqual([403, 'PASSPHRASE_WRONG']);
    await evict(o);
    // The same letters, spelled in another way.
    expect((await view(link, '\u00e9t\u00e9')).json).toMatchObject({ value: 'behind it' });
    expect(codeOf(await view(link, '\u00e9t\u00e9'))).toEqual(GONE);
  });

  slow('ten wrong ones at a time end the link, and no more than ten are judged', async () => {
    const o = await newOrg();
    const link = await newLink(o, (await newSecret(o)).id, { passphrase: 'right' });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => view(link, `wrong ${i}`)));
    const of = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([of(403), of(410)]).toEqual([10, 20]);
    expect(codeOf(await view(link, 'right'))).toEqual(GONE);
  });

  slow(
    'is stretched only for a live link that has one, below the limits of the key and of the address',
    async () => {
      const o = await newOrg();
      const { id } = await newSecret(o);
      const link = await newLink(o, id, { passphrase: 'right' });
      const open = await newLink(o, id);
      const revoked = await newLink(o, id, { passphrase: 'right' });
      await o.del(`/secrets/${id}/shares/${revoked.id}`);
      // Stretching begins by composing the letters of the passphrase.
      const normalize = vi.spyOn(String.prototype, 'normalize');
      const stretched = () => normalize.mock.contexts.filter((text) => String(text) === 'attempt').length;
      const ip = '192.0.2.210';
      const other = '192.0.2.211';
      expect(codeOf(await view(revoked, 'attempt'))).toEqual(GONE);
      expect(codeOf(await view({ id: newId('shr'), key: link.key }, 'attempt'))).toEqual(GONE);
      expect((await view(open, 'attempt')).status).toBe(200);
      expect(stretched()).toBe(0);
      expect(codeOf(await view(link, 'attempt', other))).toEqual([403, 'PASSPHRASE_WRONG']);
      expect(stretched()).toBe(1);
      // Past the limit of an address.
      for (let n = 0; n < 21; n++) await view({ id: link.id, key: 'none' }, 'attempt', ip);
      expect(codeOf(await view(link, 'attempt', ip))).toEqual([429, 'RATE_LIMITED']);
      expect((await view(open, 'attempt', ip)).status).toBe(200);
      // Past the limit of the key.
      for (let n = 0; n < 200; n++) await view({ id: newId('shr'), key: link.key }, undefined);
      expect(codeOf(await view(link, 'attempt', other))).toEqual([429, 'RATE_LIMITED']);
      expect(stretched()).toBe(1);
      normalize.mockRestore();
      expect((await o.get(`/secrets/${id}/shares`)).json.data).toHaveLength(2);
    },
  );

  slow('one that is sent to a link without is ignored', async () => {
    const o = await newOrg();
    const link = await newLink(o, (await newSecret(o, { value: 'open' })).id);
    expect((await view(link, 'whatever')).json.value).toBe('open');
  });
});

slow('rate limit: refused views are limited by address, and a right one is not held up', async () => {
  const o = await newOrg();
  const link = await newLink(o, (await newSecret(o)).id);
  const ip = '192.0.2.200';
  const answers: Answer[] = [];
  for (let i = 0; i < 21; i++) answers.push(await view({ id: link.id, key: 'none' }, undefined, ip));
  expect(answers.slice(0, 20).map(codeOf)).toEqual(Array.from({ length: 20 }, () => GONE));
  expect(codeOf(answers[20] as Answer)).toEqual([429, 'RATE_LIMITED']);
  expect((await view(link, undefined, ip)).status).toBe(200);
});

slow('rate limit: one key allows at most about 200 lookups a minute, across ids', async () => {
  const o = await newOrg();
  const link = await newLink(o, (await newSecret(o)).id, { max_views: 1 });
  await view(link);
  const answers: Answer[] = [];
  for (let i = 0; i < 10; i++)
    answers.push(
      ...(await Promise.all(Array.from({ length: 21 }, () => view({ id: newId('shr'), key: link.key })))),
    );
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(11);
});

it('limits: an organisation has 1,000 links at most', async () => {
  const o = await newOrg();
  const { id } = await newSecret(o);
  await newLink(o, id);
  await inCore(o, (core) => {
    const [row] = core.rows.after('share', '', 1);
    if (row) for (let i = 0; i < 999; i++) core.rows.put('share', { ...row, id: newId('shr') });
  });
  expect(codeOf(await o.post(`/secrets/${id}/share`, body))).toEqual([409, 'LIMIT_REACHED']);
});

describe('share link: race', () => {
  /** What ends a link while it is viewed; each leaves nothing of it, however they come to lie. */
  const enders: Record<
    string,
    (o: Caller & { keyId: string }, secret: string, link: string, key: string) => Promise<Answer>
  > = {
    'its revocation': (o, secret, link) => o.del(`/secrets/${secret}/shares/${link}`),
    'the deletion of its secret': (o, secret) => o.del(`/secrets/${secret}`),
    'the containment of its maker': (o, _secret, _link, key) => o.post(`/credentials/${key}/contain`, {}),
  };
  it.each(few(Object.keys(enders), 1))('a view and %s', async (name) => {
    const o = await newOrg();
    for (let i = 0; i < 6; i++) {
      const { id } = await newSecret(o);
      const key = await newKey(o);
      const link = await newLink(key.o, id, { max_views: 100 });
      faults.delay = 8;
      const [end, ...views] = await Promise.all([
        (enders[name] as (typeof enders)[string])(o, id, link.id, key.id),
        ...Array.from({ length: 5 }, () => view(link)),
      ]);
      faults.delay = 0;
      expect(end?.status).toBeLessThan(300);
      expect(views.every(({ status }) => [200, 410].includes(status))).toBe(true);
      expect(codeOf(await view(link))).toEqual(GONE);
      expect(await inCore(o, ({ rows }) => rows.get('share', link.id))).toBe(null);
      expect(await rowsIn(o)).toBe(0);
    }
  });
});

slow(
  'restore: links with large values stay, and a link that the backup holds with more views left does not come back',
  async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { value: 'x'.repeat(65_536) });
    const spent = await newLink(o, id, { max_views: 1 });
    const links = [];
    for (let i = 0; i < 30; i++) links.push(await newLink(o, id, { max_views: 2 }));
    const { results: backup } = await db
      .prepare('select * from shares where org_id = ?')
      .bind(o.id)
      .all<Record<string, unknown>>();
    const [first] = links as [(typeof links)[number]];
    await view(spent);
    await view(first);
    for (const row of backup)
      await db
        .prepare(
          `insert or replace into shares (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`,
        )
        .bind(...Object.values(row))
        .run();
    const adopted = await send('POST', `/api/v1/orgs/${o.id}/adopt`, {
      token: BOOTSTRAP,
      body: { reason: 'a test' },
    });
    expect(adopted.status).toBe(200);
    expect(codeOf(await view(spent))).toEqual(GONE);
    expect((await view(first)).status).toBe(200);
    expect(codeOf(await view(first))).toEqual(GONE);
    expect((await view(links[29] as NewLink)).json.value).toHaveLength(65_536);
  },
);
