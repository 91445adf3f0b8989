// What sign-in looks up in D1 before it calls a gate: the member of an enrolment token, and the passkey of a
// response. Invariant: only rows with a correct MAC count; the gate checks again with its own rows.
import { readPageToken } from '../../auth/authentication/token';
import { macOf, type RowKind, type RowTypes, readable } from '../../db/rows';
import type { MemberRow, PasskeyRow } from '../../db/schema';
import { unavailable } from '../../db/unavailable';
import type { PublicContext } from '../../http/context';
import type { OrgKeys } from '../../keys/keyring';

const genuine = <K extends RowKind>(keys: OrgKeys, kind: K, raw: Record<string, unknown>): RowTypes[K][] => {
  const row = readable(kind, raw);
  return row && row.mac === macOf(keys.row, kind, row) ? [row] : [];
};

export interface Enrolment {
  org: string;
  keys: OrgKeys;
  hash: string;
  member: MemberRow;
  passkeys: PasskeyRow[];
}

/** The live enrolment of a token; null if the token is forged, used, expired or replaced. */
export async function enrolmentOf(
  text: string,
  { deployment, keyring, env, trace }: PublicContext,
): Promise<Enrolment | null> {
  const token = readPageToken('enrolment', text);
  if (!token?.isGenuine(deployment.tokenTag)) return null;
  const keys = await keyring.org(token.org);
  if (!keys) return null;
  trace.d1_calls++;
  const [members, passkeys] = await env.DB.batch<Record<string, unknown>>([
    env.DB.prepare('select * from members where org_id = ? and enrolment_hash = ?').bind(
      token.org,
      token.hash,
    ),
    env.DB.prepare(
      'select * from passkeys where org_id = ?1 and member_id = (select id from members where org_id = ?1 and enrolment_hash = ?2)',
    ).bind(token.org, token.hash),
  ]).catch(unavailable);
  const [member] = (members?.results ?? []).flatMap((raw) => genuine(keys, 'member', raw));
  if (!member || (member.enrolment_ends_at ?? 0) <= Date.now()) return null;
  const has = (passkeys?.results ?? []).flatMap((raw) => genuine(keys, 'passkey', raw));
  return { org: token.org, keys, hash: token.hash, member, passkeys: has };
}

/** A member's passkey, by the id that its authenticator uses. */
export async function passkeyOf(
  { env, trace }: Pick<PublicContext, 'env' | 'trace'>,
  keys: OrgKeys,
  org: string,
  member: string,
  credential: string,
): Promise<PasskeyRow | null> {
  trace.d1_calls++;
  const { results } = await env.DB.prepare(
    'select * from passkeys where org_id = ? and member_id = ? and credential_id = ?',
  )
    .bind(org, member, credential)
    .all<Record<string, unknown>>()
    .catch(unavailable);
  return results.flatMap((raw) => genuine(keys, 'passkey', raw))[0] ?? null;
}
