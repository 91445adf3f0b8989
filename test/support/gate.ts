// The gate of an organisation, as tests look into it, evict it and have it lose what it stores; and the
// organisation's keys.

import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import type { Action } from '../../src/auth/actions';
import { newId } from '../../src/db/ids';
import { type Env, type Settings, settingsOf } from '../../src/env';
import type { Core } from '../../src/gate/core';
import { formerSessions } from '../../src/gate/identity/former-sessions';
import { mirror } from '../../src/gate/journal/mirror';
import type { Ask } from '../../src/gate/request/call';
import { runTasks } from '../../src/gate/tasks/run';
import { keyringOf, type OrgKeys } from '../../src/keys/keyring';
import type { Gate } from '../../src/objects/gate';

/** An organisation, by its id. */
interface Org {
  id: string;
}

export const gateOf = ({ id }: Org) =>
  (env as unknown as { GATE: DurableObjectNamespace<Gate> }).GATE.getByName(id);

export const inGate = <T>(
  o: Org,
  run: (gate: Gate, state: DurableObjectState) => T | Promise<T>,
): Promise<T> => runInDurableObject(gateOf(o), (gate, state) => run(gate as unknown as Gate, state));

export const inCore = <T>(o: Org, run: (core: Gate['core']) => T | Promise<T>): Promise<T> =>
  inGate(o, ({ core }) => run(core));

export const evict = (o: Org) => evictDurableObject(gateOf(o));

/** Deletes all that a gate stores; the next call starts a gate without it. */
export async function loseStorage(o: Org): Promise<void> {
  await inGate(o, (_gate, { storage }) => storage.deleteAll());
  await evict(o);
}

/** A session token that has ended leaves the rows, as when the gate purges it. */
export const leaveRows = (o: Org, id: string): Promise<void> =>
  inCore(o, (core) =>
    core.storage.transactionSync(() => {
      const row = core.rows.get('credential', id);
      if (row) formerSessions(core).leave([row]);
      core.rows.forget('credential', id);
    }),
  );

/** As if retention had run every hour until a time: only after a leap of the clock is it held back. */
export const ageTo = ({ meta }: Core, at: number) => meta.set('age', JSON.stringify({ to: at, at }));

/** Runs the tasks of a gate as if it were later; `due`: up to which time tasks are run, if not up to then. */
export const runTasksLater = (o: Org, ms: number, due?: number) =>
  inCore(o, async (core) => {
    core.now = () => Date.now() + ms;
    ageTo(core, core.now());
    for (let i = 0; i < 12; i++) await runTasks(core, due);
    await mirror(core).follow();
    core.now = () => Date.now();
  });

/** The settings of the Worker under test. */
export const settings = () => settingsOf(env as unknown as Env) as Settings;

export const keyring = () => keyringOf(env as unknown as Env, settings().masterKeys);

export async function keysOf(o: Org): Promise<OrgKeys> {
  const keys = await keyring().org(o.id);
  if (!keys) throw new Error('no such org');
  return keys;
}

/** What the Worker asks of a gate for a caller. */
export async function askOf(
  o: Org,
  action: Action,
  bearer: Ask['bearer'],
  fields: Partial<Ask> = {},
): Promise<Ask> {
  const { row, answer } = await keysOf(o);
  return {
    org: o.id,
    action,
    operation: action,
    bearer,
    path_org: o.id,
    named: {},
    finding: null,
    input: {},
    idempotency: null,
    one_time: null,
    again: false,
    repeated: false,
    keys: { row, answer },
    request: { id: newId('req'), ip: '203.0.113.7', user_agent: null, reason: null, place: null },
    ...fields,
  };
}

/** The bearer of a member's browser session. */
export const browserBearer = (o: Org, session: string): Ask['bearer'] => ({
  kind: 'browser',
  org: o.id,
  hash: session,
  jwt: 1,
});

/** A copy of a gate's storage, by table. */
export type StorageCopy = [table: string, rows: Record<string, SqlStorageValue>[]][];

export const copyStorage = (o: Org): Promise<StorageCopy> =>
  inGate(o, (_gate, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>(
        "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\' and name not like 'sqlite%'",
      )
      .toArray()
      .map(({ name }) => [name, sql.exec(`select * from ${name}`).toArray()]),
  );

/** Puts a copy back, as an operator does with the files of a gate while the service is stopped. */
export async function putBackStorage(o: Org, copy: StorageCopy): Promise<void> {
  await inGate(o, (_gate, { storage }) =>
    storage.transactionSync(() => {
      for (const [table, rows] of copy) {
        storage.sql.exec(`delete from ${table}`);
        for (const row of rows)
          storage.sql.exec(
            `insert into ${table} (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`,
            ...Object.values(row),
          );
      }
    }),
  );
  await evict(o);
}
