// The rows of credentials: API keys, session tokens, agent credentials, provider and break-glass tokens,
// trusts, browser sessions.

import { isBrief } from '../../db/credential-kinds';
import { REMEMBERED, rowKind } from '../../db/rows';
import { type CredentialRow, credentials } from '../../db/schema';
import { MIB } from '../../gate/limits/quotas';
import { aboveOf } from '../../gate/rows/quota-root';

declare module '../../db/rows' {
  interface RowTypes {
    credential: CredentialRow;
  }
}

/**
 * How long a revoked session stays in the gate: longer than a challenge is valid, so no challenge begins a
 * session twice. D1 keeps it longer.
 */
const STAYS_REVOKED = 600_000;

export const credential = rowKind('credential', {
  isReadFirst: ({ kind, revoked_at }) => kind === 'trust' && revoked_at === null,
  table: credentials,
  space: (row) => row.kind,
  key: (row) => row.token_hash,
  added: [
    'below_owner',
    'created_in',
    'generation',
    'reason',
    'member_id',
    'passkey_id',
    'refresh',
    'confirmed_at',
    'accountable',
    'device_id',
    'trust',
    'workload',
    'mcp_limits',
    'aws',
    'sso',
    'scim',
    'upstreams',
  ],
  // An ended session token leaves the gate early; D1 keeps it.
  sweepAt({ kind, expires_at, revoked_at }) {
    if (isBrief(kind))
      return Math.min(
        expires_at as number,
        revoked_at === null ? Number.POSITIVE_INFINITY : revoked_at + STAYS_REVOKED,
      );
    const end = Math.min(expires_at ?? Number.POSITIVE_INFINITY, revoked_at ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(end) ? end + REMEMBERED : null;
  },
  maker: aboveOf,
  ends: ({ expires_at, revoked_at }) =>
    expires_at === null || revoked_at === null
      ? (expires_at ?? revoked_at)
      : Math.min(expires_at, revoked_at),
  // Session tokens and browser sessions are counted apart.
  quota: {
    org: { count: 70_000, bytes: 256 * MIB },
    root: { count: 20_000, bytes: 64 * MIB, open: 5000 },
    message:
      'A member or an API key can have at most 5,000 live credentials below it. Revoke some that you no longer need.',
  },
});
