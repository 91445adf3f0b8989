// Rows, lists and names that stay in memory: always what is stored.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SecretRow } from '../../../src/db/schema';
import { createRows } from '../../../src/gate/rows/store';
import { inGate } from '../../support/gate';

const IDS = ['sec_1', 'sec_2', 'sec_3', 'sec_4'];
const SPACES = ['env_1', 'env_2'];
/** One of them is too long to stay in memory. */
const LONG = { id: 'sec_4', description: 'x'.repeat(10_000) };
const secret = (id: string, environment_id: string, revision: number): SecretRow =>
  ({
    id,
    environment_id,
    name: `N_${id}`,
    revision,
    deleted_at: null,
    sealed_size: 1,
    ...(id === LONG.id && LONG),
  }) as SecretRow;

const written = (row: SecretRow | null | undefined) => row && [row.id, row.environment_id, row.revision];

const one = fc.constantFrom(...IDS);
const space = fc.constantFrom(...SPACES);
const step = fc.oneof(
  fc.record({ do: fc.constant('put' as const), id: one, space }),
  fc.record({ do: fc.constant('bury' as const), id: one }),
  fc.record({ do: fc.constant('forget' as const), id: one }),
  fc.record({ do: fc.constant('clear' as const) }),
);

it('rows: what stays in memory, absence included, is what is stored', () =>
  inGate({ id: 'org_rows' }, (_gate, { storage }) => {
    const { sql } = storage;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        sql.exec('drop table if exists rows');
        const rows = createRows(sql);
        const stored = new Map<string, SecretRow>();
        steps.forEach((each, n) => {
          if (each.do === 'put') {
            const row = secret(each.id, each.space, n);
            stored.set(each.id, row);
            rows.put('secret', row);
          } else if (each.do === 'clear') {
            stored.clear();
            rows.clear(['secret']);
          } else {
            stored.delete(each.id);
            if (each.do === 'bury') rows.bury('secret', each.id, n);
            else rows.forget('secret', each.id);
          }
          for (const id of IDS)
            expect(written(rows.get('secret', id))).toEqual(written(stored.get(id) ?? null));
          for (const environment of SPACES) {
            const there = [...stored.values()]
              .filter((row) => row.environment_id === environment)
              .sort((a, b) => (a.id < b.id ? -1 : 1));
            const within = rows.within('secret', environment).toSorted((a, b) => (a.id < b.id ? -1 : 1));
            expect(within.map(written)).toEqual(there.map(written));
            expect(rows.named(environment, '', '', 10)).toEqual(there.map(({ name, id }) => ({ name, id })));
            for (const id of IDS)
              expect(written(rows.find('secret', environment, `N_${id}`))).toEqual(
                written(there.find((row) => row.id === id) ?? null),
              );
          }
        });
      }),
      { numRuns: 60 },
    );
  }));
