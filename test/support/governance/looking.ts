// What somebody who looks may find, and things that need somebody, for tests of the overview and of search.
import { newId } from '../../../src/db/ids';
import type { SyncRow } from '../../../src/db/schema';
import { findDue } from '../../../src/domains/policies/gate/due';
import { runTasks } from '../../../src/gate/tasks/run';
import { faults } from '../faults';
import { ageTo, inCore } from '../gate';
import { add } from '../people';
import type { Caller } from '../world';

/** Runs the tasks of a gate that are due at its clock. */
export const runDueTasks = (o: Caller) =>
  inCore(o, async (core) => {
    ageTo(core, core.now());
    for (let i = 0; i < 12; i++) await runTasks(core);
  });

/** As if a row of the gate had been made earlier. */
export const backdate = (o: Caller, kind: 'secret' | 'credential', id: string, ms: number) =>
  inCore(o, (core) => {
    const row = core.rows.get(kind, id);
    if (!row) throw new Error(`no ${kind}`);
    const before = { created_at: row.created_at - ms, updated_at: Date.now() - ms, rotated_at: null };
    core.rows.put(kind, { ...row, ...before } as never);
  });

/** Looks for secrets that are due, as a gate does every hour. */
export const findDueNow = (o: Caller) => inCore(o, (core) => findDue(core, core.now()));

const environmentId = async (o: Caller, slug: string): Promise<string> =>
  (await o.get('/environments')).json.data.find((one: { slug: string }) => one.slug === slug).id;

/** A sync that has ended. */
export async function addSync(o: Caller, slug: string, fields: Partial<SyncRow> = {}): Promise<string> {
  const environment_id = await environmentId(o, slug);
  const at = faults.clock ?? Date.now();
  const [id] = await add(o, 'sync', [
    {
      id: newId('syn', at),
      platform: 'heroku',
      integration_id: null,
      config: null,
      credentials_sealed: null,
      environment_id,
      place: `digest:${environment_id}`,
      names: null,
      prune: 0,
      requester: { kind: 'api_key', id: 'key_0', parent_id: null, name: null } as SyncRow['requester'],
      credential: null,
      approval: null,
      pins: null,
      status: 'failed',
      retry_after: null,
      cancelled_at: null,
      created_at: at,
      started_at: at,
      finished_at: at,
      ...fields,
    },
  ]);
  return id as string;
}
