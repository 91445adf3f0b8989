// The filters of the audit log, as parameters of the address and as an API query.
import type { components } from '@secrets-vault/client';
import { useMemo } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import { changed } from '../../navigation/router';
import { VIEWS } from './actions';

export type Entry = components['schemas']['AuditEntry'];
export const OUTCOMES = ['success', 'denied', 'failed'] as const;

const HOUR = 3_600_000;
/** The length of each range, in milliseconds; `all` has no start. */
const RANGES: Record<string, number> = { '1h': HOUR, '24h': 24 * HOUR, '7d': 168 * HOUR, '30d': 720 * HOUR };

export const RANGE_CHOICES = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: 'all', label: 'All time' },
];
const USUAL_RANGE = '24h';

const NAMES = ['show', 'action', 'outcome', 'actor', 'resource', 'from', 'to', 'range'] as const;
export type FilterName = (typeof NAMES)[number];
export type Filters = Record<FilterName, string>;

/** The query of GET /audit-log. */
export interface Query {
  action?: string;
  outcome?: Entry['outcome'];
  actor?: string;
  resource?: string;
  from?: string;
  to?: string;
}

/** A time from the address in the format of the API; an invalid time is ignored. */
const timeOf = (text: string): string | undefined => {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
};

/** The active quick filter; none if an action or an outcome is selected directly. */
export const viewOf = ({ show, action, outcome }: Filters) =>
  action || outcome ? undefined : (VIEWS.find(({ value }) => value === show) ?? VIEWS[0]);

/** @param now in milliseconds: the end of the ranges */
export function queryOf(filters: Filters, now: number): Query {
  const { action, outcome, actor, resource, from, to, range } = filters;
  const isCustom = Boolean(from || to);
  const length = RANGES[range || USUAL_RANGE];
  return {
    ...viewOf(filters)?.query,
    ...(action && { action }),
    ...(OUTCOMES.includes(outcome as Entry['outcome']) && { outcome: outcome as Entry['outcome'] }),
    ...(actor && { actor }),
    ...(resource && { resource }),
    ...(isCustom
      ? { from: timeOf(from), to: timeOf(to) }
      : length && { from: new Date(now - length).toISOString() }),
  };
}

/** The filters in the address, the resulting query, and a function to change several of them. */
export function useFilters() {
  const [parameters, setParameters] = useSearchParams();
  const text = NAMES.map((name) => `${name}=${parameters.get(name) ?? ''}`).join('\n');
  const filters = useMemo(
    () => Object.fromEntries(NAMES.map((name) => [name, parameters.get(name) ?? ''])) as Filters,
    [text],
  );
  // The start of a range is fixed when it is chosen, so that the pages of the list are consistent.
  const query = useMemo(() => queryOf(filters, Date.now()), [filters]);
  const change = (part: Partial<Filters>) =>
    setParameters((before) => changed(before, { ...part, entry: '' }), { replace: true });
  return {
    filters: { ...filters, range: filters.range || USUAL_RANGE },
    query,
    change,
    isFiltered: Boolean(filters.action || filters.outcome || filters.actor || filters.resource),
  };
}
