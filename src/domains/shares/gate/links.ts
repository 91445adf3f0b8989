// Share links in the gate: which are live, and how one is created. Invariants: a link is permanently invalid
// once its secret, its version, or the credential or member that created it is gone, or that member was
// suspended; its row is deleted with the last view or when it is revoked.
import type { SecretRow, ShareRow } from '../../../db/schema';
import type { Core } from '../../../gate/core';
import { isAlive } from '../../../gate/identity/lifetime';
import { hasMemberEnded } from '../../../gate/identity/members';
import type { Call } from '../../../gate/request/call';
import type { Put } from '../../../gate/request/plan';
import { insertion } from '../../../gate/request/writes';
import { readableVersion } from '../../secrets/rules';

/** How many links an organisation can have: see gate/quotas.ts. */
const MOST_LINKS = 1000;

/** A link created by the Worker, with the value encrypted under its key. */
export interface NewLink {
  id: string;
  version: number;
  key_hash: string;
  value_sealed: string;
  /** Digest of the stretched passphrase, if there is one. */
  passphrase: string | null;
}

/**
 * Whether the creator of a link is still live: the member, who was not suspended since, or the credential
 * with its whole lineage.
 */
function hasMaker(core: Core, { dies_with, created_at }: ShareRow): boolean {
  const id = dies_with ?? '';
  if (core.rows.get('member', id)) return !hasMemberEnded(core, id, created_at);
  const row = core.rows.get('credential', id);
  return row !== null && isAlive(core, row);
}

/** The secret that a link shows; null if the link is not live. */
export function shownBy(core: Core, link: ShareRow, now: number): SecretRow | null {
  const organisation = core.rows.get('org', core.org);
  // safety: link-ends-with-org
  if (!organisation || organisation.deleted_at !== null) return null;
  // safety: link-expires
  if (link.revoked_at !== null || link.expires_at <= now) return null;
  // A panic also revokes links of API keys and members.
  // safety: link-ends-with-panic
  if (link.created_at <= (organisation.panicked_at ?? 0)) return null;
  // safety: link-ends-with-maker
  if (!hasMaker(core, link)) return null;
  const secret = core.rows.get('secret', link.secret_id);
  // safety: link-ends-with-secret
  return readableVersion(secret, link.version, now) ? null : secret;
}

/** All link rows: at most 1,000. */
export const allLinks = (core: Core): ShareRow[] => core.rows.after('share', '', MOST_LINKS);

/** The links of a secret, live or not. */
export const linksOf = (core: Core, secret: string): readonly ShareRow[] => core.rows.within('share', secret);

/**
 * The row of a new link. It expires no later than the secret or its creator, so extending these later does
 * not extend the link.
 */
export function linking(
  call: Call<unknown>,
  secret: SecretRow,
  made: NewLink,
  asked: { expires_in: number; max_views: number },
  now: number,
): Put {
  const { ask, caller } = call;
  return insertion(call, 'share', {
    org_id: ask.org,
    ...made,
    secret_id: secret.id,
    max_views: asked.max_views,
    views: 0,
    failures: 0,
    // For a member, the browser session: containing the session also revokes its links.
    created_by: caller.credential,
    dies_with: caller.id,
    created_at: now,
    // safety: link-within-lifetimes
    expires_at: Math.min(
      now + asked.expires_in * 1000,
      secret.expires_at ?? Number.POSITIVE_INFINITY,
      caller.expires_at ?? Number.POSITIVE_INFINITY,
    ),
  });
}
