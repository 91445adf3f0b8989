// What Okta and Entra send, step by step as their documentation and their validators have it.
import { describe, expect, it } from 'vitest';
import { ERROR, GROUP, LIST, newIdp, newUser, person, USER } from '../../support/signin/scim';
import { slow } from '../../support/slow';
import { newOrg, useWorld } from '../../support/world';

useWorld();

const aGuid = () => crypto.randomUUID();

describe('SCIM: the SPEC test of Okta', () => {
  it.each(['application/scim+json', 'application/json'])('SCIM: passes with %s', async (type) => {
    const o = await newOrg();
    const idp = await newIdp(o, {}, type);
    const first = await idp.get('/Users?count=1&startIndex=1');
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toMatch(/^application\/scim\+json/);
    expect(first.json).toMatchObject({ schemas: [LIST], itemsPerPage: 1, startIndex: 1, totalResults: 1 });
    const [user] = first.json.Resources;
    expect(user).toMatchObject({
      id: expect.any(String),
      name: { familyName: expect.stringMatching(/./), givenName: expect.stringMatching(/./) },
      userName: expect.stringMatching(/@/),
      active: true,
      emails: [{ value: expect.stringMatching(/@/) }],
    });
    expect((await idp.get(`/Users/${user.id}`)).json).toEqual(user);
    const none = await idp.get(`/Users?filter=${encodeURIComponent(`userName eq "${aGuid()}@x.io"`)}`);
    expect([none.status, none.json.totalResults, none.json.Resources]).toEqual([200, 0, []]);
    const gone = await idp.get(`/Users/${aGuid()}`);
    expect([gone.status, gone.json]).toEqual([
      404,
      { schemas: [ERROR], detail: expect.stringMatching(/./), status: '404' },
    ]);
    const sent = person();
    const made = await idp.post('/Users', sent);
    expect(made.status, made.text).toBe(201);
    expect(made.json).toMatchObject({
      schemas: [USER],
      active: true,
      userName: sent.userName,
      name: sent.name,
      externalId: sent.externalId,
      meta: { resourceType: 'User', location: `http://localhost/scim/v2/${o.id}/Users/${made.json.id}` },
    });
    expect(made.text).not.toContain('1mz050nq');
    expect(made.headers.get('location')).toBe(made.json.meta.location);
    expect((await idp.get(`/Users/${made.json.id}`)).json).toEqual(made.json);
    const again = await idp.post('/Users', sent);
    expect([again.status, again.json.scimType]).toEqual([409, 'uniqueness']);
    const upper = `userName eq "${sent.userName.toUpperCase()}"`;
    const found = await idp.get(`/Users?filter=${encodeURIComponent(upper)}`);
    expect(found.json.Resources.map(({ id }: { id: string }) => id)).toEqual([made.json.id]);
    const groups = await idp.get('/Groups?startIndex=1&count=100');
    expect([groups.status, groups.json.schemas]).toEqual([200, [LIST]]);
  });

  it('SCIM: a wrong token is 401', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    expect((await o.del(`/scim-tokens/${idp.id}`)).status).toBe(204);
    const refused = await idp.get('/Users?count=1');
    expect([refused.status, refused.json]).toEqual([
      401,
      { schemas: [ERROR], detail: expect.stringMatching(/./), status: '401' },
    ]);
  });

  slow('SCIM: Okta suspends without a path, resumes by PUT, and fills groups', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newUser(idp);
    const off = await idp.patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
    expect([off.status, off.json.active]).toEqual([200, false]);
    expect((await o.get(`/members/${id}`)).json.status).toBe('suspended');
    const whole = (await idp.get(`/Users/${id}`)).json;
    const on = await idp.put(`/Users/${id}`, {
      ...whole,
      active: true,
      name: { givenName: 'New', familyName: 'Name' },
      displayName: 'New Name',
    });
    expect(on.json).toMatchObject({ active: true, name: { givenName: 'New', familyName: 'Name' } });
    expect((await o.get(`/members/${id}`)).json).toMatchObject({ name: 'New Name', suspended_at: null });

    const other = await newUser(idp);
    const group = await idp.post('/Groups', {
      schemas: [GROUP],
      displayName: 'Test SCIMv2',
      members: [{ value: id, display: 'x' }],
    });
    expect([group.status, group.json.members.length]).toEqual([201, 1]);
    const path = `/Groups/${group.json.id}`;
    const members = async () =>
      (await idp.get(path)).json.members.map(({ value }: { value: string }) => value);
    await idp.patch(path, { op: 'add', path: 'members', value: [{ value: other.id }] });
    expect((await members()).sort()).toEqual([id, other.id].sort());
    await idp.patch(path, { op: 'remove', path: `members[value eq "${id}"]` });
    expect(await members()).toEqual([other.id]);
    await idp.patch(path, { op: 'replace', value: { id: group.json.id, displayName: 'Renamed' } });
    expect((await o.get(`/teams/${group.json.id}`)).json.name).toBe('Renamed');
    await idp.patch(path, { op: 'replace', path: 'members', value: [{ value: id }] });
    expect(await members()).toEqual([id]);
    expect((await o.get(`/teams/${group.json.id}/members`)).json.data.length).toBe(1);
    expect((await idp.del(path)).status).toBe(204);
    expect((await idp.get(path)).status).toBe(404);
  });
});

describe('SCIM: the validator of Entra', () => {
  it('SCIM: users: filters, PATCH with its spelling, soft and hard deletion', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const find = async (filter: string) =>
      (await idp.get(`/Users?filter=${encodeURIComponent(filter)}`)).json.Resources.map(
        ({ id }: { id: string }) => id,
      );
    expect(await find(`userName eq "${aGuid()}"`)).toEqual([]);
    const sent = person({ externalId: 'ext-1' });
    const { json } = await idp.post('/Users', sent);
    for (const filter of [
      `userName eq "${sent.userName}"`,
      'externalId eq "ext-1"',
      `emails[type eq "work"].value eq "${sent.userName}"`,
      `userName eq "${sent.userName}" and externalId eq "ext-1"`,
      `userName Eq "${sent.userName}" And active eq true`,
      `(userName eq "${sent.userName}")`,
      `externalId eq "\\u0065xt-1"`,
      ` ( (userName eq "${sent.userName}" ) and(externalId eq "ext-1" and (active eq true)) ) `,
      `${'('.repeat(10)}externalId eq "ext-1"${')'.repeat(10)}`,
      Array.from({ length: 20 }, () => '(active eq true)')
        .join(' and ')
        .replace('active eq true', 'externalId eq "ext-1"'),
    ])
      expect(await find(filter), filter).toEqual([json.id]);
    expect(await find(`userName eq "${sent.userName}" and externalId eq "other"`)).toEqual([]);
    expect(await find(`(externalId eq "ext-1") and (userName eq "other")`)).toEqual([]);
    const path = `/Users/${json.id}`;
    const changed = await idp.patch(
      path,
      { op: 'Replace', path: 'displayName', value: 'Brand New' },
      { op: 'Add', path: 'name.familyName', value: 'New' },
      { op: 'Replace', path: 'externalId', value: 'ext-2' },
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'moved@example.com' },
      {
        op: 'Add',
        path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
        value: 'x',
      },
      { op: 'Add', value: { 'name.givenName': 'Brand', 'unknown.attribute': 1 } },
    );
    expect(changed.status, changed.text).toBe(200);
    expect(changed.json).toMatchObject({
      displayName: 'Brand New',
      name: { givenName: 'Brand', familyName: 'New' },
      externalId: 'ext-2',
      emails: [{ value: 'moved@example.com' }],
    });
    expect((await o.get(`/members/${json.id}`)).json).toMatchObject({
      name: 'Brand New',
      email: 'moved@example.com',
    });
    // "False" is false, and the user is still found.
    const off = await idp.patch(path, { op: 'Replace', path: 'active', value: 'False' });
    expect(off.json.active).toBe(false);
    expect(await find('externalId eq "ext-2"')).toEqual([json.id]);
    expect((await o.get(`/members/${json.id}`)).json.status).toBe('suspended');
    expect((await idp.patch(path, { op: 'Replace', path: 'active', value: 'True' })).json.active).toBe(true);
    expect((await idp.del(path)).status).toBe(204);
    expect((await idp.get(path)).status).toBe(404);
    expect((await idp.del(path)).status).toBe(404);
    // What SCIM deleted, SCIM may make again.
    expect((await idp.post('/Users', sent)).status).toBe(201);
  });

  it('SCIM: users: several addresses leave that for work, and empty values clear', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newUser(idp);
    const path = `/Users/${id}`;
    const at = (type: string, part: string) => `emails[type eq "${type}"].${part}`;
    const changed = await idp.patch(
      path,
      { op: 'replace', path: at('work', 'value'), value: 'w@example.com' },
      { op: 'add', path: at('home', 'value'), value: 'h@example.com' },
      { op: 'add', path: at('other', 'value'), value: 'o@example.com' },
      { op: 'replace', path: at('work', 'display'), value: '0TXBC' },
      { op: 'add', path: at('work', 'primary'), value: false },
      { op: 'replace', path: at('home', 'primary'), value: true },
    );
    expect(changed.json.emails).toEqual([{ value: 'w@example.com', type: 'work', primary: true }]);
    expect((await o.get(`/members/${id}`)).json.email).toBe('w@example.com');
    for (const value of ['', null]) {
      const cleared = await idp.patch(
        path,
        ...['displayName', 'externalId', 'name.familyName', 'title'].map((name) => ({
          op: 'Replace',
          path: name,
          value,
        })),
      );
      expect(cleared.status, cleared.text).toBe(200);
      expect(cleared.json).not.toHaveProperty('externalId');
    }
    for (let made = 0; made < 10; made++) await newUser(idp);
    const pages = [1, 6, 11].map((start) => idp.get(`/Users?startIndex=${start}&count=5`));
    const lists = (await Promise.all(pages)).map(({ json }) => json);
    expect(lists.map(({ startIndex, itemsPerPage }) => [startIndex, itemsPerPage])).toEqual([
      [1, 5],
      [6, 5],
      [11, 2],
    ]);
    const ids = lists.flatMap(({ Resources }) => Resources.map((user: { id: string }) => user.id));
    expect(new Set(ids).size).toBe(12);
  });

  it('SCIM: groups: Remove with a list removes those alone', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const ids = [(await newUser(idp)).id, (await newUser(idp)).id, (await newUser(idp)).id];
    const made = await idp.post('/Groups', { schemas: [GROUP], displayName: 'Crew', externalId: 'g-1' });
    expect([made.status, made.json.members]).toEqual([201, []]);
    const path = `/Groups/${made.json.id}`;
    const bare = await idp.get(`${path}?excludedAttributes=members`);
    expect(bare.json).not.toHaveProperty('members');
    const filter = encodeURIComponent('displayName eq "cReW"');
    const listed = await idp.get(`/Groups?excludedAttributes=members&filter=${filter}`);
    expect(listed.json.Resources.map(({ id }: { id: string }) => id)).toEqual([made.json.id]);
    const list = (...some: string[]) => some.map((value) => ({ value }));
    await idp.patch(path, { op: 'Add', path: 'members', value: list(...ids) });
    const members = async () =>
      (await idp.get(path)).json.members.map(({ value }: { value: string }) => value).sort();
    expect(await members()).toEqual([...ids].sort());
    await idp.patch(path, { op: 'Remove', path: 'members', value: list(ids[0] as string) });
    expect(await members()).toEqual([...ids.slice(1)].sort());
    await idp.patch(path, { op: 'Replace', path: 'displayName', value: 'Crew 2' });
    expect((await idp.get(path)).json.displayName).toBe('Crew 2');
    const again = await idp.post('/Groups', { displayName: 'CREW 2' });
    expect([again.status, again.json.scimType]).toEqual([409, 'uniqueness']);
    await idp.patch(path, { op: 'Remove', path: 'members' });
    expect(await members()).toEqual([]);
  });

  slow('SCIM: discovery says what is supported, 405 before 415', async () => {
    const idp = await newIdp(await newOrg());
    const { json: config } = await idp.get('/ServiceProviderConfig');
    expect(config).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
      filter: { maxResults: 200 },
    });
    const { json: schemas } = await idp.get('/Schemas');
    expect(schemas.Resources.map(({ id }: { id: string }) => id)).toEqual([USER, GROUP]);
    expect(
      (await idp.get(`/Schemas/${USER}`)).json.attributes.find(
        ({ name }: { name: string }) => name === 'emails',
      ).required,
    ).toBe(true);
    const emails = schemas.Resources[0].attributes.find(({ name }: { name: string }) => name === 'emails');
    // Entra makes `emails[type eq "work"].value` of it.
    expect(
      emails.subAttributes.find(({ name }: { name: string }) => name === 'type').canonicalValues,
    ).toEqual(['work']);
    const members = schemas.Resources[1].attributes.find(({ name }: { name: string }) => name === 'members');
    // Clients fill what can be written.
    expect(members.subAttributes.map((one: Record<string, unknown>) => [one.name, one.mutability])).toEqual([
      ['value', 'immutable'],
      ['display', 'readOnly'],
      ['$ref', 'immutable'],
      ['type', 'immutable'],
    ]);
    expect((await idp.get('/ResourceTypes')).json.totalResults).toBe(2);
    expect((await idp.get('/ResourceTypes/Nothing')).status).toBe(404);
    expect((await idp.call('POST', '/Schemas', {}, { 'Content-Type': 'text/plain' })).status).toBe(405);
    expect((await idp.call('POST', '/Users', 'x', { 'Content-Type': 'text/plain' })).status).toBe(415);
    expect((await idp.get('/Me')).status).toBe(404);
    expect((await idp.post('/.search', {})).status).toBe(404);
    expect((await idp.call('DELETE', '/Users')).status).toBe(405);
  });
});
