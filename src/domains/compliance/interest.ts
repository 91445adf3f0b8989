// Which entries of the audit log a compliance report looks at. Pure, and decided alike in the gate and for closed segments.
import type { Entry } from '../../gate/audit-entry';

/** Actions that leave no organisation as it was, or that only an emergency asks for. */
export const emergencyActions = ['org.adopt', 'org.panic', 'org.recover', 'credential.contain'] as const;
export const ALARM = 'integrity.alarm';
export const ISSUE = 'break_glass.create';

/** Actions of which every entry counts, besides all that a break-glass token does. */
export const rareActions: readonly string[] = [...emergencyActions, ALARM, ISSUE];

/** What administrative actions begin with: those on people, credentials, rules and the organisation itself. */
export const administrative: readonly string[] = [
  ...['org.', 'environment.', 'member.', 'passkey.', 'team.', 'team_member.', 'grant.', 'api_key.', 'access_token.', 'agent.'],
  ...['provider_token.', 'break_glass.', 'credential.', 'policy.', 'approval.', 'device.', 'audit.', 'compliance.'],
];

export const isByBreakGlass = ({ actor }: Entry): boolean => actor.kind === 'break_glass';
export const isRare = (entry: Entry): boolean => isByBreakGlass(entry) || rareActions.includes(entry.action);
/** What waits for approval is held and not refused. */
export const isRefusedAdministration = ({ status, action, approval }: Entry): boolean =>
  status === 403 && approval === undefined && administrative.some((prefix) => action.startsWith(prefix));
export const isOfInterest = (entry: Entry): boolean => isRare(entry) || isRefusedAdministration(entry);
