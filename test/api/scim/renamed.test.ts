// Names of groups decide roles, so people do not rename the teams that SCIM made for a connection.
import { afterEach, expect, it, vi } from 'vitest';
import { newKey } from '../../support/credentials';
import { newIdp, newUser } from '../../support/signin/scim';
import { claimsOf, connected, deleteConnection, newSsoBrowser } from '../../support/signin/sso-signin';
import { codeOf, useWorld } from '../../support/world';

useWorld();
afterEach(() => vi.unstubAllGlobals());

it('attack: a group gives no other role because somebody renames its team', async () => {
  const { o, provider, at, connection } = await connected({
    default_role: 'viewer',
    role_mappings: [{ group: 'ops', role: 'admin' }],
  });
  const idp = await newIdp(o, { connection_id: connection });
  const userName = at('bea');
  const user = await newUser(idp, { userName, emails: [{ primary: true, value: userName, type: 'work' }] });
  const team = (await idp.post('/Groups', { displayName: 'everyone', members: [{ value: user.id }] })).json
    .id;
  const eve = await newKey(o, { scopes: ['teams:*'] });
  const renamed = await eve.o.patch(`/teams/${team}`, { name: 'ops' });
  await newSsoBrowser().signIn(provider, claimsOf(userName));
  expect((await o.get(`/members/${user.id}`)).json.role).toBe('viewer');
  expect(codeOf(renamed)).toEqual([409, 'CONFLICT']);
  // The provider may, and people once nobody signs in by the connection.
  expect(
    (await idp.patch(`/Groups/${team}`, { op: 'replace', path: 'displayName', value: 'all' })).status,
  ).toBe(200);
  await deleteConnection(o, connection);
  expect((await o.patch(`/teams/${team}`, { name: 'ops' })).status).toBe(200);
});
