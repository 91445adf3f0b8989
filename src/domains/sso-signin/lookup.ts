// What sign-in looks up in D1 before it calls a gate: connections, by id or by the domain of an address.
// Invariant: only rows with a correct MAC count; the gate checks again with its own rows.
import { idBytes } from '../../db/ids';
import { macOf, type RowKind, type RowTypes, readable } from '../../db/rows';
import type { SsoConnectionRow } from '../../db/schema';
import { unavailable } from '../../db/unavailable';
import { domainOf } from '../../gate/identity/sso';
import type { BaseContext } from '../../http/context';
import type { OrgKeys } from '../../keys/keyring';
import { ownerOf } from '../sso/owner';
import { type OidcConfig, oidcOf, type SamlConfig, samlOf } from '../sso/wire';

type Where = Pick<BaseContext, 'env' | 'trace' | 'keyring'>;

export type Found = { org: string; keys: OrgKeys; row: SsoConnectionRow } & Configured;

/** The configuration of a connection, by its kind. */
type Configured = { kind: 'oidc'; config: OidcConfig } | { kind: 'saml'; config: SamlConfig };

async function query<K extends RowKind>(
  { env, trace, keyring }: Where,
  kind: K,
  sql: string,
  ...params: string[]
): Promise<{ row: RowTypes[K] & { org_id: string }; keys: OrgKeys }[]> {
  trace.d1_calls++;
  const { results } = await env.DB.prepare(sql)
    .bind(...params)
    .all<Record<string, unknown>>()
    .catch(unavailable);
  const found = await Promise.all(
    results.map(async (raw) => {
      const row = readable(kind, raw) as (RowTypes[K] & { org_id: string; mac: string }) | null;
      const keys = row && (await keyring.org(row.org_id));
      // safety: sso-lookup-row-mac
      return row && keys && row.mac === macOf(keys.row, kind, row) ? [{ row, keys }] : [];
    }),
  );
  return found.flat();
}

/** A connection. */
export async function connectionOf(context: Where, id: string): Promise<Found | null> {
  if (!idBytes('sso', id)) return null;
  const [found] = await query(
    context,
    'sso_connection',
    'select * from sso_connections indexed by sso_connections_id where id = ?',
    id,
  );
  return found ? { org: found.row.org_id, ...found, ...configured(found.row) } : null;
}

/** The connection that signs in members of the domain of an address. */
export async function connectionFor(context: Where, email: string): Promise<Found | null> {
  const name = domainOf(email);
  const owner = await ownerOf(context.env, name);
  if (!owner) return null;
  const [domain] = await query(
    context,
    'domain',
    'select * from domains where org_id = ? and id = ? and verified_at is not null',
    owner.org,
    owner.id,
  );
  if (domain?.row.domain !== name) return null;
  const found = await query(
    context,
    'sso_connection',
    'select * from sso_connections where org_id = ? order by id',
    owner.org,
  );
  const own = found.find(({ row }) => row.domains.includes(owner.id));
  return own ? { org: own.row.org_id, ...own, ...configured(own.row) } : null;
}

const configured = (row: SsoConnectionRow): Configured =>
  row.kind === 'saml' ? { kind: 'saml', config: samlOf(row) } : { kind: 'oidc', config: oidcOf(row) };
