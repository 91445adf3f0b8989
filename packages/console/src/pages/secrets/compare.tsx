// Compares two environments: names that exist only in one, and values that differ. Invariant: values are compared in the memory of
// this page and never shown; both bulk reads are recorded in the audit log.
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

interface Row {
  name: string;
  kind: Kind;
}

const valuesOf = async (environment: string) => {
  const { data } = await vault().api.GET('/orgs/{org_id}/environments/{environment}/values', {
    params: { path: { ...here(), environment } },
  });
  return data;
};

/** The differences between two sets of values. */
export function differences(left: Record<string, string>, right: Record<string, string>): Row[] {
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  return names.map((name) => {
    const [inLeft, inRight] = [Object.hasOwn(left, name), Object.hasOwn(right, name)];
    return { name, kind: inLeft && inRight ? (left[name] === right[name] ? 'same' : 'different') : inLeft ? 'left' : 'right' };
  });
}

const tones: Record<Kind, Tone> = { same: 'plain', different: 'warn', left: 'accent', right: 'accent' };

export default function Compare() {
  const [left, setLeft] = useParameter('left');
  const [right, setRight] = useParameter('right');
  const [found, setFound] = useState<{ left: string; right: string; rows: Row[]; withheld: string[] } | null>(null);
  const [showSame, setShowSame] = useState(false);
  const choices = [{ value: '', label: 'Choose one' }, ...environments.value.map(({ slug, name }) => ({ value: slug, label: name }))];
  const compare = async () => {
    const [one, other] = await Promise.all([valuesOf(left), valuesOf(right)]);
    const withheld = [...new Set([...one.withheld, ...other.withheld])];
    // A value that was not read in one of them must not count as missing there.
    const rows = differences(one.values, other.values).filter(({ name }) => !withheld.includes(name));
    setFound({ left, right, rows, withheld });
  };
  const words = (kind: Kind) =>
    ({ same: 'Same value', different: 'Different values', left: `Only in ${found?.left}`, right: `Only in ${found?.right}` })[kind];
  const rows = found?.rows.filter(({ kind }) => showSame || kind !== 'same') ?? [];
  return (
    <>
      <Crumbs places={[['/secrets', 'Secrets']]} />
      <PageHead title="Compare environments" lead="See which secrets differ. Values are compared in your browser and not shown." />
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
            <input type="checkbox" checked={showSame} onChange={(event) => setShowSame(event.currentTarget.checked)} /> Show secrets that
            are the same
          </label>
        )}
      </div>
      {found?.withheld.length ? (
        <p class="note warn spaced">Not compared, because reading requires approval: {found.withheld.join(', ')}</p>
      ) : null}
      {found && (
        <Table
          label="Differences"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { label: 'Name', width: 'minmax(12rem, 2fr)', cell: ({ name }) => <span class="mono truncate">{name}</span> },
            { label: 'Difference', width: 'minmax(9rem, 1fr)', cell: ({ kind }) => <Badge tone={tones[kind]}>{words(kind)}</Badge> },
          ]}
          empty={
            <Empty title={found.rows.length || !found.withheld.length ? 'No differences' : 'Nothing was compared'}>
              {found.rows.length
                ? `All ${found.rows.length} compared secrets have the same values.`
                : found.withheld.length
                  ? 'A policy requires approval to read these values.'
                  : 'Both environments are empty.'}
            </Empty>
          }
        />
      )}
    </>
  );
}
