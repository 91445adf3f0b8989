// The filters of the audit log.
import { X } from 'lucide-preact';
import { useEffect, useId } from 'preact/hooks';
import { named } from '../../organisation/inventory';
import { useNames } from '../../organisation/people';
import { may } from '../../session/may';
import { FilterSelect, Segments, typedIn } from '../../ui/lists/filters';
import { tell } from '../../ui/toast';
import { ACTION_GROUPS, VIEWS } from './actions';
import { type FilterName, type Filters, OUTCOMES, RANGE_CHOICES, viewOf } from './filters';

interface BarProps {
  filters: Filters;
  change: (part: Partial<Filters>) => void;
}

interface IdProps {
  label: string;
  value: string;
  onValue: (value: string) => void;
  /** The id of the datalist with suggestions. */
  list?: string;
}

/** An id. Applied when typing is finished, because each read of the log creates an entry. */
const FilterId = ({ label, value, onValue, list }: IdProps) => (
  <input
    key={value}
    type="search"
    class="filter-id"
    aria-label={label}
    placeholder={`${label}: name or ID`}
    defaultValue={value}
    maxLength={300}
    spellcheck={false}
    autocomplete="off"
    list={list}
    onChange={(event) => typedIn(event.currentTarget, value, (text) => onValue(text.trim()))}
  />
);

const isId = (text: string): boolean => /^[a-z]{2,12}_[0-9A-Za-z]{22}$/.test(text);
const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** An actor by id, or by the name of a member or an API key. */
function ActorFilter({ value, onValue }: Pick<IdProps, 'value' | 'onValue'>) {
  const list = useId();
  const names = [...useNames()].filter(([id]) => /^(mem|key)_/.test(id));
  const idOf = (text: string) => names.find(([, name]) => isSame(name, text))?.[0];
  const found = value && !isId(value) ? idOf(value) : undefined;
  // A name from the address, or one that was typed before the names were read.
  useEffect(() => {
    if (found) onValue(found);
  }, [found]);
  return (
    <>
      <FilterId
        label="Actor"
        value={names.find(([id]) => id === value)?.[1] ?? value}
        onValue={(text) => onValue(idOf(text) ?? text)}
        list={list}
      />
      <datalist id={list}>
        {names.map(([id, name]) => (
          <option key={id} value={name} />
        ))}
      </datalist>
    </>
  );
}

/** The ids of the secrets with a name: the log knows resources only by id. */
const secretsNamed = async (name: string) =>
  (await named(name, 100, undefined, 'prefix')).filter((secret) => secret.name === name);

/** A resource by id, or by the name of a secret, member, team or API key. */
function ResourceFilter({ value, onValue }: Pick<IdProps, 'value' | 'onValue'>) {
  const names = useNames();
  const choose = async (text: string) => {
    const known = [...names].find(([, name]) => isSame(name, text))?.[0];
    const secrets =
      !text || known || isId(text) || !may('secrets:list') ? [] : await secretsNamed(text).catch(() => []);
    if (secrets.length > 1) {
      const places = secrets.map(({ environment }) => environment).sort();
      tell(`${text} is in ${places.join(', ')}`, 'Open the one you mean, and choose “View in audit log”.');
    } else onValue(known ?? secrets[0]?.id ?? text);
  };
  return <FilterId label="Resource" value={value} onValue={choose} />;
}

function ActionSelect({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  const isKnown = !value || ACTION_GROUPS.some(([, actions]) => actions.includes(value));
  return (
    <select aria-label="Action" value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      <option value="">All actions</option>
      {!isKnown && <option value={value}>{value}</option>}
      {ACTION_GROUPS.map(([label, actions]) => (
        <optgroup key={label} label={label}>
          {actions.map((action) => (
            <option key={action} value={action}>
              {action}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

const short = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const inWords = (text: string) => (Number.isNaN(Date.parse(text)) ? '…' : short.format(new Date(text)));

export function FilterBar({ filters, change }: BarProps) {
  const set = (name: FilterName) => (value: string) => change({ [name]: value });
  const isCustom = filters.from || filters.to;
  return (
    <search class="filters">
      <Segments
        label="Show"
        value={viewOf(filters)?.value ?? ''}
        onValue={(show) => change({ show: show === VIEWS[0]?.value ? '' : show, action: '', outcome: '' })}
        choices={VIEWS}
      />
      {isCustom ? (
        <button
          type="button"
          class="button plain"
          onClick={() => change({ from: '', to: '' })}
          aria-label="Clear this time range"
        >
          {inWords(filters.from)} – {filters.to ? inWords(filters.to) : 'now'}{' '}
          <X size={15} aria-hidden="true" />
        </button>
      ) : (
        <select
          aria-label="Time"
          value={filters.range}
          onChange={(event) => change({ range: event.currentTarget.value })}
        >
          {RANGE_CHOICES.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
      <ActionSelect value={filters.action} onValue={set('action')} />
      <FilterSelect
        label="Outcome"
        all="All outcomes"
        value={filters.outcome}
        onValue={set('outcome')}
        choices={OUTCOMES}
      />
      <ActorFilter value={filters.actor} onValue={set('actor')} />
      <ResourceFilter value={filters.resource} onValue={set('resource')} />
    </search>
  );
}
