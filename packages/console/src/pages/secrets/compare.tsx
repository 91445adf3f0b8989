// Compares two environments: names that exist only in one, and values that differ. Invariant: the service
// compares values by digests, so that nobody who compares appears as a reader.
import type { components } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { here, vault } from '../../api';
import { environments } from '../../environments';
import { useParameter } from '../../router';
import { Button } from '../../ui/button';
import { SelectField } from '../../ui/field';
import { Crumbs } from '../../ui/page';
import { Badge, Empty, PageHead, type Tone } from '../../ui/parts';
import { Table } from '../../ui/table';

type Kind = 'same' | 'different' | 'left' | 'right';

type Compared = components['schemas']['Compared'];
type Status = Compared['environments'][number]['status'];

interface Row {
  name: string;
  kind: Kind;
}

/** All names of two environments, with their states. */
async function comparisonOf(left: string, right: string): Promise<Compared[]> {
  const rows: Compared[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { environments: `${left},${right}`, limit: 100, cursor };
    const { data } = await vault().api.GET('/orgs/{org_id}/environments/compare', {
      params: { path: here(), query },
    });
    rows.push(...data.data);
    if (!data.next_cursor) return rows;
    cursor = data.next_cursor;
  }
}

/** What the states of a name in two environments mean; null if its values cannot be compared. */
export function kindOf(left: Status | undefined, right: Status | undefined): Kind | null {
  if (left === 'absent') return 'right';
  if (right === 'absent') return 'left';
  return left === right && (left === 'same' || left === 'different') ? left : null;
}

const tones: Record<Kind, Tone> = { same: 'plain', different: 'warn', left: 'accent', right: 'accent' };

export default function Compare() {
  const [left, setLeft] = useParameter('left');
  const [right, setRight] = useParameter('right');
  const [found, setFound] = useState<{ left: string; right: string; rows: Row[]; withheld: string[] } | null>(
    null,
  );
  const [showSame, setShowSame] = useState(false);
  const choices = [
    { value: '', label: 'Choose one' },
    ...environments.value.map(({ slug, name }) => ({ value: slug, label: name })),
  ];
  const compare = async () => {
    const all = (await comparisonOf(left, right)).map(({ name, environments }) => ({
      name,
      kind: kindOf(environments[0]?.status, environments[1]?.status),
    }));
    const rows = all.filter((row): row is Row => row.kind !== null);
    setFound({
      left,
      right,
      rows,
      withheld: all.filter(({ kind }) => kind === null).map(({ name }) => name),
    });
  };
  const words = (kind: Kind) =>
    ({
      same: 'Same value',
      different: 'Different values',
      left: `Only in ${found?.left}`,
      right: `Only in ${found?.right}`,
    })[kind];
  const rows = found?.rows.filter(({ kind }) => showSame || kind !== 'same') ?? [];
  return (
    <>
      <Crumbs places={[['/secrets', 'Secrets']]} />
      <PageHead title="Compare environments" lead="See which secrets differ. No value is read or shown." />
      <div class="compared spaced">
        <SelectField label="First environment" value={left} onValue={setLeft} choices={choices} />
        <SelectField label="Second environment" value={right} onValue={setRight} choices={choices} />
        <Button kind="primary" disabled={!left || !right || left === right} onPress={compare}>
          Compare
        </Button>
      </div>
      <div class="row spaced">
        {found && (
          <label class="row">
            <input
              type="checkbox"
              checked={showSame}
              onChange={(event) => setShowSame(event.currentTarget.checked)}
            />{' '}
            Show secrets that are the same
          </label>
        )}
      </div>
      {found?.withheld.length ? (
        <p class="note warn spaced">
          Not compared, because you cannot read the values now: {found.withheld.join(', ')}
        </p>
      ) : null}
      {found && (
        <Table
          label="Differences"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            {
              label: 'Name',
              width: 'minmax(12rem, 2fr)',
              cell: ({ name }) => <span class="mono truncate">{name}</span>,
            },
            {
              label: 'Difference',
              width: 'minmax(9rem, 1fr)',
              cell: ({ kind }) => <Badge tone={tones[kind]}>{words(kind)}</Badge>,
            },
          ]}
          empty={
            <Empty
              title={found.rows.length || !found.withheld.length ? 'No differences' : 'Nothing was compared'}
            >
              {found.rows.length
                ? `All ${found.rows.length} compared secrets have the same values.`
                : found.withheld.length
                  ? 'You cannot read these values now: a policy may require approval.'
                  : 'Both environments are empty.'}
            </Empty>
          }
        />
      )}
    </>
  );
}
