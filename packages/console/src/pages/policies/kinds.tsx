// The fields of each kind of policy.
import { useTeams } from '../../organisation/people';
import { Checkbox, SelectField, TextField } from '../../ui/forms/field';
import type { Problems } from '../../ui/forms/form';
import { ChecksField, RadioField } from '../../ui/forms/options';
import type { Draft } from './draft';
import { operationWords } from './words';

export interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  problems: Problems;
}

const PATTERNS: [string, string][] = [
  ['^[A-Z][A-Z0-9_]*$', 'UPPER_CASE'],
  ['^([a-z0-9-]+/)+[A-Z][A-Z0-9_]*$', 'folder/UPPER_CASE'],
  ['^[a-z0-9]+(-[a-z0-9]+)*$', 'kebab-case'],
];

export const NamingFields = ({ draft, change, problems }: FieldsProps) => (
  <>
    <TextField
      label="Pattern"
      class="mono"
      spellcheck={false}
      value={draft.pattern}
      onValue={(pattern) => change({ pattern })}
      error={problems.of('config.pattern') ?? problems.of('config')}
      hint="A regular expression (RE2). Use ^ and $ to match the whole name."
      required
    />
    <div class="row" role="group" aria-label="Common patterns">
      {PATTERNS.map(([pattern, label]) => (
        <button
          key={pattern}
          type="button"
          class="button plain small mono"
          onClick={() => change({ pattern })}
        >
          {label}
        </button>
      ))}
    </div>
  </>
);

export const RotationFields = ({ draft, change, problems }: FieldsProps) => (
  <>
    <RadioField
      label="Rotation due"
      value={draft.when}
      onValue={(when) => change({ when: when as 'age' | 'cron' })}
      options={[
        { value: 'age', label: 'By age', hint: 'A number of days after a value was stored.' },
        { value: 'cron', label: 'At fixed times', hint: 'On a cron schedule, in UTC.' },
      ]}
    />
    {draft.when === 'age' ? (
      <TextField
        label="Days"
        type="number"
        min={1}
        max={3650}
        required
        value={draft.days}
        onValue={(days) => change({ days })}
        error={problems.of('config.max_age_days') ?? problems.of('config')}
      />
    ) : (
      <TextField
        label="Cron expression"
        class="mono"
        required
        value={draft.cron}
        onValue={(cron) => change({ cron })}
        error={problems.of('config.cron') ?? problems.of('config')}
        hint="Minute, hour, day of month, month, day of week. 0 6 1 * * is the first of each month at 06:00 UTC."
      />
    )}
    <Checkbox
      label="Rotate automatically"
      hint="Replaces due values that the service generated, for secrets that allow it. For all others it only reports that they are due."
      checked={draft.auto}
      onChecked={(auto) => change({ auto })}
    />
  </>
);

export function ApprovalFields({ draft, change, problems }: FieldsProps) {
  const { teams } = useTeams();
  return (
    <>
      <ChecksField
        label="Requires approval"
        value={draft.operations}
        onValue={(operations) => change({ operations })}
        options={Object.entries(operationWords).map(([value, label]) => ({ value, label }))}
        error={problems.of('config.operations')}
      />
      <div class="columns">
        <SelectField
          label="Approvers"
          value={draft.approvers}
          onValue={(approvers) => change({ approvers })}
          error={problems.of('config.approvers')}
          choices={[
            { value: 'role:owner', label: 'Owners' },
            { value: 'role:admin', label: 'Admins' },
            { value: 'accountable', label: 'The members accountable for the agent' },
            ...teams.map(({ id, name }) => ({ value: id, label: `Team ${name}` })),
          ]}
        />
        {draft.approvers !== 'accountable' && (
          <TextField
            label="Approvals required"
            type="number"
            min={1}
            max={5}
            required
            value={draft.required}
            onValue={(required) => change({ required })}
            error={problems.of('config.required')}
          />
        )}
      </div>
      <Checkbox
        label="Exempt break-glass tokens"
        hint="Allows access to secrets in an emergency when no approver is available."
        checked={draft.breakGlass}
        onChecked={(breakGlass) => change({ breakGlass })}
      />
    </>
  );
}
