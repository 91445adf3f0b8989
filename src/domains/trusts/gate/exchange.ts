// The gate's decision on exchanging an issuer's token for a session token. The Worker has verified the token;
// the gate decides by the trust under lock. Invariants: a session token holds no more than its trust and is
// revoked together with it; one token gives at most ten session tokens, regardless of failures, unless its
// trust lets tokens be used again; all refusals
// have the same response, and the reason is in the audit log.
import { isWithin } from '../../../auth/addresses';
import { essential, refusedBy } from '../../../auth/authentication/trusts';
import { type CredentialRow, parentColumn } from '../../../db/schema';
import { refuse } from '../../../errors';
import { accountableFor } from '../../../gate/identity/accountable';
import { callerOf } from '../../../gate/identity/caller';
import { descendants } from '../../../gate/identity/descendants';
import { endOf } from '../../../gate/identity/lifetime';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, wants } from '../../../gate/request/outcome';
import type { Proposal } from '../../../gate/request/plan';
import { insertion } from '../../../gate/request/writes';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { iso } from '../../../http/wire';
import { printable } from '../../../text';
import { fresh, RATES } from '../../credentials/gate/create';
import type { TokenInput } from '../../credentials/gate/credential';
import type { Verified } from '../verify';
import { exchanged } from './exchanged';

/** How often one token can be exchanged, and how many session tokens of a trust can be live. */
const MOST_USES = 10;
const MOST_SESSIONS = 1000;
/** The most characters in the name of a session token: its trust, and the subject of the workload. */
const MOST_NAME = 200;

export interface ExchangeInput extends Verified {
  token: TokenInput;
  /** The revision of the trust that the Worker used. */
  revision: number;
}

/** What the Worker responds with. */
export interface Given {
  id: string;
  expires_at: number;
}

const trustOf = ({ core, caller }: Call<unknown>): CredentialRow | null =>
  core.rows.get('credential', caller.id);

/** Why no session token is issued; null if one is. */
function problemOf(call: Call<ExchangeInput>): string | null {
  const { core, ask, input } = call;
  const row = trustOf(call);
  if (!row?.trust) return 'the trust has ended';
  const lineage = lineageOf(core, row);
  // safety: ended-trust-gives-nothing
  if (endOf(core, lineage)) return 'the trust has ended';
  // safety: exchange-addresses
  if (!callerOf(core, lineage).addresses.every((ranges) => isWithin(ask.request.ip, ranges)))
    return 'the client address is not allowed';
  // safety: exchange-judged-by-gate
  const refused = refusedBy(row.trust, input.workload);
  if (refused) return refused;
  if (row.trust.reuse) return null;
  // safety: token-exchanged-ten-times
  return exchanged(core).times(input.spent.digest, ask.request.id) >= MOST_USES
    ? 'the token was exchanged ten times'
    : null;
}

export const exchange: Operation<ExchangeInput> = {
  subject(call) {
    const reason = problemOf(call);
    return reason === null ? { resource: call.input.token.id } : { resource: call.caller.id, reason };
  },
  change: {
    plan(call, now): Proposal {
      const { core, ask, input, caller } = call;
      const row = trustOf(call);
      const problem = problemOf(call);
      // The Worker used an outdated trust: it reads the trust again.
      if (problem && row && row.revision !== input.revision) return wants('value', {});
      if (problem || !row?.trust) return refuse('UNAUTHENTICATED');
      if (descendants(core).hasSessions(row.id, MOST_SESSIONS, now, row.trust.ttl * 1000))
        return refuse('LIMIT_REACHED', {
          message:
            'A trust can have at most 1,000 live session tokens. Revoke some, or give it a shorter ttlSeconds.',
        });
      // Recorded before a token is issued: a failed change costs one use but never gives an extra one.
      if (!row.trust.reuse) exchanged(core).note(input.spent, ask.request.id, now);
      const [{ scopes, environments, secrets, upstreams }] = caller.permissions;
      const ends = [now + row.trust.ttl * 1000, ...(caller.expires_at === null ? [] : [caller.expires_at])];
      const put = insertion(call, 'credential', {
        ...fresh(core, ask.org, input.token, now),
        kind: 'session',
        name: printable(
          input.subject === null ? (row.name ?? '') : `${row.name}: ${input.subject}`,
          MOST_NAME,
        ),
        scopes: [...scopes],
        environments: environments && [...environments],
        secrets: secrets && [...secrets],
        upstreams: upstreams && [...upstreams],
        allowed_addresses: row.allowed_addresses,
        expires_at: Math.min(...ends),
        rate_limit: RATES.session,
        created_by: row.id,
        accountable: accountableFor(core, caller),
        workload: essential(row.trust, input.workload),
        ...parentColumn(row.id),
      });
      const { id, expires_at } = put.row as CredentialRow & { expires_at: number };
      return {
        status: 201,
        data: { id, expires_at } satisfies Given,
        writes: [put],
        resource: id,
        audit: { expires_at: iso(expires_at) },
      };
    },
  },
};

/** A token that the Worker refused: writes only the audit entry. */
export const exchangeRefused: Operation<{ trust: string; reason: string }> = {
  subject: ({ input }) => ({ resource: input.trust, reason: input.reason }),
  read: () => fail(refuse('UNAUTHENTICATED')),
};
