// A sync that is cut off anywhere: the consumer, the gate or D1 fails at any call, the target answers with an
// error after the effect, messages come twice. In the end the target holds what the plan says, nothing is
// lost or pruned that this service did not write, and the sync ends once.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { problemOf } from '../model/invariants';
import { faults, faultsOf, reset } from '../support/faults';
import { evict } from '../support/gate';
import {
  askedFor,
  circleciConfig,
  herokuConfig,
  short,
  statusOf,
  syncAll,
  type Targets,
  useTargets,
  workOn,
} from '../support/integrations/syncs';
import { sampled } from '../support/limits/sampled';
import { MINUTE } from '../support/time';
import { type Caller, newOrg, newSecret, useWorld } from '../support/world';

useWorld();

let targets: Targets;
const START = Date.parse('2027-01-01T00:00:00.000Z');
beforeEach(() => {
  targets = useTargets();
  faults.clock = START;
});
afterEach(() => vi.unstubAllGlobals());

/** An org with secrets that were synced once, one of which is changed, one deleted and one new since. */
async function prepared(platform: 'heroku' | 'circleci') {
  const o = await newOrg();
  const config = platform === 'heroku' ? herokuConfig : circleciConfig;
  const body = { platform, config, environmentId: 'production', prune: true };
  targets[platform].FOREIGN = 'theirs';
  const made = new Map<string, string>();
  for (const name of ['SAME', 'CHANGED', 'GONE'])
    made.set(name, (await newSecret(o, { name, value: `first ${name}` })).id);
  await o.post('/integrations/sync', body);
  await syncAll(o);
  await o.patch(`/secrets/${made.get('CHANGED')}`, { value: 'second CHANGED' });
  await o.del(`/secrets/${made.get('GONE')}`);
  await newSecret(o, { name: 'NEW', value: 'first NEW' });
  const { syncId } = (await o.post('/integrations/sync', body)).json;
  return { o, syncId: syncId as string };
}

/** Goes on until the sync has ended, whatever was cut off: leases run out, and messages come again. */
async function toTheEnd(o: Caller, syncId: string): Promise<void> {
  for (let round = 0; round < 12; round++) {
    faults.clock = (faults.clock ?? START) + 4 * MINUTE;
    await Promise.allSettled(faults.orphans.splice(0).map((orphan) => orphan()));
    await syncAll(o).catch(() => {});
    if ((await statusOf(o, syncId))?.finishedAt) return;
  }
}

const expected = { SAME: 'first SAME', CHANGED: 'second CHANGED', NEW: 'first NEW' };
const results = ['CHANGED updated', 'GONE deleted', 'NEW created', 'SAME unchanged'];

describe.each(['heroku', 'circleci'] as const)('sync: cut off, %s', (platform) => {
  /** Runs the job with a fault, then to the end; what came of it must be as without. */
  async function survives(what: string, how: Partial<typeof faults>) {
    const { o, syncId } = await prepared(platform);
    await askedFor(o);
    Object.assign(faults, { d1: 0, gate: 0, statements: 0 }, how);
    await workOn(o, syncId).catch(() => {});
    const { orphans } = faults;
    reset();
    faults.orphans = orphans;
    faults.clock = START + MINUTE;
    await toTheEnd(o, syncId);
    expect([what, { ...targets[platform] }]).toEqual([what, { ...expected, FOREIGN: 'theirs' }]);
    const sync = await statusOf(o, syncId);
    expect([what, short(sync)]).toEqual([what, results]);
    const events = (await o.get('/events?types=SYNC_COMPLETED,SYNC_FAILED&limit=100')).json.data;
    expect([what, events.map(({ type }: { type: string }) => type)]).toEqual([
      what,
      ['SYNC_COMPLETED', 'SYNC_COMPLETED'],
    ]);
    expect([what, await problemOf(o)]).toEqual([what, null]);
    targets = useTargets();
    faults.clock = START;
  }

  it('sync: without a fault it ends so', () => survives('no fault', {}));

  it('sync: by any call of the gate or D1, or any statement of the gate', { timeout: 600_000 }, async () => {
    const { o, syncId } = await prepared(platform);
    await askedFor(o);
    Object.assign(faults, { d1: 0, gate: 0, statements: 0 });
    await workOn(o, syncId);
    const { d1, gate, statements } = faults;
    const all = [...faultsOf({ d1, gate, statements })];
    expect(all.length).toBeGreaterThan(60);
    targets = useTargets();
    for (const { what, how } of sampled(all, 16, platform === 'heroku' ? 0 : 8)) await survives(what, how);
  });

  it('sync: by an answer that is lost after the effect, or an error after it', async () => {
    for (const [what, after] of [
      ['lost', () => 'drop' as const],
      ['503', () => new Response('', { status: 503 })],
    ] as const) {
      const { o, syncId } = await prepared(platform);
      let left = 1;
      targets.after = ({ method }) => (method !== 'GET' && left-- > 0 ? after() : null);
      await workOn(o, syncId);
      await toTheEnd(o, syncId);
      expect([what, { ...targets[platform] }]).toEqual([what, { ...expected, FOREIGN: 'theirs' }]);
      expect([what, short(await statusOf(o, syncId))]).toEqual([what, results]);
      targets = useTargets();
      faults.clock = START;
    }
  });

  it('sync: by a gate that is evicted between any two calls of the target', async () => {
    const { o, syncId } = await prepared(platform);
    targets.before = async () => {
      await evict(o);
      return null;
    };
    await workOn(o, syncId).catch(() => {});
    await toTheEnd(o, syncId);
    expect({ ...targets[platform] }).toEqual({ ...expected, FOREIGN: 'theirs' });
    expect(short(await statusOf(o, syncId))).toEqual(results);
  });
});
