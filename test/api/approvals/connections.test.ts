// Approvals of connections to identity providers and of their SCIM tokens: deciders see who gets what, and
// an approval ends once that is more.
import { expect, it } from 'vitest';
import {
  approvalIn,
  newApprovalPolicy,
  newOffice,
  plantApproval,
  under,
} from '../../support/governance/approvals';
import { newTeam } from '../../support/people';
import { addConnection } from '../../support/signin/sso';
import { type Caller, codeOf, useWorld } from '../../support/world';

useWorld();

const detailsOf = async (o: Caller, id: string) =>
  Object.fromEntries(
    (await o.get(`/approvals/${id}`)).json.shown.map(({ name, value }: Record<string, string>) => [
      name,
      value,
    ]),
  );

it('approval: deciders are shown to which groups a connection gives what', async () => {
  const { o, ann } = await newOffice();
  const team = await newTeam(o);
  const connection = await addConnection(o);
  await newApprovalPolicy(o, ['member.change']);
  const { id } = approvalIn(
    await ann.o.patch(`/sso-connections/${connection}`, {
      default_role: 'developer',
      role_mappings: [{ group: 'everyone', role: 'admin', environments: ['production'] }],
      team_mappings: [{ group: 'all', team_id: team }],
    }),
  );
  const name = (await o.get(`/teams/${team}`)).json.name;
  const details = await detailsOf(ann.o, id);
  expect(details).toMatchObject({
    'Role without a group after': 'developer in all',
    'Roles of groups after': '["everyone: admin in production"]',
    'Teams of groups after': `["all: ${name}"]`,
  });
  expect(details).not.toHaveProperty('Issuer after');
});

it('approval: many domains hide none from those who decide', async () => {
  const { o, ann } = await newOffice();
  // Of a domain that is not there, the id is shown.
  const domains = Array.from({ length: 100 }, (_, n) => `dom_${n}`.padEnd(200, 'x'));
  const connection_id = await addConnection(o, { domains, default_role: 'admin' });
  await newApprovalPolicy(o, ['member.change']);
  const held = await ann.o.post('/scim-tokens', { name: 'okta', connection_id });
  const details = await detailsOf(ann.o, approvalIn(held).id);
  expect(Object.values(details).join('')).toContain(domains.join(', '));
});

it('approval: many groups hide none from those who decide', async () => {
  const { o, ann } = await newOffice();
  const connection = await addConnection(o);
  await newApprovalPolicy(o, ['member.change']);
  const given = (count: number) =>
    ann.o.patch(`/sso-connections/${connection}`, {
      role_mappings: Array.from({ length: count }, (_, n) => ({
        group: `${n}`.padEnd(250, 'x'),
        role: n === count - 1 ? 'admin' : 'viewer',
        environments: ['production', 'staging', 'development'],
      })),
    });
  const details = await detailsOf(ann.o, approvalIn(await given(60)).id);
  expect(Object.values(details).join('')).toContain(`${'59'.padEnd(250, 'x')}: admin`);
  expect(codeOf(await given(100))).toEqual([403, 'APPROVAL_REQUIRED']);
  const long = { environments: [] as string[] };
  for (let n = 0; n < 20; n++)
    long.environments.push(
      (await o.post('/environments', { name: 'e', slug: `e-${n}`.padEnd(40, 'x') })).json.slug,
    );
  const mapping = { group: 'g', role: 'viewer', ...long };
  const role_mappings = Array.from({ length: 80 }, (_, n) => ({ ...mapping, group: `g${n}` }));
  expect(codeOf(await ann.o.patch(`/sso-connections/${connection}`, { role_mappings }))).toEqual([
    409,
    'LIMIT_REACHED',
  ]);
});

it('approval: one of a SCIM token is void once a team of its connection gives more', async () => {
  const { o, ann } = await newOffice();
  const team = await newTeam(o);
  const connection = await addConnection(o);
  const path = `/sso-connections/${connection}`;
  await ann.o.patch(path, { team_mappings: [{ group: 'all', team_id: team }] });
  await newApprovalPolicy(o, ['team.change']);
  const ask = (headers = {}) =>
    ann.o.post('/scim-tokens', { name: 'idp', connection_id: connection }, headers);
  const { id } = approvalIn(await ask());
  expect(await detailsOf(ann.o, id)).toHaveProperty('Teams of groups');
  await plantApproval(o, id);
  const granted = await o.post('/grants', { grantee: { type: 'team', id: team }, permission: 'read' });
  expect(granted.status).toBe(201);
  expect((await ann.o.get(`/approvals/${id}`)).json.status).toBe('void');
  expect(codeOf(await ask(under(id)))).toEqual([409, 'APPROVAL_MISMATCH']);
});
