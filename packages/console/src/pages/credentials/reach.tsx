// The fields that restrict a credential: scopes, environments, names, lifetime, addresses. Invariant: they
// start with the least access, and a preview shows the secrets they currently cover.
import { covers } from '@secrets-vault/client';
import { linesOf } from '../../globs';
import { environments } from '../../organisation/environments';
import { type Selection, useSelected } from '../../organisation/inventory';
import { isEverywhere, may } from '../../session/may';
import { scopeGroups } from '../../session/scopes';
import { Checkbox, SelectField, TextArea } from '../../ui/forms/field';
import type { Problems } from '../../ui/forms/form';
import { ChecksField, RadioField } from '../../ui/forms/options';

export interface Reach {
  scopes: string[];
  isCustom: boolean;
  environments: string[];
  /** Whether it covers all environments, including future ones. */
  isEverywhere: boolean;
  /** Glob patterns, one per line. */
  names: string;
  /** Seconds; '' for no expiry. */
  lifetime: string;
  addresses: string;
}

/** The least useful access: read the least sensitive environment for 30 days. */
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
  [['secrets:read'], 'Read secrets', 'Read names and values. Enough for most programs.'],
  [['secrets:read', 'secrets:rotate'], 'Read and rotate secrets', 'Also set new values.'],
  [['secrets:read', 'secrets:write'], 'Read and write secrets', 'Also create and change secrets.'],
];
const keyOf = (scopes: string[]) => [...scopes].sort().join(' ');

/** Whether the scopes differ from the presets of the form. */
export const isCustom = (scopes: string[]): boolean =>
  !PRESETS.some(([preset]) => keyOf(preset) === keyOf(scopes));

interface Props {
  reach: Reach;
  change: (part: Partial<Reach>) => void;
  problems: Problems;
}

export function ScopeFields({ reach, change, problems }: Props) {
  const isOwn = reach.isCustom || isCustom(reach.scopes);
  const preset = isOwn ? 'custom' : keyOf(reach.scopes);
  return (
    <>
      <RadioField
        label="Permissions"
        value={preset}
        error={problems.of('scopes')}
        onValue={(value) =>
          value === 'custom'
            ? change({ isCustom: true })
            : change({
                isCustom: false,
                scopes: PRESETS.find(([scopes]) => keyOf(scopes) === value)?.[0] ?? reach.scopes,
              })
        }
        options={[
          ...PRESETS.map(([scopes, label, hint]) => ({ value: keyOf(scopes), label, hint })),
          {
            value: 'custom',
            label: 'Choose scopes',
            hint: isOwn ? `${reach.scopes.length} chosen` : undefined,
          },
        ]}
      />
      {isOwn && (
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

/** The secrets that a selection covers now: the count, and the first names. */
export function Hits({ selection, words }: { selection: Selection; words: string }) {
  const { secrets, isWhole, error, isPending } = useSelected(selection);
  if (error || isPending) return null;
  const first = secrets.slice(0, 6).map(({ name, environment }) => `${name} (${environment})`);
  return (
    <div class="note hits" role="status">
      <p>
        {words} <strong>{secrets.length.toLocaleString()}</strong>{' '}
        {secrets.length === 1 ? 'secret' : 'secrets'} now
        {isWhole ? '.' : ' among the first 1,000.'}
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
        {(isEverywhere() || reach.isEverywhere) && (
          <Checkbox
            label="All environments"
            hint="Including environments created later."
            checked={reach.isEverywhere}
            onChecked={(chosen) => change({ isEverywhere: chosen })}
          />
        )}
      </div>
      <TextArea
        label="Secret names"
        optional
        class="mono"
        rows={2}
        spellcheck={false}
        value={reach.names}
        onValue={(names) => change({ names })}
        error={problems.of('secrets')}
        hint="One per line. * matches any characters, such as billing/*. Leave empty to allow every name."
      />
      {withHits && covers(reach.scopes, 'secrets:read') && (
        <Hits
          words="It can read"
          selection={{
            environments: reach.isEverywhere ? [] : reach.environments,
            names: linesOf(reach.names),
          }}
        />
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
    choices={canStay ? [...LIFETIMES, { value: '', label: 'Never' }] : LIFETIMES}
    error={problems.of('ttlSeconds')}
  />
);

export const AddressField = ({ reach, change, problems }: Props) => (
  <TextArea
    label="Allowed IP addresses"
    optional
    class="mono"
    rows={2}
    spellcheck={false}
    value={reach.addresses}
    onValue={(addresses) => change({ addresses })}
    error={problems.of('allowed_addresses')}
    hint="IP addresses or ranges, one per line, such as 203.0.113.0/24. Leave empty to allow any address."
  />
);

/** The restrictions in the format of the API. */
export const boundsOf = (reach: Reach) => ({
  ...(!reach.isEverywhere && { environments: reach.environments }),
  ...(linesOf(reach.names).length && { secrets: linesOf(reach.names) }),
  ...(linesOf(reach.addresses).length && { allowed_addresses: linesOf(reach.addresses) }),
});
