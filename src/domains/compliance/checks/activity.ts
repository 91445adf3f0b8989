// Checks on audit log entries: emergencies, refusals and alarms. Pure. Entries arrive newest first, each
// once.
import type { Entry } from '../../../gate/audit/entry';
import { counted, findingOf, newTally, said, statusBy, type Tally } from '../finding';
import { ALARM, emergencyActions, ISSUE, isByBreakGlass, isRefusedAdministration } from '../interest';
import type { Period } from '../payloads';
import type { Evidence, Finding } from '../wire';

/** Refused requests in a period that warn, and that fail. */
const MANY_REFUSALS = 10;
const TOO_MANY_REFUSALS = 1000;
/** Limits: break-glass tokens, actions per token, and groups of refused requests. */
const MOST_TOKENS = 1000;
const MOST_ACTIONS = 20;
const MOST_GROUPS = 1000;
/** The longest lifetime of a break-glass token, in milliseconds. */
const LONGEST_EMERGENCY = 14_400_000;

/** How much of the log was examined. `notes` says what was not. */
export interface Coverage {
  complete: boolean;
  notes: string;
}

export interface ActivityChecks {
  /** Emergencies and alarms. */
  addRare(entry: Entry): void;
  /** Refused administrative requests. */
  addRefused(entry: Entry): void;
  findings(rare: Coverage, refused: Coverage): Finding[];
}

/** A break-glass token and what it did. */
interface Emergency {
  id: string;
  issued: Entry | null;
  uses: number;
  refused: number;
  first: string | null;
  last: string | null;
  user_agent: string | null;
  actions: Map<string, number>;
}

const evidenceOf = (
  {
    id,
    resource_name,
    environment,
    time,
    action,
    resource,
    actor,
    reason,
    user_agent,
    request_id,
    status,
  }: Entry,
  detail: string,
): Evidence => ({
  id,
  name: resource_name ?? null,
  environment,
  time,
  detail,
  facts: {
    action,
    resource,
    status,
    actor: actor.id,
    actor_kind: actor.kind,
    actor_name: actor.name,
    reason,
    user_agent,
    request_id,
  },
});

const nameOf = ({ actor: { name, id, kind } }: Entry) => name ?? id ?? kind;

function newEmergencies({ from }: Period) {
  const tokens = new Map<string, Emergency>();
  let omitted = 0;
  const tokenOf = (id: string): Emergency | null => {
    const known = tokens.get(id);
    if (known) return known;
    if (tokens.size === MOST_TOKENS) {
      omitted++;
      return null;
    }
    const fresh = {
      id,
      issued: null,
      uses: 0,
      refused: 0,
      first: null,
      last: null,
      user_agent: null,
      actions: new Map(),
    };
    tokens.set(id, fresh);
    return fresh;
  };
  return {
    tokens,
    omitted: () => omitted,
    issued(entry: Entry) {
      const token = entry.resource && tokenOf(entry.resource);
      if (token) token.issued = entry;
    },
    used(entry: Entry) {
      const token = entry.actor.id && tokenOf(entry.actor.id);
      if (!token) return;
      const { count, outcome, time, user_agent, action } = entry;
      token.uses += count;
      if (outcome !== 'success') token.refused += count;
      token.first = time;
      token.last ??= time;
      token.user_agent ??= user_agent;
      if (token.actions.has(action) || token.actions.size < MOST_ACTIONS)
        token.actions.set(action, (token.actions.get(action) ?? 0) + count);
    },
    /** Used without a known issue and reason. A token issued before the period does not count. */
    isUnexplained: ({ issued, first }: Emergency) =>
      issued === null ? first !== null && Date.parse(first) >= from + LONGEST_EMERGENCY : !issued.reason,
  };
}

function emergencyEvidence({
  id,
  issued,
  uses,
  refused,
  first,
  last,
  user_agent,
  actions,
}: Emergency): Evidence {
  const issue = issued
    ? `Issued at ${said(issued.time)} by ${nameOf(issued)}: ${issued.reason ?? 'no reason is known'}`
    : 'Issued before the period';
  const did = [...actions].map(([action, n]) => `${action} ${n}`).join(', ');
  return {
    id,
    name: null,
    environment: null,
    time: issued?.time ?? first,
    detail: `${issue}. ${uses ? `Used ${uses === 1 ? 'once' : `${uses} times`}: ${did}.` : 'Not used in the period.'}`,
    facts: {
      issued_at: issued?.time ?? null,
      issued_by: issued?.actor.id ?? null,
      issued_by_name: issued?.actor.name ?? null,
      reason: issued?.reason ?? null,
      uses,
      refused,
      first_used_at: first,
      last_used_at: last,
      user_agent,
    },
  };
}

/**
 * Groups refused requests by caller and action, so a program that retries adds one line instead of thousands.
 */
function newRefusals() {
  const groups = new Map<string, { newest: Entry; oldest: Entry; requests: number }>();
  let requests = 0;
  let others = 0;
  return {
    requests: () => requests,
    add(entry: Entry) {
      requests += entry.count;
      const key = `${entry.actor.id ?? entry.actor.kind} ${entry.action}`;
      const group = groups.get(key);
      if (group) Object.assign(group, { oldest: entry, requests: group.requests + entry.count });
      else if (groups.size < MOST_GROUPS)
        groups.set(key, { newest: entry, oldest: entry, requests: entry.count });
      else others++;
    },
    tally(): Tally {
      const tally = newTally();
      for (const { newest, oldest, requests: n } of groups.values())
        tally.add(() => {
          const { id, facts, ...evidence } = evidenceOf(
            newest,
            `${newest.action} was refused to ${nameOf(newest)}, ${counted(n, 'time')}.`,
          );
          return {
            ...evidence,
            id: newest.actor.id ?? id,
            facts: { ...facts, requests: n, first_at: oldest.time, last_at: newest.time, entry_id: id },
          };
        });
      return tally;
    },
    complete: () => others === 0,
  };
}

export function newActivityChecks(period: Period): ActivityChecks {
  const emergencies = newEmergencies(period);
  const refusals = newRefusals();
  const operations = newTally();
  const alarms = newTally();
  const isEmergency = ({ action }: Entry) => (emergencyActions as readonly string[]).includes(action);

  return {
    addRare(entry) {
      if (isByBreakGlass(entry)) emergencies.used(entry);
      if (entry.action === ALARM)
        alarms.add(() => evidenceOf(entry, `${entry.reason ?? 'An integrity violation'} was found.`));
      if (entry.outcome !== 'success') return;
      if (entry.action === ISSUE) emergencies.issued(entry);
      else if (isEmergency(entry))
        operations.add(() =>
          evidenceOf(entry, `${entry.action} by ${nameOf(entry)}${entry.reason ? `: ${entry.reason}` : ''}.`),
        );
    },
    addRefused(entry) {
      if (isRefusedAdministration(entry)) refusals.add(entry);
    },
    findings: (rare, partly) => [
      breakGlassFinding(emergencies, rare),
      findingOf('emergency-operations', {
        status: statusBy({ warn: operations.count > 0 || !rare.complete }),
        tested: `Every audit entry in the period for a completed panic, containment, recovery of access, adoption of a backup or reset of a gate (${emergencyActions.join(', ')}). Warn: there is one.${rare.notes}`,
        examined: operations.count,
        tally: operations,
        complete: rare.complete,
      }),
      findingOf('refused-administration', {
        status: statusBy({
          fail: refusals.requests() >= TOO_MANY_REFUSALS,
          warn: refusals.requests() >= MANY_REFUSALS,
        }),
        tested: `How many administrative requests in the period were refused with 403, excluding those that wait for approval: ${counted(refusals.requests(), 'request')}, grouped by caller and action. Warn: ${MANY_REFUSALS} or more. Fail: ${TOO_MANY_REFUSALS.toLocaleString('en')} or more.${partly.notes}`,
        examined: refusals.requests(),
        tally: refusals.tally(),
        complete: partly.complete && refusals.complete(),
      }),
      findingOf('integrity-alarms', {
        status: statusBy({ fail: alarms.count > 0, warn: !rare.complete }),
        tested: `Every audit entry in the period with the action ${ALARM}, which the service writes when stored data was altered or is missing. Fail: there is one.${rare.notes}`,
        examined: alarms.count,
        tally: alarms,
        complete: rare.complete,
      }),
    ],
  };
}

function breakGlassFinding(
  { tokens, omitted, isUnexplained }: ReturnType<typeof newEmergencies>,
  { complete, notes }: Coverage,
): Finding {
  const tally = newTally();
  for (const token of tokens.values()) tally.add(() => emergencyEvidence(token));
  const isWhole = complete && omitted() === 0;
  return findingOf('break-glass-use', {
    // If the log was not read to its end, the issue may be in the rest.
    status: statusBy({
      fail: isWhole && [...tokens.values()].some(isUnexplained),
      warn: tokens.size > 0 || !isWhole,
    }),
    tested: `Every audit entry in the period in which a break-glass token was issued or used. Warn: there is one. Fail: a token was used, and the log has no issue of it with a reason.${notes}`,
    examined: tokens.size,
    tally,
    complete: isWhole,
  });
}
