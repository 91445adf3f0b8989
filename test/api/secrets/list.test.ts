// The lists of secrets that people look through: by name, and one by its id without a read of its value.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SecretRow } from '../../../src/db/schema';
import { type Below, below } from '../../../src/domains/secrets/gate/folders/folders';
import { prefixesOf } from '../../../src/domains/secrets/gate/selection';
import type { Core } from '../../../src/gate/core';
import { newKey } from '../../support/credentials';
import { inCore } from '../../support/gate';
import { slow } from '../../support/slow';
import { type Caller, newOrg, useWorld } from '../../support/world';

useWorld();

const put = async (o: Caller, name: string, environment = 'production') =>
  (await o.post('/secrets', { name, type: 'generic', value: `value of ${name}`, environment })).json
    .id as string;
const namesOf = (data: { name: string }[]) => data.map(({ name }) => name);

describe('list secrets: sort=name', () => {
  slow(
    'lists an environment in name order, page by page, regardless of concurrent creates and deletes',
    async () => {
      const o = await newOrg();
      const ids = new Map<string, string>();
      for (const name of ['b', 'd', 'a', 'c/1', 'e']) ids.set(name, await put(o, name));
      await put(o, 'elsewhere', 'staging');
      const first = (await o.get('/secrets?environment=production&sort=name&limit=2')).json;
      expect(namesOf(first.data)).toEqual(['a', 'b']);
      await put(o, 'aa');
      await o.del(`/secrets/${ids.get('d')}`);
      const next = (
        await o.get(`/secrets?environment=production&sort=name&limit=2&cursor=${first.next_cursor}`)
      ).json;
      expect(namesOf(next.data)).toEqual(['c/1', 'e']);
      expect(next.has_more).toBe(false);
      expect(namesOf((await o.get('/secrets?environment=production&sort=name&prefix=c/')).json.data)).toEqual(
        ['c/1'],
      );
    },
  );

  slow(
    'lists all environments in name order, page by page, and none twice where names are the same',
    async () => {
      const o = await newOrg();
      for (const name of ['b', 'a/1', 'c']) await put(o, name);
      for (const name of ['c', 'a/1', 'a-1']) await put(o, name, 'staging');
      const gone = await put(o, 'aa', 'development');
      await put(o, 'a/1', 'development');
      await o.del(`/secrets/${gone}`);
      const placed = (data: { name: string; environment: string }[]) =>
        data.map(({ name, environment }) => `${name} ${environment}`);
      const whole = placed((await o.get('/secrets?sort=name')).json.data);
      expect(whole.map((one) => one.split(' ')[0])).toEqual(['a-1', 'a/1', 'a/1', 'a/1', 'b', 'c', 'c']);
      expect(new Set(whole).size).toBe(7);
      for (const limit of [1, 2, 3]) {
        const pages: string[] = [];
        for (let more: string | null = ''; more !== null; ) {
          const { json } = await o.get(`/secrets?sort=name&limit=${limit}${more}`);
          pages.push(...placed(json.data));
          more = json.next_cursor && `&cursor=${json.next_cursor}`;
        }
        expect(pages).toEqual(whole);
      }
      expect(placed((await o.get('/secrets?sort=name&prefix=a/&type=generic')).json.data)).toEqual(
        whole.slice(1, 4),
      );
    },
  );

  it('lists of all environments only those, and only the names, that a limited credential may list', async () => {
    const o = await newOrg();
    for (const environment of ['production', 'staging'])
      for (const name of ['app/1', 'db']) await put(o, name, environment);
    const seen = async (limits: object) =>
      (
        await (await newKey(o, { scopes: ['secrets:list'], ...limits })).o.get('/secrets?sort=name')
      ).json.data.map(({ name, environment }: { name: string; environment: string }) => [name, environment]);
    expect(await seen({ environments: ['staging'] })).toEqual([
      ['app/1', 'staging'],
      ['db', 'staging'],
    ]);
    expect(await seen({ environments: ['staging'], secrets: ['app/*'] })).toEqual([['app/1', 'staging']]);
    expect(await seen({ secrets: ['d*'] })).toHaveLength(2);
  });

  it('lists no deleted secrets, and takes no cursor of the other order', async () => {
    const o = await newOrg();
    for (const name of ['a', 'b']) await put(o, name);
    expect((await o.get('/secrets?sort=name&environment=production&status=deleted')).status).toBe(400);
    const { next_cursor } = (await o.get('/secrets?environment=production&limit=1')).json;
    const other = await o.get(`/secrets?environment=production&sort=name&cursor=${next_cursor}`);
    expect([other.status, other.json.error.code]).toEqual([400, 'INVALID_CURSOR']);
  });

  slow('shows a limited credential the names that it reaches, and no others', async () => {
    const o = await newOrg();
    for (const name of ['app/1', 'app/2', 'db']) await put(o, name);
    const limited = await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] });
    const { data } = (await limited.o.get('/secrets?environment=production&sort=name')).json;
    expect(namesOf(data)).toEqual(['app/1', 'app/2']);
  });
});

describe('list secrets: id', () => {
  it('returns one secret without its value, even a deleted one, and does not count as a read', async () => {
    const o = await newOrg();
    const id = await put(o, 'a');
    await put(o, 'b');
    const { data, has_more } = (await o.get(`/secrets?id=${id}`)).json;
    expect([namesOf(data), has_more, JSON.stringify(data).includes('value of a')]).toEqual([
      ['a'],
      false,
      false,
    ]);
    expect((await o.get(`/secrets/${id}/readers`)).json.data).toEqual([]);
    await o.del(`/secrets/${id}`);
    expect((await o.get(`/secrets?id=${id}`)).json.data).toMatchObject([{ id, status: 'deleted' }]);
  });

  slow("returns nothing out of the caller's reach, in its own organisation or another", async () => {
    const o = await newOrg();
    const other = await newOrg();
    const id = await put(o, 'db');
    const limited = await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] });
    for (const caller of [limited.o, other])
      expect((await caller.get(`/secrets?id=${id}`)).json.data).toEqual([]);
  });
});

describe('list secrets: delimiter', () => {
  const at = (query: string) => `/secrets?environment=production&delimiter=/${query}`;

  slow('lists the folders and then the secrets directly below a prefix', async () => {
    const o = await newOrg();
    for (const name of ['a/1', 'a/b/2', 'a/b/3', 'a.txt', 'b', 'c/4', 'c/d']) await put(o, name);
    await put(o, 'elsewhere/1', 'staging');
    const root = (await o.get(at(''))).json;
    expect([root.folders, namesOf(root.data), root.has_more]).toEqual([['a/', 'c/'], ['a.txt', 'b'], false]);
    const inside = (await o.get(at('&prefix=a/'))).json;
    expect([inside.folders, namesOf(inside.data)]).toEqual([['a/b/'], ['a/1']]);
    // A prefix that ends within a name.
    const half = (await o.get(at('&prefix=a'))).json;
    expect([half.folders, namesOf(half.data)]).toEqual([['a/'], ['a.txt']]);
    expect((await o.get('/secrets?environment=production')).json).not.toHaveProperty('folders');
    for (const refused of [
      '/secrets?delimiter=/',
      at('&status=deleted'),
      at('&id=sec_1'),
      '/secrets?environment=production&delimiter=_',
    ])
      expect((await o.get(refused)).status, refused).toBe(400);
  });

  slow('pages folders and secrets together, regardless of concurrent creates and deletes', async () => {
    const o = await newOrg();
    for (const name of ['a/1', 'b/1', 'c/1', 'x', 'y']) await put(o, name);
    const first = (await o.get(at('&limit=2'))).json;
    expect([first.folders, first.data]).toEqual([['a/', 'b/'], []]);
    await put(o, 'b/2');
    await put(o, 'aa/1');
    const second = (await o.get(at(`&limit=2&cursor=${first.next_cursor}`))).json;
    expect([second.folders, namesOf(second.data), second.has_more]).toEqual([['c/'], ['x'], true]);
    const third = (await o.get(at(`&limit=2&cursor=${second.next_cursor}`))).json;
    expect([third.folders, namesOf(third.data), third.has_more]).toEqual([[], ['y'], false]);
    for (const other of ['', '&sort=name'])
      expect(
        (await o.get(`/secrets?environment=production${other}&cursor=${first.next_cursor}`)).status,
      ).toBe(400);
  });

  slow('shows a folder only for a matching secret, and not for a deleted one', async () => {
    const o = await newOrg();
    await put(o, 'keys/1');
    await o.post('/secrets', {
      name: 'words/1',
      type: 'password',
      value: 'x',
      tags: { team: 'core' },
      environment: 'production',
    });
    const gone = await put(o, 'gone/1');
    await o.del(`/secrets/${gone}`);
    expect((await o.get(at(''))).json.folders).toEqual(['keys/', 'words/']);
    for (const filter of ['type=password', 'tag=team:core'])
      expect((await o.get(at(`&${filter}`))).json.folders).toEqual(['words/']);
    expect((await o.get(at('&status=expired'))).json.folders).toEqual([]);
  });

  it('tells a limited credential of no folder but those of names that it may list', async () => {
    const o = await newOrg();
    for (const name of ['app/web/1', 'app/db/1', 'app/db/2', 'pay/1', 'top']) await put(o, name);
    const limited = await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*/2', 't*'] });
    for (const [query, expected] of [
      ['', [['app/'], ['top']]],
      ['&prefix=app/', [['app/db/'], []]],
      ['&prefix=app/web/', [[], []]],
      ['&prefix=pay/', [[], []]],
      ['&prefix=p', [[], []]],
    ] as const) {
      const { json } = await limited.o.get(at(query));
      expect([json.folders, namesOf(json.data), json.next_cursor], query).toEqual([...expected, null]);
    }
    const elsewhere = await newKey(o, { scopes: ['secrets:list'], environments: ['staging'] });
    expect((await elsewhere.o.get(at(''))).status).toBe(403);
  });

  slow('reads no name before the one after which it goes on', async () => {
    const o = await newOrg();
    for (let n = 0; n < 12; n++) await put(o, `n${String(n).padStart(2, '0')}`);
    const [environment] = await inCore(o, ({ rows }) =>
      rows.after('environment', '', 10).filter(({ slug }) => slug === 'production'),
    );
    const place = { environment: environment?.id as string, prefix: 'n', length: 1 };
    expect(await inCore(o, ({ rows }) => rows.nested(place, 'n09', 100))).toMatchObject({
      found: null,
      last: null,
      looked: 2,
    });
    expect(await inCore(o, ({ rows }) => rows.nested(place, 'n', 5))).toMatchObject({
      found: null,
      last: 'n04',
      looked: 5,
    });
  });

  it('gives each folder and secret once, as a walk through all names does, for any names, prefix and patterns', () => {
    const part = fc.stringMatching(/^[ab.Z]{1,2}$/);
    const names = fc.uniqueArray(
      fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
      { maxLength: 40 },
    );
    const prefixes = fc.constantFrom('', 'a', 'a/', 'b/a/', 'Z');
    const literals = fc.option(
      fc.uniqueArray(fc.constantFrom('a', 'a/a', 'a/', 'b', 'Z/Z', '.'), { maxLength: 4 }),
    );
    fc.assert(
      fc.property(
        names,
        prefixes,
        literals,
        fc.integer({ min: 1, max: 7 }),
        fc.nat(3),
        fc.integer({ min: 1, max: 5 }),
        (all, prefix, held, limit, hidden, searched) => {
          const rows = [...all].sort().map((name, index) => ({ id: name, name, size: index }) as SecretRow);
          const isHeld = (name: string) => !held || held.some((start) => name.startsWith(start));
          const matches = ({ name, size }: SecretRow) =>
            name.startsWith(prefix) && isHeld(name) && (hidden === 0 || size % 3 !== hidden - 1);
          const core = {
            rows: {
              get: (_: string, id: string) => rows.find((row) => row.id === id) ?? null,
              named: (_: string, start: string, after: string, size: number) =>
                rows.filter(({ name }) => name.startsWith(start) && name > after).slice(0, size),
              nested: (range: { prefix: string; length: number }, after: string) => {
                const next = rows
                  .filter(({ name }) => name.startsWith(range.prefix) && name > after)
                  .slice(0, searched);
                const found = next.find(({ name }) => name.includes('/', range.length)) ?? null;
                return {
                  found,
                  last: found?.name ?? (next.length === searched ? next.at(-1)?.name : null),
                  looked: next.length,
                };
              },
            },
          } as unknown as Core;
          const place = {
            environment: 'env',
            prefix,
            beginnings: prefixesOf(prefix, held?.map((start) => `${start}*`) ?? null),
          };
          const steps = { take: () => true };
          const found = { folders: [] as string[], rows: [] as string[] };
          for (let after: string | null = null, pages = 0; pages === 0 || after !== null; pages++) {
            const page: Below = below(core, place, { limit, steps, matches }, after);
            expect(page.folders.length + page.rows.length).toBeLessThanOrEqual(limit);
            found.folders.push(...page.folders);
            found.rows.push(...page.rows.map(({ name }) => name));
            after = page.next;
            expect(pages).toBeLessThan(100);
          }
          const listed = rows.filter(matches).map(({ name }) => name);
          const folderOf = (name: string) => name.slice(0, name.indexOf('/', prefix.length) + 1);
          expect(found.folders).toEqual([...new Set(listed.map(folderOf))].filter((folder) => folder !== ''));
          expect(found.rows).toEqual(listed.filter((name) => folderOf(name) === ''));
        },
      ),
      { numRuns: 300 },
    );
  });
});
