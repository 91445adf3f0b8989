// Which audit entries a compliance report examines. Pure; the gate and the walk over closed segments use the
// same rules.
import type { Entry } from '../../gate/audit/entry';

/** Actions that change an organisation profoundly or that only an emergency calls for. */
export const emergencyActions = [
  'org.accept_clock',
  'org.adopt',
  'org.panic',
  'org.recover',
  'org.reset_gate',
  'credential.contain',
] as const;
export const ALARM = 'integrity.alarm';
export const ISSUE = 'break_glass.create';

/** Actions of which every entry counts, in addition to everything that a break-glass token does. */
export const rareActions: readonly string[] = [...emergencyActions, ALARM, ISSUE];

/** Prefixes of administrative actions: on members, credentials, policies and the organisation itself. */
export const administrative: readonly string[] = [
  ...[
    'org.',
    'environment.',
    'member.',
    'passkey.',
    'team.',
    'team_member.',
    'grant.',
    'api_key.',
    'access_token.',
    'agent.',
  ],
  ...[
    'provider_token.',
    'break_glass.',
    'scim_token.',
    'scim.',
    'credential.',
    'policy.',
    'approval.',
    'device.',
    'trust.',
    'audit.',
    'compliance.',
    'domain.',
    'sso_connection.',
  ],
];

export const isByBreakGlass = ({ actor }: Entry): boolean => actor.kind === 'break_glass';
export const isRare = (entry: Entry): boolean => isByBreakGlass(entry) || rareActions.includes(entry.action);
/** A request that waits for approval is held, not refused. */
export const isRefusedAdministration = ({ status, action, approval }: Entry): boolean =>
  status === 403 && approval === undefined && administrative.some((prefix) => action.startsWith(prefix));
export const isOfInterest = (entry: Entry): boolean => isRare(entry) || isRefusedAdministration(entry);
