// Members whom a person removed: SCIM makes none of them anew until an owner readmits the address.
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { formerQuota } from '../../../src/domains/members/gate/former';
import { newKey } from '../../support/credentials';
import { newMember } from '../../support/people';
import { signIn } from '../../support/signin/browser';
import { newIdp, newUser, person } from '../../support/signin/scim';
import { claimsOf, connected, newSsoBrowser } from '../../support/signin/sso-signin';
import { codeOf, newOrg, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

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

  it('readmission: past the most addresses that are remembered, nobody is added until one is readmitted', async () => {
    const { o, provider, at: address } = await connected({ jit: 1 });
    const { most } = formerQuota;
    formerQuota.most = 1;
    onTestFinished(() => {
      formerQuota.most = most;
    });
    const first = await newMember(o);
    const second = await newMember(o);
    expect((await o.del(`/members/${first.id}`)).status).toBe(200);
    const invited = () => o.post('/members', { email: 'x@example.com', name: 'X', role: 'viewer' });
    expect(codeOf(await invited())).toEqual([409, 'LIMIT_REACHED']);
    expect((await (await newIdp(o)).post('/Users', person())).status).toBe(409);
    expect((await newSsoBrowser().signIn(provider, claimsOf(address('bea')))).status).toBe(403);
    // A removal is never refused.
    expect((await o.del(`/members/${second.id}`)).status).toBe(200);
    for (const { email } of [first, second])
      expect((await o.post('/members/readmit', { email })).status).toBe(204);
    expect((await invited()).status).toBe(201);
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
