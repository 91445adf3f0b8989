// The result or preview of a sync as a diff, with a line for each name and without values.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { Table } from '../../ui/lists/table';
import { Empty } from '../../ui/parts';

export type Result = components['schemas']['SyncResult'];
type Action = Result['action'];

/** In display order: the most important first. */
const SIGNS: Record<Action, [sign: string, done: string, would: string]> = {
  failed: ['!', 'Failed', 'Would fail'],
  created: ['+', 'Created', 'Would be created'],
  updated: ['~', 'Updated', 'Would be updated'],
  deleted: ['−', 'Deleted', 'Would be deleted'],
  skipped: ['·', 'Skipped', 'Would be skipped'],
  unchanged: ['=', 'Unchanged', 'Unchanged'],
};
const order = Object.keys(SIGNS) as Action[];

/** The number of names for each action, without zeros. */
export const countsOf = (results: Result[]): [Action, number][] =>
  order
    .map((action): [Action, number] => [action, results.filter((result) => result.action === action).length])
    .filter(([, count]) => count > 0);

/** The number of names that a sync writes or deletes. */
export const changesIn = (results: Result[]): number =>
  results.filter(({ action }) => ['created', 'updated', 'deleted'].includes(action)).length;

/** The counts as a row of coloured labels. */
export const Counts = ({ results, isPlan }: { results: Result[]; isPlan?: boolean }) => (
  <p class="row counts">
    {countsOf(results).map(([action, count]) => (
      <span key={action} class={`plan-${action}`}>
        <strong>{count.toLocaleString()}</strong> {SIGNS[action][isPlan ? 2 : 1].toLowerCase()}
      </span>
    ))}
  </p>
);

const columnsFor = (isPlan: boolean, hasReasons: boolean) => [
  {
    label: 'Secret',
    width: 'minmax(10rem, 1.4fr)',
    cell: ({ name, action }: Result) => (
      <span class={`plan-line plan-${action}`}>
        <span class="plan-sign mono" aria-hidden="true">
          {SIGNS[action][0]}
        </span>
        <span class="mono truncate">{name}</span>
      </span>
    ),
  },
  {
    label: isPlan ? 'Preview' : 'Result',
    width: '9.5rem',
    cell: ({ action }: Result) => <span class={`plan-${action}`}>{SIGNS[action][isPlan ? 2 : 1]}</span>,
  },
  {
    label: 'Target name',
    width: 'minmax(9rem, 1fr)',
    wide: true,
    cell: ({ name, targetName }: Result) => (
      <span class={targetName === name ? 'mono truncate dim' : 'mono truncate'}>{targetName ?? '–'}</span>
    ),
  },
  ...(hasReasons
    ? [
        {
          label: 'Reason',
          width: 'minmax(9rem, 1.6fr)',
          wide: true,
          cell: ({ message, code }: Result) => (
            <span class="small dim plan-why" title={code}>
              {message ?? code}
            </span>
          ),
        },
      ]
    : []),
];

/** @param isPlan whether this is a preview */
export function Plan({ results, isPlan = false }: { results: Result[]; isPlan?: boolean }) {
  const [showSame, setShowSame] = useState(false);
  const same = results.filter(({ action }) => action === 'unchanged').length;
  const rows = results
    .filter(({ action }) => showSame || action !== 'unchanged' || same === results.length)
    .sort(
      (one, other) =>
        order.indexOf(one.action) - order.indexOf(other.action) || one.name.localeCompare(other.name),
    );
  return (
    <div class="stack plan">
      <div class="row">
        <Counts results={results} isPlan={isPlan} />
        <span class="grow" />
        {same > 0 && same < results.length && (
          <label class="row small">
            <input
              type="checkbox"
              checked={showSame}
              onChange={(event) => setShowSame(event.currentTarget.checked)}
            />{' '}
            Show unchanged
          </label>
        )}
      </div>
      <Table
        label={isPlan ? 'Preview' : 'Result'}
        rows={rows}
        columns={columnsFor(
          isPlan,
          rows.some(({ message, code }) => message || code),
        )}
        keyOf={({ name, targetName }) => `${name} ${targetName}`}
        empty={
          <Empty title="No secrets to sync">
            The environment is empty, or you do not have permission to read its secrets.
          </Empty>
        }
      />
    </div>
  );
}
