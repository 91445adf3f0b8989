// What is tested of the entries of the audit log: emergencies, refusals and alarms. Pure. Entries come newest first, and each comes once.
import type { Entry } from '../../../gate/audit-log';
import { counted, findingOf, newTally, statusBy } from '../finding';
import { ALARM, emergencyActions, ISSUE, isByBreakGlass, isRefusedAdministration } from '../interest';
import type { Period } from '../parts';
import type { Evidence, Finding } from '../wire';

/** Refusals that a period may have before they are worth a look, and before they are more than that. */
const [MANY_REFUSALS, TOO_MANY_REFUSALS] = [10, 1000];
/** Break-glass tokens that are told apart, and actions of each. */
const [MOST_TOKENS, MOST_ACTIONS] = [1000, 20];
/** The longest lifetime of a break-glass token, in milliseconds. */
const LONGEST_EMERGENCY = 14_400_000;

/** How much of the log was looked at. `notes` says what was not. */
export interface Coverage {
  complete: boolean;
  notes: string;
}

export interface ActivityChecks {
  /** Emergencies and alarms. */
  addRare(entry: Entry): void;
  /** Refused administration. */
  addRefused(entry: Entry): void;
  findings(rare: Coverage, refused: Coverage): Finding[];
}

/** A break-glass token, and what it did. */
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
  { id, resource_name, environment, time, action, resource, actor, reason, user_agent, request_id, status }: Entry,
  detail: string,
): Evidence => ({
  ...{ id, name: resource_name ?? null, environment, time, detail },
  facts: { action, resource, status, actor: actor.id, actor_kind: actor.kind, actor_name: actor.name, reason, user_agent, request_id },
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
    const fresh = { id, issued: null, uses: 0, refused: 0, first: null, last: null, user_agent: null, actions: new Map() };
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
    /** Used, although no issue with a reason is known; one that was issued before the period is no such. */
    isUnexplained: ({ issued, first }: Emergency) =>
      issued === null ? first !== null && Date.parse(first) >= from + LONGEST_EMERGENCY : !issued.reason,
  };
}

function emergencyEvidence({ id, issued, uses, refused, first, last, user_agent, actions }: Emergency): Evidence {
  const issue = issued
    ? `Issued at ${issued.time} by ${nameOf(issued)}: ${issued.reason ?? 'no reason is known'}`
    : 'Issued before the period';
  const did = [...actions].map(([action, n]) => `${action} ${n}`).join(', ');
  return {
    ...{ id, name: null, environment: null, time: issued?.time ?? first },
    detail: `${issue}. ${uses ? `Used ${uses === 1 ? 'once' : `${uses} times`}: ${did}.` : 'Not used in the period.'}`,
    facts: {
      ...{ issued_at: issued?.time ?? null, issued_by: issued?.actor.id ?? null, issued_by_name: issued?.actor.name ?? null },
      ...{ reason: issued?.reason ?? null, uses, refused, first_used_at: first, last_used_at: last, user_agent },
    },
  };
}

export function newActivityChecks(period: Period): ActivityChecks {
  const emergencies = newEmergencies(period);
  const [operations, alarms, refusals] = [newTally(), newTally(), newTally()];
  const refused = { requests: 0 };
  const isEmergency = ({ action }: Entry) => (emergencyActions as readonly string[]).includes(action);

  const breakGlass = ({ complete, notes }: Coverage): Finding => {
    const tally = newTally();
    const tokens = [...emergencies.tokens.values()];
    for (const token of tokens) tally.add(() => emergencyEvidence(token));
    const isWhole = complete && emergencies.omitted() === 0;
    return findingOf('break-glass-use', {
      // Where the log was not read to its end, the issue may lie in the rest.
      status: statusBy({ fail: isWhole && tokens.some(emergencies.isUnexplained), warn: tokens.length > 0 || !isWhole }),
      tested: `Every audit entry of the period in which a break-glass token was issued or used. Warn: there is one. Fail: a token was used, and no issue with a reason is in the log.${notes}`,
      ...{ examined: tokens.length, tally, complete: isWhole },
    });
  };

  return {
    addRare(entry) {
      if (isByBreakGlass(entry)) emergencies.used(entry);
      if (entry.status >= 400) return;
      if (entry.action === ISSUE) emergencies.issued(entry);
      else if (isEmergency(entry))
        operations.add(() => evidenceOf(entry, `${entry.action} by ${nameOf(entry)}${entry.reason ? `: ${entry.reason}` : ''}.`));
      else if (entry.action === ALARM) alarms.add(() => evidenceOf(entry, `${entry.reason ?? 'An integrity violation'} was found.`));
    },
    addRefused(entry) {
      if (!isRefusedAdministration(entry)) return;
      refused.requests += entry.count;
      refusals.add(() => evidenceOf(entry, `${entry.action} was refused to ${nameOf(entry)}.`));
    },
    findings: (rare, partly) => [
      breakGlass(rare),
      findingOf('emergency-operations', {
        status: statusBy({ warn: operations.count > 0 || !rare.complete }),
        tested: `Every audit entry of the period for a panic, a containment, a recovery of access or the adoption of a backup that was carried out (${emergencyActions.join(', ')}). Warn: there is one.${rare.notes}`,
        ...{ examined: operations.count, tally: operations, complete: rare.complete },
      }),
      findingOf('refused-administration', {
        status: statusBy({ fail: refused.requests >= TOO_MANY_REFUSALS, warn: refused.requests >= MANY_REFUSALS }),
        tested: `How many administrative requests of the period were answered with 403, those that wait for approval included: ${counted(refused.requests, 'request')}. Warn: ${MANY_REFUSALS} or more. Fail: ${TOO_MANY_REFUSALS.toLocaleString('en')} or more.${partly.notes}`,
        ...{ examined: refused.requests, tally: refusals, complete: partly.complete },
      }),
      findingOf('integrity-alarms', {
        status: statusBy({ fail: alarms.count > 0, warn: !rare.complete }),
        tested: `Every audit entry of the period with the action ${ALARM}, which the service writes when stored data was altered or is missing. Fail: there is one.${rare.notes}`,
        ...{ examined: alarms.count, tally: alarms, complete: rare.complete },
      }),
    ],
  };
}
