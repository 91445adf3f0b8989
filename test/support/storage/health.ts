// What tests ask of /healthz: the answer of a new isolate, scheduled runs, and what was logged. Invariant:
// each test begins with an empty database that no survey knows.

import { env, exports } from 'cloudflare:workers';
import { beforeEach, vi } from 'vitest';
import page from '../../../docs/operations/monitoring.md?raw';
import { faults, until } from '../faults';
import { inCore } from '../gate';
import { type Caller, db, send, useWorld } from '../world';

const bindings = env as unknown as { MASTER_KEYS: string };
export const worker = exports.default as unknown as {
  scheduled(event: { scheduledTime: Date; cron: string }): Promise<unknown>;
};

/** The gate of the health check. */
export const HEALTH = { id: 'health' } as Caller;

/** The checks that the page on monitoring lists, in its order. */
export const CHECKS = [
  ...page
    .slice(0, page.indexOf('### A clock'))
    .matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]*`(?:down|degraded)`/gm),
].map(([, name]) => name);

interface Check {
  name: string;
  ok: boolean;
  message?: string;
}

/** What a new isolate answers. */
export async function healthz(keys = bindings.MASTER_KEYS) {
  faults.isolate++;
  faults.variables = { MASTER_KEYS: keys };
  const { status, json, text } = await send('GET', '/healthz');
  const checks = (json.checks ?? []) as Check[];
  return {
    status,
    is: json.status,
    failing: checks.filter(({ ok }) => !ok).map(({ name }) => name),
    checks,
    text,
  };
}
export const verdict = async (keys?: string) => {
  const { status, is, failing } = await healthz(keys);
  return [status, is, failing];
};

/** Scheduled runs; the probe of the last one has come. */
export async function schedule(times = 1, scheduledTime = new Date()) {
  for (let n = 0; n < times; n++) await worker.scheduled({ scheduledTime, cron: '* * * * *' });
  await until(async () => !(await healthz()).failing.includes('queue'), 400);
}

interface Line {
  level: string;
  event?: string;
  org?: string;
}
let logged: Line[] = [];

/** What was logged in this test. */
export const lines = (): Line[] => logged;
export const events = () => logged.flatMap(({ event }) => event ?? []);
export function forgetLines() {
  logged = [];
}

/** A world without organisations before each test. */
export function useHealth() {
  useWorld();
  beforeEach(async () => {
    await db.batch(
      ['deployment_keys', 'org_keys', 'orgs'].map((table) => db.prepare(`delete from ${table}`)),
    );
    await inCore(HEALTH, ({ meta }) => meta.forget('survey'));
    await healthz();
    logged = [];
    vi.restoreAllMocks();
    for (const level of ['log', 'warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((line) => void logged.push(JSON.parse(line)));
  });
}
