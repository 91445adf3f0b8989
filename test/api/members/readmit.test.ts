// Members whom a person removed: SCIM makes none of them anew until an owner readmits the address.
import { describe, expect, it } from 'vitest';
import { signIn } from '../../support/browser';
import { newKey } from '../../support/credentials';
import { newMember } from '../../support/people';
import { newIdp, newUser, person } from '../../support/scim';
import { codeOf, newOrg, useWorld } from '../../support/world';

useWorld();

const at = (email: string) => ({ userName: email, emails: [{ primary: true, value: email }] });

describe('readmission', () => {
  it('SCIM: a member whom a person removed is not made anew, by creation or by a new address', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const { id } = await newMember(o, 'developer', { email: 'Eve@example.com' });
    expect((await o.del(`/members/${id}`)).status).toBe(200);
    const refused = await idp.post('/Users', person(at('eve@EXAMPLE.com')));
    expect([refused.status, refused.json.scimType]).toEqual([409, 'uniqueness']);
    const other = await newUser(idp);
    const moved = await idp.put(`/Users/${other.id}`, person(at('eve@example.com')));
    expect([moved.status, moved.json.scimType]).toEqual([409, 'uniqueness']);
    expect((await o.post('/members/readmit', { email: 'EVE@example.com' })).status).toBe(204);
    expect((await idp.post('/Users', person(at('eve@example.com')))).status).toBe(201);
    expect(codeOf(await o.post('/members/readmit', { email: 'eve@example.com' }))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('SCIM: a user whom a person suspended is not made anew, by removal or by a new address', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const user = person();
    const { id } = (await idp.post('/Users', user)).json;
    expect((await o.post(`/members/${id}/suspend`)).status).toBe(200);
    const moved = await idp.put(`/Users/${id}`, { ...user, ...at('moved@example.com') });
    expect([moved.status, moved.json.scimType]).toEqual([400, 'mutability']);
    expect((await o.get(`/members/${id}`)).json.email).toBe(user.userName);
    expect((await idp.del(`/Users/${id}`)).status).toBe(204);
    const again = await idp.post('/Users', user);
    expect([again.status, again.json.scimType]).toEqual([409, 'uniqueness']);
    expect((await o.post('/members/readmit', { email: user.userName })).status).toBe(204);
    expect((await idp.post('/Users', user)).status).toBe(201);
  });

  it('SCIM: a user whom SCIM itself removed is made anew', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    const user = person();
    const { id } = (await idp.post('/Users', user)).json;
    expect((await idp.del(`/Users/${id}`)).status).toBe(204);
    expect((await idp.post('/Users', user)).status).toBe(201);
  });

  it('readmission: an address is remembered through a second invitation and removal', async () => {
    const o = await newOrg();
    const idp = await newIdp(o);
    for (let i = 0; i < 2; i++) {
      const { id } = await newMember(o, 'developer', { email: 'eve@example.com' });
      expect((await o.del(`/members/${id}`)).status).toBe(200);
    }
    expect((await idp.post('/Users', person(at('eve@example.com')))).status).toBe(409);
    expect((await o.post('/members/readmit', { email: 'eve@example.com' })).status).toBe(204);
    expect((await idp.post('/Users', person(at('eve@example.com')))).status).toBe(201);
  });

  it('readmission: an owner does it, for their own organisation alone', async () => {
    const [o, other] = await Promise.all([newOrg(), newOrg()]);
    const { id } = await newMember(o, 'developer', { email: 'eve@example.com' });
    await o.del(`/members/${id}`);
    const body = { email: 'eve@example.com' };
    expect(codeOf(await other.post('/members/readmit', body))).toEqual([404, 'NOT_FOUND']);
    const key = await newKey(o, { scopes: ['members:write'] });
    expect((await key.o.post('/members/readmit', body)).status).toBe(403);
    const admin = await signIn(o, 'admin');
    expect((await admin.o.post('/members/readmit', body)).status).toBe(403);
    for (const wrong of [{}, { email: 'eve' }, { ...body, more: 1 }])
      expect(codeOf(await o.post('/members/readmit', wrong))).toEqual([400, 'VALIDATION_FAILED']);
    expect((await o.post('/members/readmit', body)).status).toBe(204);
  });
});
