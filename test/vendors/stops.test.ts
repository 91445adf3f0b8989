// Whatever the platform, no call to a target begins after the reply to what stops a sync: with a slow target,
// and stopped at each of its calls. The permits of the gate and of the job are the service's own.
import { expect, it } from 'vitest';
import { syncAdapters } from '../../src/adapters/sync';
import type { SyncAdapter } from '../../src/adapters/sync/adapter';
import type { Permission } from '../../src/domains/syncs/gate/run';
import { permitOf } from '../../src/domains/syncs/permit';
import { createPermits } from '../../src/gate/request/permits';
import { few } from '../packages/slow.ts';
import { configOf, platforms } from './fakes/all.ts';
import type { Fake } from './fakes/server.ts';
import { startVercel } from './fakes/vercel.ts';
import { running, type Synced, sync } from './sync';

/** How long a permit lasts here. */
const LASTS = 30;
const CANCELLED = { code: 'NOT_ATTEMPTED', message: 'The sync was cancelled.' } as const;

/** A gate: what it answers a job, and what stops the sync. `replied`: when the reply to that was given. */
function newGate() {
  const permits = createPermits();
  const gate = { isStopped: false, replied: Number.POSITIVE_INFINITY, asked: 0 };
  const ask = async (input: { for?: 'whole' | 'none' }): Promise<Permission> => {
    gate.asked++;
    // On its way, in both directions.
    await new Promise((resolve) => setTimeout(resolve, 3));
    const stop = gate.isStopped ? CANCELLED : null;
    const lasts = input.for === 'whole' ? 1000 : LASTS;
    if (input.for === 'none') permits.giveBack('syn_1');
    else if (!stop) permits.give('syn_1', lasts, () => gate.isStopped);
    await new Promise((resolve) => setTimeout(resolve, 3));
    return { stop, lasts: stop || input.for === 'none' ? 0 : lasts };
  };
  const stop = async () => {
    gate.isStopped = true;
    permits.follow();
    await permits.settled();
    gate.replied = Date.now();
  };
  return { gate, stop, permit: permitOf(ask) };
}

const SECRETS = Object.fromEntries(
  Array.from({ length: 14 }, (_, i) => [`NAME_${String(i).padStart(2, '0')}`, `value ${i}`]),
);

/**
 * A sync that is stopped at the n-th call to its target; the calls that came after the reply, and its
 * results.
 */
async function stoppedAt(
  n: number,
  adapter: SyncAdapter,
  config: Record<string, unknown>,
  fake: Fake,
  secrets = SECRETS,
) {
  const { gate, stop, permit } = newGate();
  const late: string[] = [];
  let stopping: Promise<void> | null = null;
  let calls = 0;
  fake.interrupt = ({ method, path }) => {
    calls++;
    if (Date.now() > gate.replied) late.push(`${method} ${path}`);
    if (calls === n) stopping = stop();
    return null;
  };
  const synced: Synced = await sync(adapter, config, fake, secrets, { permit, delay: 12 });
  await stopping;
  return { late, calls, synced };
}

it.each(few(Object.keys(platforms), 6))(
  'sync: nothing is sent to %s after the reply to what stops a sync',
  { timeout: 60_000 },
  async (name) => {
    const platform = platforms[name] as (typeof platforms)[string];
    const adapter = syncAdapters[name as keyof typeof syncAdapters];
    const fresh = async () => {
      const fake = await running(platform.start());
      return { fake, config: configOf(platform, fake) };
    };
    const { fake, config } = await fresh();
    const whole = await stoppedAt(Number.POSITIVE_INFINITY, adapter, config, fake);
    expect(whole.synced.results.map(({ action }) => action)).toEqual(
      Object.keys(SECRETS).map(() => 'created'),
    );
    const steps = [1, 2, 3, Math.ceil(whole.calls / 2), whole.calls - 1].filter(
      (n) => n > 0 && n < whole.calls,
    );
    // At the same time, because each waits for a permit to run out.
    const stopped = [...new Set(steps)].map(async (n) => {
      const next = await fresh();
      const { late, synced } = await stoppedAt(n, adapter, next.config, next.fake);
      expect([n, late]).toEqual([n, []]);
      const actions = new Set(synced.results.map(({ action, code = '' }) => `${action} ${code}`.trim()));
      expect(
        [...actions].filter((action) => action !== 'created' && action !== 'failed NOT_ATTEMPTED'),
      ).toEqual([]);
      expect(synced.results).toHaveLength(whole.synced.results.length);
    });
    await Promise.all(stopped);
  },
);

it('sync: calls that belong together are not cut apart: the reply waits for them', async () => {
  const config = { token: 'vercel-token', projectId: 'prj_1', targets: ['production'] };
  for (const n of [1, 2, 9, 15]) {
    const fake = await running(startVercel());
    for (const key of Object.keys(SECRETS))
      fake.add({ key, value: 'theirs', target: ['production', 'preview'] });
    fake.page = 100;
    const { late, synced } = await stoppedAt(n, syncAdapters.vercel, config, fake);
    const done = synced.results.filter(({ action }) => action === 'updated').length;
    expect([n, late, done]).toEqual([n, [], n === 1 ? 0 : 14]);
  }
});

it('sync: a permit that always runs out on its way lets nothing begin', async () => {
  let asked = 0;
  const permit = permitOf(async () => {
    asked++;
    await new Promise((resolve) => setTimeout(resolve, 2));
    return { stop: null, lasts: 1 };
  });
  expect([await permit.mayBegin(), asked]).toEqual([false, 5]);
});

it('sync: a gate that does not answer fails the job, which the queue repeats', async () => {
  const permit = permitOf(() => Promise.reject(new Error('the gate is gone')));
  expect(await permit.mayBegin()).toBe(false);
  expect(permit.refusal().message).toBe('the gate is gone');
  const fake = await running((platforms.heroku as (typeof platforms)[string]).start());
  const config = (platforms.heroku as (typeof platforms)[string]).config as Record<string, unknown>;
  await expect(sync(syncAdapters.heroku, config, fake, SECRETS, { permit })).rejects.toThrow(
    'the gate is gone',
  );
  expect(fake.requests).toEqual([]);
});
