// The draft in the form of a policy, and its conversion to the format of the API.
import type { components } from '@secrets-vault/client';
import { linesOf } from '../../globs';
import type { Selection } from '../../organisation/inventory';
import { type HeldOperation, isApproving, isNaming, type Kind, type Policy } from './words';

type Type = components['schemas']['Secret']['type'];

export interface Draft {
  kind: Kind;
  name: string;
  enabled: boolean;
  environments: string[];
  types: string[];
  names: string;
  pattern: string;
  when: 'age' | 'cron';
  days: string;
  cron: string;
  auto: boolean;
  operations: string[];
  required: string;
  /** `role:ROLE`, a team's id, or `accountable`. */
  approvers: string;
  breakGlass: boolean;
  /** Fields that the form does not show and that a change keeps. */
  repeats: { max_valid_seconds?: number; repeat_writes?: boolean };
}

export const emptyDraft = (): Draft => ({
  kind: 'approval',
  name: '',
  enabled: true,
  environments: [],
  types: [],
  names: '',
  pattern: '^[A-Z][A-Z0-9_]*$',
  when: 'age',
  days: '90',
  cron: '0 6 1 * *',
  auto: false,
  operations: ['secret.read'],
  required: '1',
  approvers: 'role:owner',
  breakGlass: true,
  repeats: {},
});

export function draftOf(policy: Policy): Draft {
  const { kind, name, enabled, applies_to, config } = policy;
  const common = {
    ...emptyDraft(),
    kind,
    name,
    enabled,
    environments: applies_to.environments ?? [],
    types: applies_to.types ?? [],
    names: applies_to.names?.join('\n') ?? '',
  };
  if (isNaming(config)) return { ...common, pattern: config.pattern };
  if (isApproving(config)) {
    const { operations, required, approvers, allow_break_glass, max_valid_seconds, repeat_writes } = config;
    return {
      ...common,
      operations,
      required: String(required),
      breakGlass: allow_break_glass ?? false,
      repeats: {
        ...(max_valid_seconds !== undefined && { max_valid_seconds }),
        ...(repeat_writes !== undefined && { repeat_writes }),
      },
      approvers:
        'accountable' in approvers
          ? 'accountable'
          : 'team_id' in approvers
            ? approvers.team_id
            : `role:${approvers.role}`,
    };
  }
  const { max_age_days, cron = '', auto_rotate = false } = config;
  return {
    ...common,
    when: cron ? 'cron' : 'age',
    days: String(max_age_days ?? 90),
    cron,
    auto: auto_rotate,
  };
}

export const selectionOf = ({ environments, types, names }: Draft): Selection => ({
  environments,
  types,
  names: linesOf(names),
});

const some = <Item>(list: Item[]): Item[] | null => (list.length ? list : null);

/** Name, state and selection. */
export const commonOf = ({ name, enabled, environments, types, names }: Draft) => ({
  name,
  enabled,
  applies_to: { environments: some(environments), types: some(types as Type[]), names: some(linesOf(names)) },
});

export function configOf(draft: Draft) {
  if (draft.kind === 'naming') return { kind: draft.kind, config: { pattern: draft.pattern } };
  if (draft.kind === 'rotation') {
    const when = draft.when === 'cron' ? { cron: draft.cron } : { max_age_days: Number(draft.days) };
    return { kind: draft.kind, config: { ...when, auto_rotate: draft.auto } };
  }
  const role = draft.approvers.startsWith('role:') ? draft.approvers.slice(5) : null;
  const isAccountable = draft.approvers === 'accountable';
  return {
    kind: draft.kind,
    config: {
      operations: draft.operations as HeldOperation[],
      required: isAccountable ? 1 : Number(draft.required),
      approvers: isAccountable
        ? { accountable: true as const }
        : role
          ? { role: role as 'admin' }
          : { team_id: draft.approvers },
      allow_break_glass: draft.breakGlass,
      ...draft.repeats,
    },
  };
}
