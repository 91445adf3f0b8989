// The filters of the audit log.
import { X } from 'lucide-preact';
import { FilterSelect, Segments } from '../../ui/filters';
import { ACTION_GROUPS, VIEWS } from './actions';
import { type FilterName, type Filters, OUTCOMES, RANGE_CHOICES, viewOf } from './filters';

interface BarProps {
  filters: Filters;
  change: (part: Partial<Filters>) => void;
}

/** An id. Applied when typing is finished, because each read of the log creates an entry. */
const FilterId = ({ label, value, onValue }: { label: string; value: string; onValue: (value: string) => void }) => (
  <input
    key={value}
    type="search"
    class="filter-id mono"
    aria-label={label}
    placeholder={label}
    defaultValue={value}
    maxLength={300}
    spellcheck={false}
    autocomplete="off"
    onChange={(event) => onValue(event.currentTarget.value.trim())}
  />
);

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

const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' });
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
        <button type="button" class="button plain" onClick={() => change({ from: '', to: '' })} aria-label="Clear this time range">
          {inWords(filters.from)} – {filters.to ? inWords(filters.to) : 'now'} <X size={15} aria-hidden="true" />
        </button>
      ) : (
        <select aria-label="Time" value={filters.range} onChange={(event) => change({ range: event.currentTarget.value })}>
          {RANGE_CHOICES.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
      <ActionSelect value={filters.action} onValue={set('action')} />
      <FilterSelect label="Outcome" all="All outcomes" value={filters.outcome} onValue={set('outcome')} choices={OUTCOMES} />
      <FilterId label="Actor ID" value={filters.actor} onValue={set('actor')} />
      <FilterId label="Resource ID" value={filters.resource} onValue={set('resource')} />
    </search>
  );
}
