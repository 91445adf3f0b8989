// Creates a compliance report: facts from the gate and D1, part by part, through checks that keep counts and
// the first pieces of evidence. Invariant: memory use is bounded regardless of the organisation's size.
import { unwrap } from '../../gate/request/outcome';
import type { RenderContext } from '../../http/context';
import { newSlices } from '../../http/slices';
import { iso } from '../../http/wire';
import { catalogue, type FindingId, findingIds, iso27001, soc2 } from './catalogue';
import { type Coverage, newActivityChecks } from './checks/activity';
import { newApprovalChecks } from './checks/approvals';
import { chainFinding, chainInventory } from './checks/chain';
import { newCredentialChecks } from './checks/credentials';
import { newPeopleChecks } from './checks/people';
import { newSecretChecks, type SecretChecks } from './checks/secrets';
import { counted, findingOf, newTally, statusBy } from './finding';
import { isRare } from './interest';
import { chainOf, type Parts, rare, refused, type Walked, walkGate, walkSegments } from './log';
import type {
  ApprovalFacts,
  CredentialFacts,
  DeviceFacts,
  MemberFacts,
  Overview,
  Page,
  Part,
  SecretsPart,
} from './payloads';
import type { Control, Finding, Report, Status } from './wire';

const partsOf = (context: RenderContext): Parts =>
  (async (input: Part) => unwrap(await context.further(input)).data) as Parts;

/** Reads every page of a part. */
async function eachPage<P extends Page<unknown>>(
  ask: (after: string) => Promise<P>,
  take: (page: P) => void | Promise<void>,
): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const page: P = await ask(after);
    await take(page);
    after = page.next;
  }
}

export async function reportOf(context: RenderContext, overview: Overview): Promise<Report> {
  const { now, period, org, policies, sessions, browsers } = overview;
  const parts = partsOf(context);
  const secrets = await secretsOf(context, parts, overview);
  const credentials = newCredentialChecks(now);
  await eachPage(
    (after) => parts<Page<CredentialFacts>>({ part: 'credentials', after }),
    ({ rows }) => credentials.add(rows),
  );
  const people = newPeopleChecks(now);
  const names = new Map<string, string>();
  await eachPage(
    (after) => parts<Page<MemberFacts>>({ part: 'members', after }),
    ({ rows }) => {
      people.addMembers(rows);
      for (const { id, name } of rows) names.set(id, name);
    },
  );
  await eachPage(
    (after) => parts<Page<DeviceFacts>>({ part: 'devices', after }),
    ({ rows }) => people.addDevices(rows),
  );
  const approvals = newApprovalChecks(policies, (member) => names.get(member) ?? null, now);
  await eachPage(
    (after) => parts<Page<ApprovalFacts>>({ part: 'approvals', after, period }),
    ({ rows }) => approvals.add(rows),
  );
  const { activity, chain } = await logOf(context, parts, overview);
  const findings = [
    ...secrets.findings(),
    ...credentials.findings(),
    ...people.findings(),
    approvals.finding(),
    ...activity,
  ];
  const all = inOrder([...findings, chainFinding(chain, now), delivery(overview)]);
  const enabled = (kind: string) => policies.filter((row) => row.kind === kind && row.enabled === 1).length;
  return {
    org,
    generated_at: iso(now),
    period: { from: iso(period.from), to: iso(period.to) },
    summary: summaryOf(all),
    inventory: {
      secrets: secrets.inventory(),
      credentials: credentials.inventory(sessions, browsers),
      ...people.inventory(),
      policies: { naming: enabled('naming'), rotation: enabled('rotation'), approval: enabled('approval') },
      audit_log: chainInventory(chain),
    },
    findings: all,
    controls: controlsOf(all),
  };
}

/** The most matching steps of a report. */
const MOST_STEPS = 100_000_000;

/** The checks on secrets, with all of them. */
async function secretsOf(
  { org }: RenderContext,
  parts: Parts,
  { policies, now, payer }: Overview,
): Promise<SecretChecks> {
  const slices = newSlices(`${org}.${payer}`, MOST_STEPS);
  try {
    const secrets = newSecretChecks(policies, now, slices);
    await eachPage((after) => parts<SecretsPart>({ part: 'secrets', after }), secrets.add);
    return secrets;
  } finally {
    slices.end();
  }
}

/** The findings from the audit log. */
async function logOf(context: RenderContext, parts: Parts, overview: Overview) {
  const { period } = overview;
  const activity = newActivityChecks(period);
  const oldest = await walkGate(parts, period, (entry) =>
    isRare(entry) ? activity.addRare(entry) : activity.addRefused(entry),
  );
  const rarely = await walkSegments(
    context,
    rare,
    period,
    oldest,
    (entry) => isRare(entry) && activity.addRare(entry),
  );
  const often = await walkSegments(
    context,
    refused,
    period,
    oldest,
    (entry) => isRare(entry) || activity.addRefused(entry),
  );
  const unreadable = [
    ...new Map([...rarely.unreadable, ...often.unreadable].map((gap) => [gap.from, gap])).values(),
  ];
  return {
    activity: activity.findings(coverageOf(rarely), coverageOf(often)),
    chain: await chainOf(context, parts, overview, unreadable),
  };
}

/** How much of the log was examined. */
function coverageOf({ segments, opened, unreadable }: Walked): Coverage {
  const notes = [
    ...(opened < segments
      ? [`Only the newest ${opened} of ${segments} closed segments that may contain one were read.`]
      : []),
    ...(unreadable.length ? [`${unreadable.length} closed segments could not be read.`] : []),
  ];
  return { complete: notes.length === 0, notes: notes.map((note) => ` ${note}`).join('') };
}

/** Webhooks that were disabled because the receiver is gone or deliveries kept failing. */
function delivery({ webhooks }: Overview): Finding {
  const tally = newTally();
  for (const { id, host, disabled, updated_at } of webhooks)
    if (disabled === 'gone' || disabled === 'failing')
      tally.add(() => ({
        id,
        name: host,
        environment: null,
        time: iso(updated_at),
        detail:
          disabled === 'gone'
            ? 'Disabled: the receiver answered 410.'
            : 'Disabled: every attempt failed for 5 days.',
        facts: { reason: disabled },
      }));
  return findingOf('delivery-failures', {
    status: webhooks.length === 0 ? 'not_applicable' : statusBy({ warn: tally.count > 0 }),
    tested:
      webhooks.length === 0
        ? 'Nothing: no webhooks are configured.'
        : `${counted(webhooks.length, 'webhook')}: whether any was disabled after failures.`,
    examined: webhooks.length,
    tally,
  });
}

const inOrder = (findings: Finding[]): Finding[] =>
  findings.sort((a, b) => findingIds.indexOf(a.id) - findingIds.indexOf(b.id));

function summaryOf(findings: Finding[]): Report['summary'] {
  const summary = { pass: 0, warn: 0, fail: 0, not_applicable: 0 };
  for (const { status } of findings) summary[status]++;
  return summary;
}

const WORST: readonly Status[] = ['fail', 'warn', 'pass', 'not_applicable'];

/** Each control, with the worst status of its findings. */
function controlsOf(findings: Finding[]): Control[] {
  const statuses = new Map(findings.map(({ id, status }) => [id, status]));
  const control = (framework: 'soc2' | 'iso27001', id: string, title: string): Control => {
    const own = findingIds.filter((finding: FindingId) =>
      (catalogue[finding][framework] as readonly string[]).includes(id),
    );
    const status =
      WORST.find((one) => own.some((finding) => statuses.get(finding) === one)) ?? 'not_applicable';
    return { framework, id, title, status, findings: own };
  };
  return [
    ...Object.entries(soc2).map(([id, title]) => control('soc2', id, title)),
    ...Object.entries(iso27001).map(([id, title]) => control('iso27001', id, title)),
  ];
}
