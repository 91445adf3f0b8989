// The matrix of environments: a row for each name, a column for each environment, and a promotion of chosen
// names from one to another. Invariant: the service compares values by digests, so that nobody who compares
// appears as a reader.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { counted } from '../../counted';
import { useParameter } from '../../navigation/router';
import { environments } from '../../organisation/environments';
import { here, useList, vault } from '../../requests/api';
import { may, mayEverywhere } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { SelectField } from '../../ui/forms/field';
import { FilterText, useSettled } from '../../ui/lists/filters';
import { Listing } from '../../ui/lists/listing';
import { type Choosing, Lines } from '../../ui/lists/table';
import { Crumbs } from '../../ui/page';
import { Badge, Empty, PageHead, Time, type Tone } from '../../ui/parts';
import { MOST_PROMOTED, Promotion } from './promotion';

type Compared = components['schemas']['Compared'];
type ComparedPage = components['schemas']['ComparisonPage'];
type State = Compared['environments'][number];

/** More columns are too narrow to read. */
const MOST_COLUMNS = 6;

/** What a state means beside that of the environment to promote from. */
type Kind = 'source' | 'same' | 'different' | 'missing' | 'extra' | 'unknown';

const shown: Record<Kind, [label: string, tone: Tone]> = {
  source: ['Source', 'plain'],
  same: ['Same', 'good'],
  different: ['Different', 'warn'],
  missing: ['Missing', 'warn'],
  extra: ['Only here', 'accent'],
  unknown: ['Not compared', 'plain'],
};

const stateIn = ({ environments: states }: Compared, slug: string): State | undefined =>
  states.find(({ environment }) => environment === slug);

/** Compares a name in one environment with that in the one to promote from; null if it is in neither. */
export function kindOf(row: Compared, from: string, slug: string): Kind | null {
  const source = stateIn(row, from);
  const here = stateIn(row, slug);
  const isThere = source && source.status !== 'absent';
  if (!here || here.status === 'absent') return isThere && here ? 'missing' : null;
  if (slug === from) return 'source';
  if (!isThere) return 'extra';
  if (source.group === null || here.group === null) return 'unknown';
  return source.group === here.group ? 'same' : 'different';
}

/** Whether the environments have the same value, or none of them has the name. */
const isEven = (row: Compared, from: string, slugs: string[]): boolean =>
  slugs.every((slug) => ['source', 'same'].includes(kindOf(row, from, slug) ?? 'same'));

/** Reads the matrix page by page, and leaves out rows without a difference unless they are wanted. */
function useMatrix(from: string, slugs: string[], prefix: string, showsEven: boolean) {
  const names = slugs.join(',');
  return useList<Compared, ComparedPage>(
    ['secrets', 'compare', from, names, prefix, showsEven],
    (cursor, signal) =>
      vault().api.GET('/orgs/{org_id}/environments/compare', {
        params: {
          path: here(),
          query: { environments: names, prefix: prefix || undefined, limit: 100, cursor },
        },
        signal,
      }),
    ({ data }) => (showsEven ? data : data.filter((row) => !isEven(row, from, slugs))),
  );
}

/** The two environments of a promotion, from the address or the usual ones. */
function usePair(slugs: string[]) {
  const [left, setLeft] = useParameter('left');
  const [right, setRight] = useParameter('right');
  const from = slugs.includes(left) ? left : (slugs.find((slug) => slug !== right) ?? '');
  const to =
    slugs.includes(right) && right !== from ? right : (slugs.findLast((slug) => slug !== from) ?? '');
  return { from, setFrom: setLeft, to, setTo: setRight };
}

function Cell({ row, from, slug }: { row: Compared; from: string; slug: string }) {
  const kind = kindOf(row, from, slug);
  if (!kind) return <span class="dim">–</span>;
  const [label, tone] = shown[kind];
  const state = stateIn(row, slug);
  return (
    <span class="truncate" title={state?.version == null ? undefined : `Version ${state.version}`}>
      <Badge tone={tone}>{label}</Badge>{' '}
      {state?.version != null && (
        <span class="dim small">
          <Time at={state.time} />
        </span>
      )}
    </span>
  );
}

/** The cells of a row beside that of the source, in words, for phones. */
const inWords = (row: Compared, from: string, slugs: string[]): string =>
  slugs
    .flatMap((slug) => {
      const kind = kindOf(row, from, slug);
      return kind ? `${slug}: ${shown[kind][0].toLowerCase()}` : [];
    })
    .join(', ');

/** The chosen names of one pair of environments; what only the target has, to delete it there. */
function useNames(from: string, to: string, mayDelete: boolean) {
  const pair = `${from} ${to}`;
  const [kept, setKept] = useState({ pair, names: new Set<string>() });
  const names = kept.pair === pair ? kept.names : new Set<string>();
  const choosing: Choosing<Compared> = {
    nameOf: (row) => {
      const kind = kindOf(row, from, to);
      return kind && kind !== 'same' && (mayDelete || kind !== 'extra') ? row.name : null;
    },
    isChosen: ({ name }) => names.has(name),
    choose: (rows, isChosen) => {
      const next = new Set(names);
      for (const { name } of rows) isChosen ? next.add(name) : next.delete(name);
      setKept({ pair, names: next });
    },
  };
  return { names: [...names].sort(), choosing, clear: () => setKept({ pair, names: new Set() }) };
}

interface MatrixProps {
  from: string;
  to: string;
  slugs: string[];
}

function Matrix({ from, to, slugs }: MatrixProps) {
  const [prefix, setPrefix] = useParameter('prefix');
  const [all, setAll] = useParameter('all');
  const [isPromoting, setPromoting] = useState(false);
  const { names, choosing, clear } = useNames(from, to, may('secrets:delete', to));
  const list = useMatrix(from, slugs, useSettled(prefix), all !== '');
  const others = [to, ...slugs.filter((slug) => slug !== from && slug !== to)];
  const extra = list.rows
    .filter((row) => names.includes(row.name) && kindOf(row, from, to) === 'extra')
    .map(({ name }) => name);
  const mayPromote = may('secrets:read', from) && may('secrets:write', to);
  return (
    <>
      <search class="filters">
        <FilterText label="Name begins with" value={prefix} onValue={setPrefix} />
        <label class="row">
          <input
            type="checkbox"
            checked={all !== ''}
            onChange={(event) => setAll(event.currentTarget.checked ? 'true' : '')}
          />{' '}
          Show secrets that are the same
        </label>
      </search>
      <Listing<Compared>
        list={list}
        label="Environments"
        choosing={mayPromote ? choosing : undefined}
        keyOf={({ name }) => name}
        columns={[
          {
            label: 'Name',
            width: 'minmax(11rem, 2fr)',
            cell: (row) => (
              <Lines mono sub={inWords(row, from, others)}>
                {row.name}
              </Lines>
            ),
          },
          ...slugs.map((slug) => ({
            label: slug,
            width: 'minmax(0, 1fr)',
            wide: true,
            cell: (row: Compared) => <Cell row={row} from={from} slug={slug} />,
          })),
        ]}
        empty={
          <Empty title={all || prefix ? 'No secrets found' : 'No differences'}>
            {all || prefix ? 'Change the filters.' : `All environments have the values of ${from}.`}
          </Empty>
        }
      />
      {names.length > 0 && (
        <section class="note plain row chosen-bar" aria-label="Selection">
          <p class="grow" role="status">
            {counted(names.length, 'secret')} selected
            {names.length > MOST_PROMOTED ? `. At most ${MOST_PROMOTED} can be promoted at a time.` : ''}
          </p>
          <Button small kind="quiet" onPress={clear}>
            Clear
          </Button>
          <Button
            small
            kind="primary"
            disabled={names.length > MOST_PROMOTED}
            onPress={() => setPromoting(true)}
          >
            Promote to {to}
          </Button>
        </section>
      )}
      {isPromoting && (
        <Promotion
          from={from}
          to={to}
          names={names}
          extra={extra}
          onDone={clear}
          onClose={() => setPromoting(false)}
        />
      )}
    </>
  );
}

export default function Compare() {
  const slugs = environments.value.map(({ slug }) => slug).filter((slug) => may('secrets:list', slug));
  const { from, setFrom, to, setTo } = usePair(slugs);
  const choices = slugs.map((slug) => ({ value: slug, label: slug }));
  const columns = [from, to, ...slugs.filter((slug) => slug !== from && slug !== to)].slice(0, MOST_COLUMNS);
  return (
    <>
      <Crumbs places={[['/secrets', 'Secrets']]} />
      <PageHead title="Compare environments" lead="See which secrets differ. No value is read or shown." />
      {slugs.length < 2 ? (
        <Empty title="There is nothing to compare">
          {mayEverywhere('environments:write') && environments.value.length < 2
            ? 'There is only one environment. Create another one in the settings.'
            : 'You see the secrets of one environment only.'}
        </Empty>
      ) : (
        <>
          <div class="compared spaced">
            <SelectField label="Promote from" value={from} onValue={setFrom} choices={choices} />
            <SelectField
              label="Promote to"
              value={to}
              onValue={setTo}
              choices={choices.filter(({ value }) => value !== from)}
            />
          </div>
          <Matrix from={from} to={to} slugs={slugs.filter((slug) => columns.includes(slug))} />
        </>
      )}
    </>
  );
}
