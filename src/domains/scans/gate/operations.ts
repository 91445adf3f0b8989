// Scans in the gate: which tokens are live, and which secrets have a value whose keyed digest the Worker
// sent. Invariants: a secret that the caller may not read now, because of reach, status or approval, is
// treated as non-existent; a leak event is written in the same turn as the audit entry of the scan.
import { mayAct, reaches, reasons, stepsFor } from '../../../auth/authorize';
import { mayReveal } from '../../../gate/approvals/hold';
import { isAlive } from '../../../gate/identity/lifetime';
import type { Raised } from '../../../gate/outbox';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { ok, wants } from '../../../gate/request/outcome';
import { slugOf } from '../../../gate/request/target';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { quotaRootOf } from '../../../gate/rows/quota-root';
import { readableVersion } from '../../secrets/rules';
import { allLinks, shownBy } from '../../shares/gate/links';
import type { FoundToken, KnownToken, ScanInput, ScanPart } from '../payloads';
import { leaks } from './leaks';

/** The most matching steps for one scan. */
const MOST_STEPS = 4_000_000;
/** The most secrets in one result, the same as the most listed findings. */
const MOST_SECRETS = 1000;
/** The most members checked for a token of an enrolment link: the limit of an organisation. */
const MOST_MEMBERS = 2000;

/** The active secrets that the caller may read now and that have one of these values, by fingerprint. */
function secretsWith(
  call: Call<ScanInput>,
  fingerprints: readonly string[],
  now: number,
): Pick<ScanPart, 'secrets' | 'isCut'> {
  const { core, caller } = call;
  const secrets: ScanPart['secrets'] = {};
  const steps = stepsFor(caller, ['secrets:read'], MOST_STEPS);
  let count = 0;
  for (const { id, environment, name, fingerprint } of core.rows.withFingerprints(fingerprints)) {
    // Stops silently: a caller who may not read secrets must not learn how many have a value.
    // safety: scan-steps-bounded
    if (!steps.take(environment, name)) break;
    // safety: scan-within-reach
    if (!reaches(caller, ['secrets:read'], environment, name)) continue;
    const row = core.rows.get('secret', id);
    // safety: scan-active-only
    if (!row || readableVersion(row, row.version, now) !== null) continue;
    // safety: scan-is-no-way-around-approval
    if (mayReveal(call, row).isHeld) continue;
    // safety: scan-cut-is-said
    if (++count > MOST_SECRETS) return { secrets, isCut: true };
    secrets[fingerprint] = [
      ...(secrets[fingerprint] ?? []),
      { id, name, environment: slugOf(core, environment) },
    ];
  }
  return { secrets, isCut: false };
}

/** What is known about tokens of this organisation. */
function tokensOf(
  { core, caller }: Call<ScanInput>,
  tokens: readonly FoundToken[],
  now: number,
): KnownToken[] {
  const self = core.rows.get('credential', caller.credential);
  const own = self ? lineageOf(core, self).map(({ id }) => id) : [];
  const isShown = reasons(caller.permissions, ['tokens:read'], null).length > 0;
  const enrolments = tokens.some(({ kind }) => kind === 'enrolment')
    ? new Set(
        core.rows
          .after('member', '', MOST_MEMBERS)
          .flatMap((row) => ((row.enrolment_ends_at ?? 0) > now ? (row.enrolment_hash ?? []) : [])),
      )
    : new Set<string>();
  const links = new Map(
    tokens.some(({ kind }) => kind === 'share') ? allLinks(core).map((link) => [link.key_hash, link]) : [],
  );
  return tokens.map((token) => {
    const { kind, hash } = token;
    if (kind === 'enrolment')
      return { kind, live: enrolments.has(hash), id: null, isShown: false, above: null };
    if (kind === 'share') {
      const link = links.get(hash);
      const secret = link && shownBy(core, link, now);
      return {
        kind,
        live: !!secret,
        id: link?.id ?? null,
        isShown: false,
        above: null,
        ...(secret && { secret: secret.id }),
      };
    }
    const row =
      kind === 'refresh'
        ? core.rows.get('credential', token.session)
        : core.rows.find('credential', kind, hash);
    // A used refresh token does not renew anything: sending it revokes the session.
    // safety: scan-used-refresh-token
    const isUsed = kind === 'refresh' && !row?.refresh?.live.includes(token.n);
    const live = row !== null && !isUsed && isAlive(core, row);
    const at = row ? own.indexOf(row.id) : -1;
    return { kind, live, id: row?.id ?? null, isShown, above: at < 0 ? null : at };
  });
}

/** Events for values found at places where they were not found in the last day. */
function leaksOf(
  { core, caller, input }: Call<ScanInput>,
  secrets: ScanPart['secrets'],
  now: number,
): Raised[] {
  const root = quotaRootOf(core, caller);
  return Object.entries(secrets).flatMap(([fingerprint, all]) =>
    all.flatMap(({ id }): Raised[] => {
      const row = core.rows.get('secret', id);
      const places = leaks(core).note(id, input.places?.[fingerprint] ?? [], root, now);
      if (!row || places === 0) return [];
      const { name, version, environment_id } = row;
      const data = {
        secret_id: id,
        name,
        environment: slugOf(core, environment_id),
        version,
        scan_id: input.id,
        places,
      };
      return [{ type: 'SECRET_LEAKED', data }];
    }),
  );
}

function scan(call: Call<ScanInput>): OperationOutcome {
  const { core, input } = call;
  const now = core.now();
  // The Worker scans only for admitted callers, so the work counts against their rate limit.
  // safety: scan-after-admission
  if (input.fingerprints === null) return wants('value', {});
  const { secrets, isCut } = secretsWith(call, input.fingerprints, now);
  const tokens = tokensOf(call, input.tokens, now);
  const ids = Object.values(secrets).flatMap((all) => all.map(({ id }) => id));
  // The Worker computes places only for digests that are values.
  if (ids.length && input.places === null) return wants('value', { fingerprints: Object.keys(secrets) });
  return {
    ...ok({ tokens, secrets, isCut } satisfies ScanPart, { status: 201 }),
    audit: { findings: { known: input.known, tokens: tokens.length, secrets: ids.length } },
    events: leaksOf(call, secrets, now),
  };
}

/**
 * `revoke_live` needs the scope for revoking. Each token is revoked by its own operation, which authorises
 * the caller again.
 */
function mayRevoke({ ask, need, caller, input }: Call<ScanInput>) {
  // safety: scan-revokes-by-scope
  return input.revoke_live ? mayAct(caller, { ...need, scopes: ['tokens:write'] }, ask.request.ip) : null;
}

export const scanOperations: Record<string, Operation> = {
  'scan.create': {
    subject: ({ input }: Call<ScanInput>) => ({ resource: input.id }),
    authorize: mayRevoke,
    read: scan,
  } as Operation,
};
