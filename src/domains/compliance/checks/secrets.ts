// Checks on secrets: rotation, expiry, use and names: facts and `now` in, findings out. Invariant: comparing
// names with policies takes a bounded number of steps regardless of the policies, in slices; the finding says
// what was not compared.
import { dueSince, firstDue, type RotationRule } from '../../../auth/policies/rotation';
import { DAY } from '../../../db/rows';
import type { PolicyRow, RotationConfig } from '../../../db/schema';
import type { Slices } from '../../../http/slices';
import { iso, isoOrNull } from '../../../http/wire';
import { counted, findingOf, newTally, said, statusBy } from '../finding';
import type { SecretFacts, SecretsPart } from '../payloads';
import type { Evidence, Finding, Inventory, Status } from '../wire';
import { newVerdicts, type Verdict } from './verdicts';

/** Thresholds, in days. */
const LONG_OVERDUE = 30;
const NEVER = 90;
const NEVER_FAILS = 365;
const SOON = 30;
const UNREAD = 90;
/** If more than this share of names break a policy, the policy is not followed. */
const MOST_VIOLATIONS = 0.1;

interface Rule extends RotationRule {
  /** The policy, or null for the secret's own rotate_every_seconds. */
  policy: PolicyRow | null;
}

export interface SecretChecks {
  add(part: SecretsPart): Promise<void>;
  findings(): Finding[];
  inventory(): Inventory['secrets'];
}

/** The secrets that were examined, as the findings describe them. */
interface Seen {
  active: number;
  /** `12 active secrets` */
  all: string;
  /** How many were compared with the policies, and the sentence to add if not all were. */
  compared: number;
  cut: string;
}

const evidenceOf = (
  { id, name, environment, version, rotated_at }: SecretFacts,
  time: number | null,
  detail: string,
  facts: Evidence['facts'] = {},
): Evidence => ({
  id,
  name,
  environment,
  time: isoOrNull(time),
  detail,
  facts: { version, rotated_at: iso(rotated_at), ...facts },
});

/** `found`, or `not_applicable` if there was nothing to test. */
const unlessNone = ({ active }: Seen, found: Status): Status => (active === 0 ? 'not_applicable' : found);

function newRotationCheck(policies: readonly PolicyRow[], now: number) {
  const overdue = newTally();
  let long = 0;
  let scheduled = 0;
  const rulesOf = (secret: SecretFacts, verdict: Verdict): Rule[] => {
    const own = secret.rotate_every_seconds;
    const applied = policies
      .filter((row) => verdict.applies(row, secret))
      .map((policy) => {
        const { cron, max_age_days } = policy.config as RotationConfig;
        return { policy, ...(cron === undefined ? { every: (max_age_days as number) * DAY } : { cron }) };
      });
    return own === null ? applied : [{ policy: null, every: own * 1000 }, ...applied];
  };
  return {
    add(secret: SecretFacts, verdict: Verdict) {
      const rules = rulesOf(secret, verdict);
      const since = secret.rotated_at;
      if (rules.length) scheduled++;
      if (dueSince(rules, since, now) === null) return;
      if (dueSince(rules, since, now - LONG_OVERDUE * DAY) !== null) long++;
      overdue.add(() => {
        const dues = rules.map(({ policy, ...rule }) => ({ policy, at: firstDue(rule, since) }));
        const { policy, at } = dues.reduce((first, due) => (due.at < first.at ? due : first));
        const by = policy ? `the policy ${policy.name}` : 'its rotate_every_seconds';
        return evidenceOf(secret, at, `Due since ${said(at)} by ${by}.`, { policy_id: policy?.id ?? null });
      });
    },
    finding: (seen: Seen): Finding =>
      findingOf('secrets-rotation-overdue', {
        status: unlessNone(seen, statusBy({ fail: long > 0, warn: overdue.count > 0 || scheduled === 0 })),
        tested: `Whether the current value of any of ${seen.all} is older than its rotate_every_seconds or an enabled rotation policy allows (${counted(policies.length, 'policy', 'policies')}). A schedule applies to ${counted(scheduled, 'secret')}. Warn: one is overdue, or no schedule applies to any. Fail: one is overdue by more than ${LONG_OVERDUE} days.${seen.cut}`,
        examined: seen.compared,
        tally: overdue,
        complete: seen.compared === seen.active,
      }),
  };
}

function newNamingCheck(policies: readonly PolicyRow[]) {
  const names = newTally();
  return {
    add(secret: SecretFacts, verdict: Verdict) {
      const broken = policies.filter((row) => verdict.applies(row, secret) && verdict.isBroken(row));
      if (broken.length === 0) return;
      names.add(() =>
        evidenceOf(
          secret,
          secret.created_at,
          `Does not match ${broken.map(({ name }) => `the policy ${name}`).join(', ')}.`,
          {
            policy_ids: broken.map(({ id }) => id).join(' '),
          },
        ),
      );
    },
    finding(seen: Seen): Finding {
      if (policies.length === 0)
        return findingOf('secrets-naming', {
          status: 'not_applicable',
          tested: 'Nothing: no naming policy is enabled.',
          examined: 0,
          tally: names,
        });
      return findingOf('secrets-naming', {
        status: unlessNone(
          seen,
          statusBy({ fail: names.count > seen.compared * MOST_VIOLATIONS, warn: names.count > 0 }),
        ),
        tested: `Whether the names of ${seen.all} match every enabled naming policy that applies to them (${counted(policies.length, 'policy', 'policies')}). Warn: one does not. Fail: more than ${MOST_VIOLATIONS * 100}% do not.${seen.cut}`,
        examined: seen.compared,
        tally: names,
        complete: seen.compared === seen.active,
      });
    },
  };
}

function newUseChecks(now: number) {
  const never = newTally();
  const expiring = newTally();
  const unread = newTally();
  const limit = now - UNREAD * DAY;
  let ancient = 0;
  return {
    add(secret: SecretFacts) {
      const { created_at, version, expires_at, last_read_at } = secret;
      if (version === 1 && created_at <= now - NEVER * DAY) {
        if (created_at <= now - NEVER_FAILS * DAY) ancient++;
        never.add(() => evidenceOf(secret, created_at, `Still has its first value, of ${said(created_at)}.`));
      }
      if (expires_at !== null && expires_at <= now + SOON * DAY)
        expiring.add(() =>
          evidenceOf(secret, expires_at, `Expires at ${said(expires_at)}.`, { expires_at: iso(expires_at) }),
        );
      if (created_at <= limit && (last_read_at ?? 0) <= limit) {
        const detail =
          last_read_at === null ? 'No read of it is known.' : `Last read at ${said(last_read_at)}.`;
        const facts = { last_read_at: isoOrNull(last_read_at), created_at: iso(created_at) };
        unread.add(() => evidenceOf(secret, last_read_at, detail, facts));
      }
    },
    findings(seen: Seen, readsSince: number): Finding[] {
      const { active: examined, all } = seen;
      const isKnown = readsSince <= limit;
      return [
        findingOf('secrets-never-rotated', {
          status: unlessNone(seen, statusBy({ fail: ancient > 0, warn: never.count > 0 })),
          tested: `Whether any of ${all} still has its first value ${NEVER} days after it was created. Warn: one has. Fail: one has after ${NEVER_FAILS} days.`,
          examined,
          tally: never,
        }),
        findingOf('secrets-expiring', {
          status: unlessNone(seen, statusBy({ warn: expiring.count > 0 })),
          tested: `Whether any of ${all} expires within ${SOON} days. Warn: one does. Secrets that have already expired count only in the inventory.`,
          examined,
          tally: expiring,
        }),
        findingOf('secrets-unread', {
          status: unlessNone(seen, statusBy({ warn: unread.count > 0 })),
          tested: `Whether any of ${all} is older than ${UNREAD} days and has not been read for as long. Warn: one is.${isKnown ? '' : ` Reads are recorded only since ${said(readsSince)}; earlier ones are not counted.`}`,
          examined,
          tally: unread,
          complete: isKnown,
        }),
      ];
    },
  };
}

const AGES = [30, 90, 180, 365, Number.POSITIVE_INFINITY];
const nameOfAge = (most: number, at: number) =>
  at === 4 ? `over ${AGES[3]}` : `${at ? (AGES[at - 1] as number) + 1 : 0}-${most}`;

export function newSecretChecks(policies: readonly PolicyRow[], now: number, slices: Slices): SecretChecks {
  const enabled = (kind: PolicyRow['kind']) =>
    policies.filter((row) => row.kind === kind && row.enabled === 1);
  const naming = enabled('naming');
  const rotation = enabled('rotation');
  const verdicts = newVerdicts([...naming, ...rotation], slices);
  const overdue = newRotationCheck(rotation, now);
  const names = newNamingCheck(naming);
  const use = newUseChecks(now);
  const totals = { active: 0, expired: 0, revoked: 0, deleted: 0, generated: 0 };
  const ages = AGES.map(() => 0);
  let compared = 0;
  let readsSince = 0;

  const judge = (secret: SecretFacts) => {
    if (secret.generated) totals.generated++;
    const age = AGES.findIndex((most) => now - secret.rotated_at < (most + 1) * DAY);
    ages[age] = (ages[age] as number) + 1;
    use.add(secret);
    const verdict = verdicts.of(secret.name);
    if (verdict === null) return;
    compared++;
    overdue.add(secret, verdict);
    names.add(secret, verdict);
  };

  return {
    async add({ rows, expired, revoked, deleted, reads_since }) {
      totals.active += rows.length;
      totals.expired += expired;
      totals.revoked += revoked;
      totals.deleted += deleted;
      readsSince = reads_since;
      for (const row of rows) {
        judge(row);
        const rest = slices.rest();
        if (rest) await rest;
      }
    },
    findings() {
      const { active } = totals;
      const cut =
        compared === active
          ? ''
          : ` Only ${counted(compared, 'secret')} could be compared with the policies.`;
      const seen: Seen = { active, all: counted(active, 'active secret'), compared, cut };
      return [overdue.finding(seen), ...use.findings(seen, readsSince), names.finding(seen)];
    },
    inventory: () => ({
      ...totals,
      by_age: AGES.map((most, at) => ({ days: nameOfAge(most, at), secrets: ages[at] as number })),
    }),
  };
}
