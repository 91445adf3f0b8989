// Every page of the console, and an organisation with content for each page: all its texts are hostile.
// Invariant: a page that is added to src/pages.ts is visited too, or a test reports that its address is
// missing here.
import fs from 'node:fs';
import { call } from '../../../../test/packages/vault.mjs';
import type { Person } from './person.ts';

/** Every path in the list of pages. Parsed as text, because its modules need a browser. */
export const paths = [
  ...fs.readFileSync(new URL('../../src/pages.ts', import.meta.url), 'utf8').matchAll(/path: '([^']+)'/g),
].map(([, path]) => path as string);

/**
 * Markup that would run, a break out of an attribute, right-to-left and stacked text, and an endless word.
 */
const MARKUP = `"><img src=x onerror="window.hacked='img'"><script>window.hacked='script'</script><a href="javascript:window.hacked='a'">x</a>{{7*7}}`;
export const HOSTILE = `${MARKUP} שלום مرحبا Z̷̧̛͈̹͕̮͉̱a̸̡͓l̴̛g̶o ${'W'.repeat(40)}`;
const LONG = `${HOSTILE}${'W'.repeat(255)}`.slice(0, 250);

export interface Ids {
  [path: string]: string;
}

async function withCredentials({ api, url, org }: Person): Promise<Record<string, string>> {
  const { id, token } = await api('POST', '/api-keys', {
    name: LONG,
    scopes: ['secrets:read', 'tokens:write'],
  });
  await api('POST', '/agent-credentials', { name: LONG, scopes: ['secrets:read'] });
  await api('POST', '/provider-tokens', { name: LONG, scopes: ['issue'], environments: ['production'] });
  await api('POST', '/break-glass-tokens', { reason: `${HOSTILE} ${LONG}` });
  await api('POST', '/trusts', {
    name: LONG,
    issuer: 'https://token.actions.githubusercontent.com',
    audiences: [`https://vault.example.com/${encodeURIComponent(HOSTILE)}`.slice(0, 400)],
    claims: { repository: HOSTILE },
    scopes: ['secrets:read'],
  });
  await call(url, token, 'POST', `/orgs/${org}/access-tokens`, { ttlSeconds: 900 });
  return { id, token };
}

/** A user agent and a reason are headers: any bytes that they may contain are in the audit log. */
async function asHostileClient({ url, org }: Person, token: string, at: string): Promise<void> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'User-Agent': `"><img src=x onerror="window.hacked='agent'"> ${'A'.repeat(300)}`,
    'X-Access-Reason': MARKUP,
  };
  const answer = await fetch(`${url}/api/v1/orgs/${org}${at}`, { headers });
  await answer.arrayBuffer();
}

async function withPeople({ api }: Person): Promise<Record<string, string>> {
  const member = await api('POST', '/members', {
    name: LONG,
    email: `a${'w'.repeat(50)}@example.com`,
    role: 'developer',
  });
  const team = await api('POST', '/teams', { name: LONG });
  await api('POST', `/teams/${team.id}/members`, { member_id: member.id });
  await api('POST', '/grants', {
    grantee: { type: 'team', id: team.id },
    permission: 'read',
    secrets: ['BILLING_*'],
  });
  await api('POST', '/devices', {
    name: LONG,
    platform: HOSTILE.slice(0, 60),
    serial: HOSTILE.slice(0, 120),
  });
  return { member: member.id, team: team.id };
}

async function withGovernance({ api, url, org }: Person, token: string): Promise<Record<string, string>> {
  const held = await api('POST', '/secrets', {
    name: 'HELD',
    type: 'generic',
    value: 'x',
    environment: 'staging',
    description: HOSTILE,
  });
  const policy = await api('POST', '/policies', {
    name: LONG,
    kind: 'approval',
    applies_to: { names: ['HELD'] },
    config: { operations: ['secret.read'], required: 1, approvers: { role: 'owner' } },
  });
  await api('POST', '/policies', { name: LONG, kind: 'naming', config: { pattern: '^[A-Z_]+$' } });
  await fetch(`${url}/api/v1/orgs/${org}/secrets/${held.id}`, {
    headers: { Authorization: `Bearer ${token}`, 'X-Access-Reason': MARKUP },
  });
  const { data } = await api('GET', '/approvals');
  return { policy: policy.id, approval: data[0].id };
}

async function withIntegrations({ api }: Person): Promise<Record<string, string>> {
  const webhook = await api('POST', '/webhooks', {
    url: 'http://127.0.0.1:9997/hook',
    events: '*',
    description: LONG,
  });
  // Nobody listens there: the run fails, and says so.
  const cluster = {
    apiServer: 'http://127.0.0.1:9998',
    token: 'kube-token',
    namespace: 'demo',
    secretName: 'app',
  };
  const connection = await api('POST', '/integrations', {
    kind: 'sync',
    platform: 'kubernetes',
    name: LONG,
    config: cluster,
  });
  await api('POST', '/integrations', {
    kind: 'notify',
    platform: 'webhook',
    name: LONG,
    config: { url: 'http://127.0.0.1:9997/notify' },
  });
  const run = await api('POST', '/integrations/sync', {
    integrationId: connection.id,
    environmentId: 'production',
  });
  const logStream = await api('POST', '/log-streams', {
    name: 'SIEM',
    kind: 'https',
    config: { url: 'https://siem.example.com/audit' },
    enabled: false,
  });
  await api('POST', '/secrets', { name: 'UPSTREAM_KEY', type: 'api_key', value: 'x'.repeat(40) });
  const upstream = await api('POST', '/upstreams', {
    name: 'w'.repeat(63),
    base_url: `https://${'w'.repeat(60)}.example.com`,
    environment: 'production',
    auth: [{ type: 'header', name: 'Authorization', value: 'Bearer {{UPSTREAM_KEY}}' }],
    allow: [{ methods: ['GET', 'POST'], paths: [`/${'w'.repeat(120)}`, '/v1/*'] }],
  });
  return {
    upstream: upstream.id,
    webhook: webhook.id,
    logStream: logStream.id,
    connection: connection.id,
    run: run.syncId,
  };
}

/** A contained key, whose session read a secret. */
async function withIncident({ api, url, org }: Person, secret: string): Promise<string> {
  const { id, token } = await api('POST', '/api-keys', {
    name: LONG,
    scopes: ['secrets:read', 'tokens:write'],
  });
  const session = await call(url, token, 'POST', `/orgs/${org}/access-tokens`, { ttlSeconds: 900 });
  await call(url, session.token, 'GET', `/orgs/${org}/secrets/${secret}`);
  const { incident_id } = await api('POST', `/credentials/${id}/contain`, {});
  await api('PATCH', `/incidents/${incident_id}`, { note: HOSTILE });
  return incident_id;
}

/** Fills an organisation. @returns the address of every page */
export async function fill(person: Person): Promise<string[]> {
  const { api } = person;
  const secret = await api('POST', '/secrets', {
    name: `BILLING_${'W'.repeat(120)}/KEY`,
    type: 'generic',
    value: MARKUP,
    description: HOSTILE,
    tags: { owner: HOSTILE.slice(0, 200) },
  });
  await api('POST', `/secrets/${secret.id}/share`, {
    kind: 'link',
    expires_in: 3600,
    max_views: 1,
    passphrase: HOSTILE,
  });
  await api('POST', '/environments', { name: LONG, slug: 'hostile' });
  const credential = await withCredentials(person);
  const people = await withPeople(person);
  await asHostileClient(person, credential.token ?? '', `/secrets/${secret.id}`);
  const governance = await withGovernance(person, credential.token ?? '');
  const integrations = await withIntegrations(person);
  await api('POST', '/domains', { domain: `${'w'.repeat(60)}.${'w'.repeat(60)}.example.com` });
  await api('POST', '/scim-tokens', { name: LONG });
  await api('PATCH', '', { name: LONG });
  const ids: Ids = {
    '/secrets/:id': secret.id,
    '/credentials/:id': credential.id ?? '',
    '/blast/:id': credential.id ?? '',
    '/incident/:id': credential.id ?? '',
    '/incident/report/:id': await withIncident(person, secret.id),
    '/members/:id': people.member ?? '',
    '/teams/:id': people.team ?? '',
    '/policies/:id': governance.policy ?? '',
    '/approvals/:id': governance.approval ?? '',
    '/syncs/:id': integrations.run ?? '',
    '/syncs/connections/:id': integrations.connection ?? '',
    '/notifications/:id': integrations.connection ?? '',
    '/webhooks/:id': integrations.webhook ?? '',
    '/upstreams/:id': integrations.upstream ?? '',
    '/log-streams/:id': integrations.logStream ?? '',
  };
  return [...paths.map((path) => addressOf(path, ids)), ...tabsOf(ids)];
}

function addressOf(path: string, ids: Ids): string {
  if (!path.includes(':')) return path;
  const id = ids[path];
  if (!id) throw new Error(`test/support/everything.ts has no address for the page ${path}: add one`);
  return path.replace(/:\w+/, id);
}

/** Tabs, which are like pages but not in the list of pages. */
const tabsOf = (ids: Ids): string[] => [
  `/blast/${ids['/members/:id']}`,
  ...['history', 'readers', 'shares'].map((tab) => `/secrets/${ids['/secrets/:id']}?tab=${tab}`),
  ...['environments', 'sign-in', 'audit', 'deployment'].map((tab) => `/settings?tab=${tab}`),
];
