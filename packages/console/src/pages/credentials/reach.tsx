// The fields that bound a credential: scopes, environments, names, lifetime, addresses. Invariant: they begin with the least, and a
// preview shows which secrets they reach now.
import { covers } from '@secrets-vault/client';
import { environments } from '../../environments';
import { linesOf } from '../../globs';
import { type Selection, useSelected } from '../../inventory';
import { may } from '../../may';
import { scopeGroups } from '../../scopes';
import { Checkbox, SelectField, TextArea } from '../../ui/field';
import type { Problems } from '../../ui/form';
import { ChecksField, RadioField } from '../../ui/options';

export interface Reach {
  scopes: string[];
  isCustom: boolean;
  environments: string[];
  /** Whether all environments, later ones too. */
  isEverywhere: boolean;
  /** Glob patterns, one a line. */
  names: string;
  /** Seconds; '' for no end. */
  lifetime: string;
  addresses: string;
}

/** The least that is of use: values of one environment, the least sensitive one, for 30 days. */
export const leastReach = (): Reach => ({
  scopes: ['secrets:read'],
  isCustom: false,
  environments: environments.value.slice(0, 1).map(({ slug }) => slug),
  isEverywhere: false,
  names: '',
  lifetime: '2592000',
  addresses: '',
});

const PRESETS: [string[], string, string][] = [
  [['secrets:read'], 'Read secrets', 'Values and names. For most programs.'],
  [['secrets:read', 'secrets:rotate'], 'Read and rotate secrets', 'Also gives new values.'],
  [['secrets:read', 'secrets:write'], 'Read and write secrets', 'Also creates and changes them.'],
];
const keyOf = (scopes: string[]) => [...scopes].sort().join(' ');

/** Whether scopes are other than those that the form offers by name. */
export const isCustom = (scopes: string[]): boolean => !PRESETS.some(([preset]) => keyOf(preset) === keyOf(scopes));

interface Props {
  reach: Reach;
  change: (part: Partial<Reach>) => void;
  problems: Problems;
}

export function ScopeFields({ reach, change, problems }: Props) {
  const preset = reach.isCustom ? 'custom' : keyOf(reach.scopes);
  return (
    <>
      <RadioField
        label="What it may do"
        value={preset}
        error={problems.of('scopes')}
        onValue={(value) =>
          value === 'custom'
            ? change({ isCustom: true })
            : change({ isCustom: false, scopes: PRESETS.find(([scopes]) => keyOf(scopes) === value)?.[0] ?? reach.scopes })
        }
        options={[
          ...PRESETS.map(([scopes, label, hint]) => ({ value: keyOf(scopes), label, hint })),
          { value: 'custom', label: 'Choose scopes', hint: reach.isCustom ? `${reach.scopes.length} chosen` : undefined },
        ]}
      />
      {reach.isCustom && (
        <div class="scopes">
          {scopeGroups
            .filter(({ resource, scopes }) => scopes.some(([verb]) => may(`${resource}:${verb}`)))
            .map(({ resource, label, scopes }) => (
              <ChecksField
                key={resource}
                label={label}
                value={reach.scopes}
                onValue={(next) => change({ scopes: next })}
                options={scopes
                  .filter(([verb]) => may(`${resource}:${verb}`))
                  .map(([verb, words]) => ({ value: `${resource}:${verb}`, label: verb, hint: words }))}
              />
            ))}
        </div>
      )}
    </>
  );
}

/** Which secrets a selection reaches now: how many, and the first of them. */
export function Hits({ selection, words }: { selection: Selection; words: string }) {
  const { secrets, isWhole, error, isPending } = useSelected(selection);
  if (error || isPending) return null;
  const first = secrets.slice(0, 6).map(({ name, environment }) => `${name} (${environment})`);
  return (
    <div class="note hits" role="status">
      <p>
        {words} <strong>{secrets.length.toLocaleString()}</strong> {secrets.length === 1 ? 'secret' : 'secrets'} now
        {isWhole ? '.' : ', of the first 1,000.'}
      </p>
      {first.length > 0 && (
        <p class="small dim mono names">
          {first.join(', ')}
          {secrets.length > first.length ? ' …' : ''}
        </p>
      )}
    </div>
  );
}

export function PlaceFields({ reach, change, problems, withHits = true }: Props & { withHits?: boolean }) {
  return (
    <>
      <div class="stack tight">
        {!reach.isEverywhere && (
          <ChecksField
            label="Environments"
            value={reach.environments}
            onValue={(chosen) => change({ environments: chosen })}
            options={environments.value.map(({ slug, name }) => ({ value: slug, label: name }))}
            error={problems.of('environments')}
          />
        )}
        <Checkbox
          label="All environments"
          hint="Also those that are created later."
          checked={reach.isEverywhere}
          onChecked={(isEverywhere) => change({ isEverywhere })}
        />
      </div>
      <TextArea
        label="Only these names"
        optional
        class="mono"
        rows={2}
        spellcheck={false}
        value={reach.names}
        onValue={(names) => change({ names })}
        error={problems.of('secrets')}
        hint="One a line; * stands for any run of characters, such as billing/*. Empty: every name."
      />
      {withHits && covers(reach.scopes, 'secrets:read') && (
        <Hits words="It can read" selection={{ environments: reach.isEverywhere ? [] : reach.environments, names: linesOf(reach.names) }} />
      )}
    </>
  );
}

export const LIFETIMES = [
  { value: '86400', label: '1 day' },
  { value: '604800', label: '7 days' },
  { value: '2592000', label: '30 days' },
  { value: '7776000', label: '90 days' },
  { value: '31536000', label: '1 year' },
];

export const LifetimeField = ({ reach, change, problems, canStay }: Props & { canStay: boolean }) => (
  <SelectField
    label="Expires after"
    value={reach.lifetime}
    onValue={(lifetime) => change({ lifetime })}
    choices={canStay ? [...LIFETIMES, { value: '', label: 'Never: until somebody revokes it' }] : LIFETIMES}
    error={problems.of('ttlSeconds')}
  />
);

export const AddressField = ({ reach, change, problems }: Props) => (
  <TextArea
    label="Only from these addresses"
    optional
    class="mono"
    rows={2}
    spellcheck={false}
    value={reach.addresses}
    onValue={(addresses) => change({ addresses })}
    error={problems.of('allowed_addresses')}
    hint="IP addresses or ranges, one a line, such as 203.0.113.0/24. Empty: from anywhere."
  />
);

/** The bounds as the API takes them. */
export const boundsOf = (reach: Reach) => ({
  ...(!reach.isEverywhere && { environments: reach.environments }),
  ...(linesOf(reach.names).length && { secrets: linesOf(reach.names) }),
  ...(linesOf(reach.addresses).length && { allowed_addresses: linesOf(reach.addresses) }),
});
