// The members and teams of the organisation, by id: pages show names instead of ids. Invariant: a member
// without permission to list members sees ids.
import type { components } from '@secrets-vault/client';
import { useMemo } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { here, useRead, vault } from '../requests/api';
import { may } from '../session/may';

export type Member = components['schemas']['Member'];
export type Team = components['schemas']['Team'];

interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
}

/** Reads a complete list. Only for lists with a limited size: members, teams. */
async function whole<Item>(
  read: (cursor: string | undefined) => Promise<{ data: Page<Item> }>,
): Promise<{ data: Item[] }> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const { data } = await read(cursor);
    items.push(...data.data);
    cursor = data.next_cursor ?? undefined;
  } while (cursor);
  return { data: items };
}

/** All members; none if the caller may not list them. */
export function useMembers() {
  const { data, ...rest } = useRead(
    ['members', 'all'],
    (signal) =>
      whole((cursor) =>
        vault().api.GET('/orgs/{org_id}/members', {
          params: { path: here(), query: { limit: 100, cursor } },
          signal,
        }),
      ),
    may('members:read'),
  );
  return { members: useMemo(() => data ?? [], [data]), ...rest };
}

/** All teams; none if the caller may not list them. */
export function useTeams() {
  const { data, ...rest } = useRead(
    ['teams', 'all'],
    (signal) =>
      whole((cursor) =>
        vault().api.GET('/orgs/{org_id}/teams', {
          params: { path: here(), query: { limit: 100, cursor } },
          signal,
        }),
      ),
    may('teams:read'),
  );
  return { teams: useMemo(() => data ?? [], [data]), ...rest };
}

const none: never[] = [];

/** The connections to identity providers, for their names; none if the caller may not list them. */
const useConnections = (isNeeded: boolean) =>
  useRead(
    ['sso-connections', 'names'],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/sso-connections', {
        params: { path: here(), query: { limit: 100 } },
        signal,
      }),
    isNeeded && may('sso:read'),
  ).data?.data ?? none;

/** The newest hundred API keys, for their names; none if the caller may not list them. */
const useKeys = (isNeeded: boolean) =>
  useRead(
    ['credentials', 'names'],
    (signal) =>
      vault().api.GET('/orgs/{org_id}/api-keys', { params: { path: here(), query: { limit: 100 } }, signal }),
    isNeeded && may('tokens:read'),
  ).data?.data ?? none;

/** The names of members, teams and API keys by id, as far as the caller may list them. */
export function useNames(): ReadonlyMap<string, string> {
  const { members } = useMembers();
  const { teams } = useTeams();
  const keys = useKeys(true);
  return useMemo(
    () => new Map([...members, ...teams, ...keys].map(({ id, name }) => [id, name])),
    [members, teams, keys],
  );
}

const kinds: Record<string, string> = {
  key: 'API key',
  tok: 'Session token',
  agt: 'Agent',
  prv: 'Provider token',
  bgt: 'Break-glass token',
  scm: 'SCIM token',
  trs: 'Trust',
  ses: 'Browser session',
  sso: 'Single sign-on',
  shr: 'Share link',
  mem: 'Member',
  team: 'Team',
};

/** The kind of resource that an id belongs to, by its prefix. */
export const kindOfId = (id: string): string => kinds[id.slice(0, id.indexOf('_'))] ?? 'ID';

/** The page of a resource by its id; null if it has none. */
export function hrefOfId(id: string): string | null {
  if (id.startsWith('mem_')) return `/members/${id}`;
  if (id.startsWith('team_')) return `/teams/${id}`;
  if (/^(sso|scm)_/.test(id)) return '/sso';
  return /^(key|tok|agt|prv|bgt|trs|ses)_/.test(id) ? `/credentials/${id}` : null;
}

/**
 * The label of an id: a member, team, API key or connection by name, another one by kind, with a link to its
 * page.
 */
export function Who({ id, name }: { id: string | null | undefined; name?: string | null }) {
  const { members } = useMembers();
  const { teams } = useTeams();
  const keys = useKeys(!name && id?.startsWith('key_') === true);
  const connections = useConnections(!name && id?.startsWith('sso_') === true);
  if (!id) return <span class="dim">{name ?? 'The service'}</span>;
  const found = name ?? [...members, ...teams, ...keys, ...connections].find((each) => each.id === id)?.name;
  const href = hrefOfId(id);
  const words = found ?? `${kindOfId(id)} …${id.slice(-6)}`;
  return href ? (
    <Link href={href} title={id} class="who">
      {words}
    </Link>
  ) : (
    <span title={id} class="who">
      {words}
    </span>
  );
}
