// The kinds of credentials: their labels, their API operations, and a common shape.
import type { components } from '@secrets-vault/client';
import { at, here, vault } from '../../requests/api';
import type { Header, Resource } from '../../requests/seen';

type Schemas = components['schemas'];
export type Kind = 'api_key' | 'agent' | 'trust' | 'provider' | 'session' | 'break_glass';
export type Trust = Schemas['Trust'];

/** The common fields of all credentials. */
export interface Credential {
  kind: Kind;
  id: string;
  name: string;
  hint: string;
  scopes: string[];
  /** null if unrestricted. */
  environments: string[] | null;
  secrets: string[] | null;
  addresses: string[] | null;
  /** Requests per minute. */
  rate: number | null;
  madeBy: string;
  parent: string | null;
  device: string | null;
  /** Of an agent: the options that `svc mcp` may have. */
  mcp?: string[];
  created: string;
  ends: string | null;
  revoked: string | null;
  successor: string | null;
  lastUsed: string | null;
  uses: number;
  place: string | null;
  /** As the API shows it. */
  resource: Resource;
  /** For a trust: the identities it accepts. */
  trust?: Trust;
}

export interface About {
  label: string;
  plural: string;
  /** The prefix of its ids. */
  prefix: string;
  /** Its purpose, in a sentence. */
  lead: string;
  /** The text of its empty list. */
  none: string;
}

export const kinds: Record<Kind, About> = {
  api_key: {
    label: 'API key',
    plural: 'API keys',
    prefix: 'key',
    lead: 'For your own servers. A program exchanges it for short-lived session tokens.',
    none: 'Create one for each program, with only the permissions it needs.',
  },
  agent: {
    label: 'Agent',
    plural: 'Agents',
    prefix: 'agt',
    lead: 'For AI agents and automations. Each can read only the secrets you allow, at the rate you allow.',
    none: 'Create one for each agent, with the names it may read.',
  },
  trust: {
    label: 'Trust',
    plural: 'Workload identity',
    prefix: 'trs',
    lead: 'For CI jobs, such as GitHub Actions, and workloads with an OIDC identity. They need no stored key.',
    none: 'Create a trust for a repository or service account to let its jobs sign in without a stored key.',
  },
  provider: {
    label: 'Provider token',
    plural: 'Provider tokens',
    prefix: 'prv',
    lead: 'For a service that issues secrets into this vault. It can write values but never read them.',
    none: 'Create one for a service that issues, rotates or revokes secrets automatically.',
  },
  session: {
    label: 'Session token',
    plural: 'Session tokens',
    prefix: 'tok',
    lead: 'Short-lived tokens that programs get with an API key or a trust. They are revoked together with it.',
    none: 'Programs create them with an API key or a trust. Valid tokens are listed here.',
  },
  break_glass: {
    label: 'Break-glass token',
    plural: 'Break-glass tokens',
    prefix: 'bgt',
    lead: 'For emergencies: gives access to every secret for a few hours. Owners are notified when one is created and used.',
    none: 'There is no emergency access right now.',
  },
};

/** The label of a kind within a sentence. */
export const nameOf = (kind: Kind): string =>
  kinds[kind].label.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());

export const kindOf = (id: string): Kind | undefined =>
  (Object.keys(kinds) as Kind[]).find((kind) => id.startsWith(`${kinds[kind].prefix}_`));

type Shown = Schemas['ApiKey'] | Schemas['Agent'] | Schemas['ProviderToken'] | Schemas['BreakGlass'];

const optionsOf = ({
  bindings,
  hosts,
  run,
  commands,
  read,
}: NonNullable<Schemas['Agent']['mcp_limits']>): string[] => [
  ...bindings.map((binding) => `--bind ${binding}`),
  ...hosts.map((host) => `--allow-host ${host}`),
  ...(run ? ['--allow-run', ...(commands ?? []).map((program) => `--allow-command ${program}`)] : []),
  ...(read ? ['--allow-read'] : []),
];

/** An API key, agent, provider or break-glass token as `Credential`. */
const shownAs =
  (kind: Kind) =>
  (row: Shown): Credential => ({
    kind,
    id: row.id,
    name: 'reason' in row ? row.reason : row.name,
    hint: row.hint,
    scopes: row.scopes,
    environments: 'environments' in row ? row.environments : null,
    secrets: 'secrets' in row ? row.secrets : null,
    addresses: row.allowed_addresses,
    rate: row.rate_limit,
    madeBy: row.created_by,
    parent: row.parent_id,
    device: row.device_id,
    created: row.created_at,
    ends: 'expires_at' in row ? row.expires_at : null,
    revoked: row.revoked_at,
    successor: 'successor_id' in row ? row.successor_id : null,
    ...('mcp_limits' in row && row.mcp_limits && { mcp: optionsOf(row.mcp_limits) }),
    lastUsed: row.last_used_at,
    uses: row.use_count,
    place: row.last_used_place,
    resource: row,
  });

const sessionShown =
  (names: Map<string, string>) =>
  (row: Schemas['AccessToken']): Credential => ({
    kind: 'session',
    id: row.id,
    name: `Session of ${names.get(row.parentId) ?? row.parentId}`,
    hint: row.hint,
    scopes: row.scopes,
    environments: null,
    secrets: null,
    addresses: row.allowedAddresses,
    rate: null,
    madeBy: row.parentId,
    parent: row.parentId,
    device: row.device_id,
    created: row.createdAt,
    ends: row.expiresAt,
    revoked: null,
    successor: null,
    lastUsed: row.lastUsedAt,
    uses: row.useCount,
    place: row.lastUsedPlace,
    resource: row,
  });

const trustShown = (row: Trust): Credential => ({
  kind: 'trust',
  id: row.id,
  name: row.name,
  hint: URL.parse(row.issuer)?.host ?? row.issuer,
  scopes: row.scopes,
  environments: row.environments,
  secrets: row.secrets,
  addresses: row.allowed_addresses,
  rate: null,
  device: null,
  madeBy: row.created_by,
  parent: row.parent_id,
  created: row.created_at,
  ends: row.expires_at,
  revoked: null,
  successor: null,
  lastUsed: row.last_used_at,
  uses: row.use_count,
  place: row.last_used_place,
  resource: row,
  trust: row,
});

interface Page {
  data: Credential[];
  next_cursor: string | null;
  has_more: boolean;
}

const paths = {
  api_key: '/orgs/{org_id}/api-keys',
  agent: '/orgs/{org_id}/agent-credentials',
  provider: '/orgs/{org_id}/provider-tokens',
  break_glass: '/orgs/{org_id}/break-glass-tokens',
} as const;

/** A page of the credentials of a kind. */
export async function readPage(
  kind: Kind,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ data: Page }> {
  const init = { params: { path: here(), query: { limit: 100, cursor } }, signal };
  const { api } = vault();
  if (kind === 'session') {
    const [{ data }, keys] = await Promise.all([
      api.GET('/orgs/{org_id}/access-tokens', init),
      readPage('api_key', undefined, signal),
    ]);
    const names = new Map(keys.data.data.map(({ id, name }) => [id, name]));
    return { data: { ...data, data: data.data.map(sessionShown(names)) } };
  }
  if (kind === 'trust') {
    const { data } = await api.GET('/orgs/{org_id}/trusts', init);
    return { data: { ...data, data: data.data.map(trustShown) } };
  }
  const { data } = (await api.GET(paths[kind] as '/orgs/{org_id}/api-keys', init)) as {
    data: Omit<Page, 'data'> & { data: Shown[] };
  };
  return { data: { ...data, data: data.data.map(shownAs(kind)) } };
}

/** One credential; null if it does not exist. If the API cannot read a single one, the list is read. */
export async function readOne(id: string, signal: AbortSignal): Promise<{ data: Credential | null }> {
  const kind = kindOf(id);
  const init = { params: { path: { ...here(), id } }, signal };
  if (kind === 'api_key')
    return { data: shownAs(kind)((await vault().api.GET('/orgs/{org_id}/api-keys/{id}', init)).data) };
  if (kind === 'agent')
    return {
      data: shownAs(kind)((await vault().api.GET('/orgs/{org_id}/agent-credentials/{id}', init)).data),
    };
  if (kind === 'trust')
    return { data: trustShown((await vault().api.GET('/orgs/{org_id}/trusts/{id}', init)).data) };
  let cursor: string | undefined;
  while (kind) {
    const { data } = await readPage(kind, cursor, signal);
    const found = data.data.find((row) => row.id === id);
    if (found) return { data: found };
    if (!data.next_cursor) break;
    cursor = data.next_cursor;
  }
  return { data: null };
}

/** Revokes a credential. */
export function revoke(kind: Kind, id: string, header?: Header): Promise<unknown> {
  const init = at(id, header);
  const { api } = vault();
  if (kind === 'session') return api.DELETE('/orgs/{org_id}/access-tokens/{id}', at(id));
  if (kind === 'agent') return api.DELETE('/orgs/{org_id}/agent-credentials/{id}', init);
  if (kind === 'provider') return api.DELETE('/orgs/{org_id}/provider-tokens/{id}', init);
  if (kind === 'trust') return api.DELETE('/orgs/{org_id}/trusts/{id}', init);
  if (kind === 'break_glass') return api.DELETE('/orgs/{org_id}/break-glass-tokens/{id}', init);
  return api.DELETE('/orgs/{org_id}/api-keys/{id}', init);
}

export type Status = 'active' | 'expired' | 'revoked';

export const statusOf = ({ revoked, ends }: Credential): Status =>
  revoked && Date.parse(revoked) <= Date.now()
    ? 'revoked'
    : ends && Date.parse(ends) <= Date.now()
      ? 'expired'
      : 'active';
