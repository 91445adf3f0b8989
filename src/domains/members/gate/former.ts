// Members whom a person removed. Invariant: single sign-on and SCIM make none of them anew, by address or by
// identity, until an owner allows it.
import { tuple } from '../../../crypto/bytes';
import { sha256 } from '../../../crypto/digest';
import { idOf, idPrefixes } from '../../../db/ids';
import type { FormerMemberRow, MemberRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import type { Call, Operation } from '../../../gate/request/call';
import type { Put } from '../../../gate/request/plan';
import { insertion, revision } from '../../../gate/request/writes';

/** The most rows that are looked through at once. */
const AT_ONCE = 500;

/** An address has one row at most: its id follows from the address. */
function idOfAddress(email: string): string {
  const digest = sha256(tuple('svc/v1/former-member', email.toLowerCase()));
  return idOf(idPrefixes.former_member, Uint8Array.from(Buffer.from(digest, 'hex').subarray(0, 16)));
}

/** The row of an address whose member a person removed; null if there is none. */
export const formerAt = ({ rows }: Pick<Core, 'rows'>, email: string): FormerMemberRow | null =>
  rows.get('former_member', idOfAddress(email));

/** Whether a person removed a member who was linked to an identity. */
export function isFormerIdentity(
  { rows }: Pick<Core, 'rows'>,
  identity: FormerMemberRow['links'][number],
): boolean {
  for (let after = ''; ; ) {
    const page = rows.after('former_member', after, AT_ONCE);
    const isOne = page.some(({ links }) =>
      links.some(
        (link) =>
          link.connection === identity.connection &&
          link.issuer === identity.issuer &&
          link.subject === identity.subject,
      ),
    );
    if (isOne || page.length < AT_ONCE) return isOne;
    after = page.at(-1)?.id ?? '';
  }
}

/** Remembers a member whom a person removes, with their identities. */
export function remembering(call: Call<unknown>, { id, email }: MemberRow, now: number): Put {
  const { core, ask, caller } = call;
  const links = core.rows
    .within('sso_link', id)
    .map(({ connection_id, issuer, subject }) => ({ connection: connection_id, issuer, subject }));
  const fields = { links, removed_by: caller.id, removed_at: now };
  const before = formerAt(core, email);
  return before
    ? revision(call, 'former_member', before, { ...fields, links: [...before.links, ...links].slice(-20) })
    : insertion(call, 'former_member', {
        org_id: ask.org,
        id: idOfAddress(email),
        email: email.toLowerCase(),
        ...fields,
      });
}

export const readmit: Operation<{ email: string }> = {
  change: {
    plan({ core, input }) {
      const row = formerAt(core, input.email);
      if (!row) return refuse('NOT_FOUND', { message: 'No member with this address was removed.' });
      return {
        status: 204,
        data: null,
        writes: [],
        deletes: [{ kind: 'former_member', id: row.id }],
        resource: row.id,
        describes: `let single sign-on and SCIM add ${row.email} again`,
      };
    },
  },
};
