// One folder and one line: a domain that only this test has works in a real gate, whose code does not name
// it. Its rows are recovered and restored, its events and tasks run, its quota holds, and a call that fails
// anywhere leaves nothing half done.
import { beforeEach, expect, it } from 'vitest';
import type { Action } from '../../src/auth/actions';
import { catalogueOf, domains } from '../../src/domains';
import type { Reply } from '../../src/gate/request/call';
import { runTasks } from '../../src/gate/tasks/run';
import { faults, faultsOf, reset } from '../support/faults';
import { askOf, evict, gateOf, inCore, loseStorage } from '../support/gate';
import { sampled } from '../support/limits/sampled';
import { slow } from '../support/slow';
import { BOOTSTRAP, type Caller, db, newOrg, send, useWorld } from '../support/world';
import { domain } from './widgets';
import { WIDGETS } from './widgets/rows';

useWorld();
const catalogue = catalogueOf([...domains, domain]);
beforeEach(async () => {
  faults.catalogue = catalogue;
  await db.prepare(WIDGETS).run();
});

/** Changes a widget, as the service itself. */
async function change(o: Caller, operation: string, id: string, name = '', repeated = false) {
  const ask = await askOf(o, 'widget.write' as Action, 'system', {
    operation,
    input: { id, name },
    repeated,
    path_org: null,
  });
  return ((await gateOf(o).call(ask)) as unknown as Reply).outcome;
}
const put = async (o: Caller, id: string, name: string) => change(o, 'widget.put', id, name);
const widgetsIn = (o: Caller) =>
  inCore(o, ({ rows }) =>
    rows.after('widget', '', 100).map(({ id, name, revision }) => [id, name, revision]),
  );
const inD1 = async (o: Caller) =>
  (
    await db.prepare('select id, name, revision from widgets where org_id = ? order by id').bind(o.id).raw()
  ).map((row) => [...row]);

it('domain: a change writes its row, raises its event, and schedules its task', async () => {
  const o = await newOrg();
  expect(await put(o, 'wid_1', 'one')).toMatchObject({ kind: 'ok', status: 200 });
  expect(await put(o, 'wid_1', 'two')).toMatchObject({ kind: 'ok' });
  expect(await widgetsIn(o)).toEqual([['wid_1', 'two', 2]]);
  expect(await inD1(o)).toEqual([['wid_1', 'two', 2]]);
  const events = await inCore(o, ({ outbox }) =>
    outbox.oldest(100).filter(({ type }) => (type as string) === 'WIDGET_CHANGED'),
  );
  expect(events.map(({ data }) => data)).toEqual([
    { from: null, to: 'one' },
    { from: 'one', to: 'two' },
  ]);
  faults.clock = Date.now() + 2000;
  await inCore(o, (core) => runTasks(core));
  expect(await inCore(o, ({ meta }) => [meta.get('widgets'), meta.get('widget:wid_1')])).toEqual([
    '1',
    'two',
  ]);
  expect(await change(o, 'widget.remove', 'wid_1')).toMatchObject({ kind: 'ok' });
  expect([
    await widgetsIn(o),
    await inD1(o),
    await inCore(o, ({ meta }) => meta.get('widget:wid_1')),
  ]).toEqual([[], [], null]);
});

it('domain: its quota holds', async () => {
  const o = await newOrg();
  for (const n of [1, 2, 3]) expect(await put(o, `wid_${n}`, `n${n}`)).toMatchObject({ kind: 'ok' });
  expect(await put(o, 'wid_4', 'n4')).toMatchObject({ kind: 'refused', refusal: { code: 'LIMIT_REACHED' } });
});

slow('domain: a gate that lost its storage has its rows again, except those that were altered', async () => {
  const o = await newOrg();
  await put(o, 'wid_1', 'one');
  await put(o, 'wid_2', 'two');
  await db.prepare("update widgets set name = 'altered' where org_id = ? and id = 'wid_2'").bind(o.id).run();
  await loseStorage(o);
  expect((await o.get('/environments')).status).toBe(200);
  expect(await widgetsIn(o)).toEqual([['wid_1', 'one', 1]]);
});

it('domain: restoring a database keeps what the gate knows of its rows', async () => {
  const o = await newOrg();
  await put(o, 'wid_1', 'one');
  const backup = (await db.prepare('select * from widgets where org_id = ?').bind(o.id).all()).results;
  await put(o, 'wid_1', 'two');
  await db.prepare('delete from widgets where org_id = ?').bind(o.id).run();
  expect(backup).toHaveLength(1);
  const { status } = await send('POST', `/api/v1/orgs/${o.id}/adopt`, {
    token: BOOTSTRAP,
    body: { reason: 'a test of restores' },
  });
  expect(status).toBe(200);
  expect(await widgetsIn(o)).toEqual([['wid_1', 'two', 2]]);
  expect(await inD1(o)).toEqual([['wid_1', 'two', 2]]);
});

slow('domain: a call that fails anywhere leaves nothing half done', async () => {
  const o = await newOrg();
  await put(o, 'wid_1', 'zero');
  Object.assign(faults, { d1: 0, gate: 0, statements: 0 });
  await put(o, 'wid_1', 'one');
  const calls = { statements: faults.statements, d1: faults.d1, gate: 0 };
  expect(calls.d1).toBeGreaterThan(0);
  let n = 0;
  for (const { what, how } of sampled([...faultsOf(calls)], 5)) {
    const name = `n${++n}`;
    Object.assign(faults, how, { d1: 0, gate: 0, statements: 0 });
    await put(o, 'wid_1', name).catch(() => null);
    const { orphans } = faults;
    reset();
    faults.catalogue = catalogue;
    for (const run of orphans) await run().catch(() => null);
    await evict(o).catch(() => null);
    // A change in doubt is settled by the next one.
    let outcome = await put(o, 'wid_1', `${name}!`);
    for (let tries = 0; outcome.kind !== 'ok' && tries < 5; tries++)
      outcome = await put(o, 'wid_1', `${name}!`);
    expect(outcome, what).toMatchObject({ kind: 'ok' });
    expect(await inD1(o), what).toEqual(await widgetsIn(o));
    expect((await widgetsIn(o))[0]?.[1], what).toBe(`${name}!`);
  }
  expect(n).toBeGreaterThan(3);
});
