// Checks on long-lived credentials: use, expiry and reach. Pure.

import { type CredentialKind, lastingKinds } from '../../../db/credential-kinds';
import { DAY } from '../../../db/rows';
import { iso, isoOrNull } from '../../../http/wire';
import { counted, findingOf, newTally, said, statusBy } from '../finding';
import type { CredentialFacts } from '../payloads';
import type { Evidence, Finding, Inventory } from '../wire';

/** Thresholds: days unused (warn, fail), days of age without an expiry, and unlimited API keys. */
const UNUSED = 90;
const UNUSED_FAILS = 180;
const OLD = 365;
const MOST_UNLIMITED = 3;

const kindNames: Record<CredentialKind, string> = {
  api_key: 'API key',
  agent: 'agent',
  provider: 'provider token',
  break_glass: 'break-glass token',
  session: 'session token',
  browser: 'browser session',
  trust: 'trust',
  scim: 'SCIM token',
};

export interface CredentialChecks {
  add(rows: CredentialFacts[]): void;
  findings(): Finding[];
  inventory(sessions: number, browsers: number): Inventory['credentials'];
}

const evidenceOf = (
  row: CredentialFacts,
  time: number | null,
  detail: string,
  facts: Evidence['facts'] = {},
): Evidence => ({
  id: row.id,
  name: row.name,
  environment: null,
  time: isoOrNull(time),
  detail,
  facts: {
    kind: row.kind,
    created_at: iso(row.created_at),
    created_by: row.created_by,
    expires_at: isoOrNull(row.expires_at),
    last_used_at: isoOrNull(row.last_used_at),
    ...facts,
  },
});

const unlimitedEvidence = (row: CredentialFacts, wildcards: string[]): Evidence =>
  evidenceOf(
    row,
    row.created_at,
    `This ${kindNames[row.kind]} holds ${wildcards.join(' ')} in all environments and for all names.`,
    {
      scopes: row.scopes.join(' '),
    },
  );

/** What the checks of a report count over all live credentials. */
interface Seen {
  total: number;
  /** Unused for so long that the check fails. */
  long: number;
  /** Without an expiry, and old. */
  old: number;
  unlimitedKeys: number;
  unlimitedAgents: number;
}

function findingsOf(
  seen: Seen,
  { unused, endless, wide }: Record<'unused' | 'endless' | 'wide', ReturnType<typeof newTally>>,
): Finding[] {
  const examined = seen.total;
  const all = `${counted(examined, 'live credential')} (API keys, agents, provider and break-glass tokens, trusts)`;
  const none = examined === 0 ? ('not_applicable' as const) : null;
  return [
    findingOf('credentials-unused', {
      status: none ?? statusBy({ fail: seen.long > 0, warn: unused.count > 0 }),
      tested: `Whether any of ${all} has been unused for ${UNUSED} days, counted from its last request or its creation. Use of a credential's descendants counts as its own. Warn: one has. Fail: one has for ${UNUSED_FAILS} days.`,
      examined,
      tally: unused,
    }),
    findingOf('credentials-without-expiry', {
      status: none ?? statusBy({ fail: seen.old > 0, warn: endless.count > 0 }),
      tested: `Whether any of ${all} has no expiry, neither its own nor that of an ancestor it is revoked together with. Warn: one has none. Fail: one has none and is older than ${OLD} days.`,
      examined,
      tally: endless,
    }),
    findingOf('credentials-over-scoped', {
      status:
        none ??
        statusBy({
          fail: seen.unlimitedAgents > 0 || seen.unlimitedKeys > MOST_UNLIMITED,
          warn: wide.count > 0,
        }),
      tested: `Whether any of ${all} holds a wildcard scope without a limit to environments or names. Warn: one does. Fail: an agent holds * without limits, or more than ${MOST_UNLIMITED} API keys do (${seen.unlimitedKeys} do).`,
      examined,
      tally: wide,
    }),
  ];
}

export function newCredentialChecks(now: number): CredentialChecks {
  const unused = newTally();
  const endless = newTally();
  const wide = newTally();
  const seen: Seen = { total: 0, long: 0, old: 0, unlimitedKeys: 0, unlimitedAgents: 0 };
  const zero = () => ({ live: 0, without_expiry: 0, unused: 0, over_scoped: 0 });
  const byKind = Object.fromEntries(lastingKinds.map((kind) => [kind, zero()])) as Record<
    string,
    ReturnType<typeof zero>
  >;

  const judge = (row: CredentialFacts) => {
    const own = byKind[row.kind] as ReturnType<typeof zero>;
    const what = kindNames[row.kind];
    const since = row.last_used_at ?? row.created_at;
    own.live++;
    if (since <= now - UNUSED * DAY) {
      own.unused++;
      if (since <= now - UNUSED_FAILS * DAY) seen.long++;
      const used =
        row.last_used_at === null ? `never used since ${said(since)}` : `last used at ${said(since)}`;
      unused.add(() => evidenceOf(row, since, `This ${what} was ${used}.`));
    }
    if (row.expires_at === null) {
      own.without_expiry++;
      if (row.created_at <= now - OLD * DAY) seen.old++;
      endless.add(() =>
        evidenceOf(row, row.created_at, `This ${what}, created at ${said(row.created_at)}, has no expiry.`),
      );
    }
    const wildcards = row.scopes.filter((scope) => scope.endsWith('*'));
    if (row.isUnlimited && wildcards.length) {
      own.over_scoped++;
      if (wildcards.includes('*')) row.kind === 'agent' ? seen.unlimitedAgents++ : seen.unlimitedKeys++;
      wide.add(() => unlimitedEvidence(row, wildcards));
    }
  };

  return {
    add(rows) {
      seen.total += rows.length;
      for (const row of rows) judge(row);
    },
    findings: () => findingsOf(seen, { unused, endless, wide }),
    inventory: (sessions, browsers) => [
      ...lastingKinds.map((kind) => ({ kind, ...(byKind[kind] as ReturnType<typeof zero>) })),
      { kind: 'session', ...zero(), live: sessions },
      { kind: 'browser', ...zero(), live: browsers },
    ],
  };
}
