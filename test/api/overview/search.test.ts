// Search by part of a name: of each kind what its list shows, and no trace of what was searched for.
import { describe, expect, it, vi } from 'vitest';
import { newAgent, newKey, newProvider } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { newPolicy } from '../../support/governance/policies';
import { newMember, newTeam } from '../../support/people';
import { signIn } from '../../support/signin/browser';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

const search = async (o: Caller, q: string) => {
  const { status, json, text } = await o.get(`/search?q=${encodeURIComponent(q)}`);
  expect(status, text).toBe(200);
  return json;
};
const names = (hits: { data: { name: string }[] }) => hits.data.map(({ name }) => name);

/** Something of each kind with a name that contains `needle`, in production where it has an environment. */
const MAKE: Record<string, (o: Caller) => Promise<unknown>> = {
  secrets: (o) => newSecret(o, { name: 'hidden/NEEDLE_1', environment: 'production' }),
  members: (o) => newMember(o, 'viewer', { name: 'Ned Needle' }),
  teams: (o) => o.post('/teams', { name: 'Needles' }),
  credentials: (o) => newKey(o, { name: 'a needle', environments: ['production'] }),
  policies: (o) => newPolicy(o, 'naming', { pattern: '.' }, { name: 'NEEDLE rule' }),
  connections: (o) =>
    o.post('/integrations', {
      kind: 'sync',
      platform: 'heroku',
      name: 'needle app',
      config: { token: 't', appName: 'demo-app' },
      environments: ['production'],
    }),
};

describe('search: by part of a name', () => {
  it.each(Object.keys(MAKE))('finds %s, whatever the case', async (kind) => {
    const o = await newOrg();
    await MAKE[kind]?.(o);
    for (const q of ['needle', 'EEDL']) {
      const found = await search(o, q);
      expect(Object.keys(found)).toEqual(Object.keys(MAKE));
      for (const other of Object.keys(MAKE))
        expect(found[other].data, other).toHaveLength(other === kind ? 1 : 0);
      expect(found[kind].data[0]).toMatchObject({ id: expect.any(String), name: expect.any(String) });
    }
    expect((await search(o, 'noodle'))[kind].data).toEqual([]);
  });

  it('folds the case of other letters, and finds members by email', async () => {
    const o = await newOrg();
    await newTeam(o);
    await o.post('/teams', { name: 'ÉQUIPE' });
    await newMember(o, 'viewer', { name: 'Zoë', email: 'ops-lead@example.com' });
    expect(names((await search(o, 'équ')).teams)).toEqual(['ÉQUIPE']);
    expect(names((await search(o, 'OPS-')).members)).toEqual(['Zoë']);
  });

  it('has 20 of a kind, the first by name, those of the same name together', async () => {
    const o = await newOrg();
    for (let n = 10; n < 22; n++)
      for (const environment of ['staging', 'production'])
        await newSecret(o, { name: `N_${n}`, environment });
    const { secrets } = await search(o, 'n_');
    expect(secrets.has_more).toBe(true);
    expect(names(secrets)).toEqual(
      Array.from({ length: 10 }, (_, n) => [`N_${n + 10}`, `N_${n + 10}`]).flat(),
    );
    expect(secrets.data[0].environment).not.toBe(secrets.data[1].environment);
    expect((await search(o, 'n_1')).secrets).toMatchObject({ has_more: false });
  });

  it('finds neither what was deleted nor a credential that has ended', async () => {
    const o = await newOrg();
    const { id } = await newSecret(o, { name: 'NEEDLE' });
    await o.del(`/secrets/${id}`);
    await o.del(`/api-keys/${(await newKey(o, { name: 'needle' })).id}`);
    const agent = await newAgent(o, { name: 'needle' });
    await newProvider(o, { name: 'needle of a provider' });
    expect(names((await search(o, 'needle')).credentials)).toEqual(['needle', 'needle of a provider']);
    await o.del(`/agent-credentials/${agent.id}`);
    const found = await search(o, 'needle');
    expect(names(found.credentials)).toEqual(['needle of a provider']);
    expect(found.secrets.data).toEqual([]);
  });

  it('looks through 100,000 names, in several turns', async () => {
    const o = await newOrg();
    const { id, environment } = await newSecret(o, { name: 'app/zz_LAST' });
    await inCore(o, ({ storage, rows }) => {
      const { environment_id } = rows.get('secret', id) as { environment_id: string };
      storage.sql.exec(
        `insert into rows with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
          select 'secret', 'sec_' || i, 1, ?, 'app/n' || i, null, null from n`,
        environment_id,
      );
    });
    expect((await search(o, 'zz_last')).secrets.data).toEqual([
      { id, name: 'app/zz_LAST', kind: 'generic', environment, detail: null },
    ]);
  });

  it('is kept in no log line, no audit entry and no error', async () => {
    const o = await newOrg();
    const lines: unknown[] = [];
    const spies = (['log', 'warn', 'error', 'info'] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation((...line) => void lines.push(line)),
    );
    const pasted = 'sk_live_pasted';
    await search(o, pasted);
    const limited = (await newAgent(o, { scopes: ['integrations:notify'] })).o;
    await search(limited, pasted);
    const refused = [
      await o.get(`/search?q=${pasted}&other=1`),
      await o.get(`/search?q=${pasted}&q=${pasted}`),
      await o.get(`/search?q=${pasted.repeat(30)}`),
      await o.get(`/search?q=${pasted}%0a`),
      await o.get(`/search?q=`),
      await o.get('/search'),
    ];
    for (const spy of spies) spy.mockRestore();
    expect(lines.length).toBeGreaterThan(5);
    expect(JSON.stringify(lines)).not.toContain('pasted');
    for (const { status, text } of refused) {
      expect(status).toBe(400);
      expect(text).not.toContain('pasted');
    }
    const log = (await o.get('/audit-log?limit=100')).text;
    expect(log).toContain('org.search');
    expect(log).not.toContain('pasted');
  });
});

/** Who searches, and what they may list. */
const VIEWERS: Record<string, { make: (o: Caller) => Promise<Caller>; finds: string[] }> = {
  'a key for staging': {
    make: async (o) => (await newKey(o, { environments: ['staging'] })).o,
    finds: Object.keys(MAKE),
  },
  'a key for some names': {
    make: async (o) => (await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] })).o,
    finds: ['secrets'],
  },
  'an agent without scopes of lists': {
    make: async (o) => (await newAgent(o, { scopes: ['integrations:notify'] })).o,
    finds: [],
  },
  'a viewer': { make: async (o) => (await signIn(o, 'viewer')).o, finds: ['secrets'] },
  'a developer of staging': {
    make: async (o) => (await signIn(o, 'developer', { environments: ['staging'] })).o,
    finds: ['secrets', 'credentials', 'connections'],
  },
  'an auditor': { make: async (o) => (await signIn(o, 'auditor')).o, finds: ['members'] },
};

/** Kinds whose lists show all to whoever has the scope. */
const WHOLE = ['members', 'teams', 'credentials', 'policies'];

describe('search: nothing that the caller may not see', () => {
  it.each(Object.entries(VIEWERS))(
    'leaves out the kinds that it may not list: %s',
    async (_, { make, finds }) => {
      const o = await newOrg();
      expect(Object.keys(await search(await make(o), 'x')).sort()).toEqual([...finds].sort());
    },
  );

  const walk = Object.entries(VIEWERS).flatMap(([viewer, { finds }]) =>
    Object.keys(MAKE)
      .filter((kind) => !(finds.includes(kind) && (WHOLE.includes(kind) || viewer === 'a viewer')))
      .map((kind) => [viewer, kind] as const),
  );

  it.each(walk)(
    'permission: answers the same bytes to %s, whether or not there is one of %s',
    async (viewer, kind) => {
      const o = await newOrg();
      const by = (await VIEWERS[viewer]?.make(o)) as Caller;
      for (let n = 0; n < 21; n++) await newSecret(o, { name: `app/needle_${n}`, environment: 'staging' });
      const before = await by.get('/search?q=needle');
      await MAKE[kind]?.(o);
      const after = await by.get('/search?q=needle');
      expect(after.text).toBe(before.text);
      expect(before.status).toBe(200);
      const all = await search(o, 'needle');
      expect(all[kind].data.length, 'the owner finds it').toBeGreaterThan(0);
    },
  );
});
