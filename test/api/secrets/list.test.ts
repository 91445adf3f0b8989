// The lists of secrets that people look through: by name, and one by its id without a read of its value.
import { describe, expect, it } from 'vitest';
import { newKey } from '../../support/credentials';
import { type Caller, newOrg, useWorld } from '../../support/world';

useWorld();

const put = async (o: Caller, name: string, environment = 'production') =>
  (await o.post('/secrets', { name, type: 'generic', value: `value of ${name}`, environment })).json.id as string;
const namesOf = (data: { name: string }[]) => data.map(({ name }) => name);

describe('list secrets: sort=name', () => {
  it('lists an environment in the order of names, page by page, whatever is created or deleted meanwhile', async () => {
    const o = await newOrg();
    const ids = new Map<string, string>();
    for (const name of ['b', 'd', 'a', 'c/1', 'e']) ids.set(name, await put(o, name));
    await put(o, 'elsewhere', 'staging');
    const first = (await o.get('/secrets?environment=production&sort=name&limit=2')).json;
    expect(namesOf(first.data)).toEqual(['a', 'b']);
    await put(o, 'aa');
    await o.del(`/secrets/${ids.get('d')}`);
    const next = (await o.get(`/secrets?environment=production&sort=name&limit=2&cursor=${first.next_cursor}`)).json;
    expect(namesOf(next.data)).toEqual(['c/1', 'e']);
    expect(next.has_more).toBe(false);
    expect(namesOf((await o.get('/secrets?environment=production&sort=name&prefix=c/')).json.data)).toEqual(['c/1']);
  });

  it('needs an environment, lists no deleted secrets, and takes no cursor of the other order', async () => {
    const o = await newOrg();
    for (const name of ['a', 'b']) await put(o, name);
    expect((await o.get('/secrets?sort=name')).status).toBe(400);
    expect((await o.get('/secrets?sort=name&environment=production&status=deleted')).status).toBe(400);
    const { next_cursor } = (await o.get('/secrets?environment=production&limit=1')).json;
    const other = await o.get(`/secrets?environment=production&sort=name&cursor=${next_cursor}`);
    expect([other.status, other.json.error.code]).toEqual([400, 'INVALID_CURSOR']);
  });

  it('shows a limited credential the names that it reaches, and no others', async () => {
    const o = await newOrg();
    for (const name of ['app/1', 'app/2', 'db']) await put(o, name);
    const limited = await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] });
    const { data } = (await limited.o.get('/secrets?environment=production&sort=name')).json;
    expect(namesOf(data)).toEqual(['app/1', 'app/2']);
  });
});

describe('list secrets: id', () => {
  it('answers one secret without its value, a deleted one too, and is no read of it', async () => {
    const o = await newOrg();
    const id = await put(o, 'a');
    await put(o, 'b');
    const { data, has_more } = (await o.get(`/secrets?id=${id}`)).json;
    expect([namesOf(data), has_more, JSON.stringify(data).includes('value of a')]).toEqual([['a'], false, false]);
    expect((await o.get(`/secrets/${id}/readers`)).json.data).toEqual([]);
    await o.del(`/secrets/${id}`);
    expect((await o.get(`/secrets?id=${id}`)).json.data).toMatchObject([{ id, status: 'deleted' }]);
  });

  it('answers nothing about what the caller does not reach, of its own organisation or another', async () => {
    const [o, other] = [await newOrg(), await newOrg()];
    const id = await put(o, 'db');
    const limited = await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] });
    for (const caller of [limited.o, other]) expect((await caller.get(`/secrets?id=${id}`)).json.data).toEqual([]);
  });
});
