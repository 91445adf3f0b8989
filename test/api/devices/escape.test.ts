// No way out: whatever a credential that is bound to a device does, and whatever it gets by that, nothing of
// it works without the device, and all of it ends with the device.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { newMember, newTeam } from '../../support/people';
import { newDevice, newKeyPair, proofOf, provenBy, WHOAMI, whoamiBy } from '../../support/signin/device';
import { runs } from '../../support/slow';
import { type Answer, type Caller, codeOf, newOrg, useWorld } from '../../support/world';

useWorld();

const steps = [
  'agent',
  'agent of another device',
  'key',
  'provider',
  'break-glass',
  'session',
  'rotate',
  'rotate another',
  'widen another',
  'grant',
  'grant to a team',
  'invite',
  'promote',
  'fill a team',
  'register and bind',
] as const;

it('DPoP: anything that a bound credential creates works only with its device, and is revoked with it', async () => {
  const step = fc.record({ what: fc.constantFrom(...steps), by: fc.nat(20) });
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(step, { minLength: 6, maxLength: 20 }),
      async (isAgent, taken) => {
        const o = await newOrg();
        const { id: device_id, keys } = await newDevice(o);
        const accomplice = await newMember(o, 'viewer');
        const team = await newTeam(o, accomplice.id);
        const outside = {
          key: await newKey(o, { scopes: ['org:read'] }),
          agent: await newAgent(o, { scopes: ['org:read'] }),
        };
        const standing = async () => (await o.get('/members')).text + (await o.get('/grants')).text;
        const stood = await standing();
        const { token } = isAgent
          ? await newAgent(o, { scopes: ['*'], device_id })
          : await newSession(o, { device_id });
        const own = await newDevice(o);
        const held: { token: string; id: string }[] = [{ token, id: '' }];

        const take = async (
          by: ReturnType<typeof provenBy>,
          what: (typeof steps)[number],
          id: string,
        ): Promise<Answer> => {
          switch (what) {
            case 'agent':
              return by.post('/agent-credentials', { name: 'a', scopes: ['*'] });
            case 'agent of another device':
              return by.post('/agent-credentials', { name: 'a', scopes: ['*'], device_id: own.id });
            case 'key':
              return by.post('/api-keys', { name: 'k', scopes: ['*'] });
            case 'provider':
              return by.post('/provider-tokens', { name: 'p', scopes: ['issue'] });
            case 'break-glass':
              return by.post('/break-glass-tokens', { reason: 'the database is down' });
            case 'session':
              return by.post('/access-tokens', { ttlSeconds: 60 });
            case 'rotate':
              return by.post(`/api-keys/${id}/rotate`, { overlap_seconds: 60 });
            case 'rotate another':
              return by.post(`/api-keys/${outside.key.id}/rotate`, { overlap_seconds: 60 });
            case 'widen another':
              return by.patch(`/agent-credentials/${outside.agent.id}`, { scopes: ['*'], ttlSeconds: null });
            case 'grant':
              return by.post('/grants', {
                grantee: { type: 'member', id: accomplice.id },
                permission: 'read',
              });
            case 'grant to a team':
              return by.post('/grants', { grantee: { type: 'team', id: team }, permission: 'write' });
            case 'invite':
              return by.post('/members', { email: 'thief@example.com', name: 'T', role: 'owner' });
            case 'promote':
              return by.patch(`/members/${accomplice.id}`, { role: 'admin' });
            case 'fill a team':
              return by.post(`/teams/${team}/members`, { member_id: accomplice.id });
            default: {
              const { jwk } = await newKeyPair('EdDSA');
              const made = await by.post('/devices', { name: 'd', platform: 'p', public_key: jwk });
              return by.post('/agent-credentials', { name: 'a', scopes: ['*'], device_id: made.json.id });
            }
          }
        };
        for (const { what, by } of taken) {
          const one = held[by % held.length] as (typeof held)[number];
          const { json } = await take(provenBy(o.as(one.token) as Caller, keys), what, one.id);
          if (json?.token) held.push({ token: json.token, id: json.id });
        }

        expect(await standing()).toBe(stood);
        expect((await outside.agent.o.get('/secrets')).status).toBe(403);
        for (const each of held) {
          expect(codeOf(await whoamiBy(each.token, null))).toEqual([401, 'DEVICE_PROOF_REQUIRED']);
          expect(
            codeOf(await whoamiBy(each.token, await proofOf(own.keys, each.token, 'GET', WHOAMI))),
          ).toEqual([401, 'DEVICE_PROOF_INVALID']);
        }
        await o.post(`/devices/${device_id}/block`);
        for (const each of held)
          expect(codeOf(await whoamiBy(each.token, await proofOf(keys, each.token, 'GET', WHOAMI)))).toEqual([
            401,
            'TOKEN_REVOKED',
          ]);
      },
    ),
    { numRuns: runs(10, 3) },
  );
});
