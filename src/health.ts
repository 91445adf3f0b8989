// The health check: is the database available, can a gate write and read, does the queue deliver? Each is actually tested, at most once in
// 10 s per isolate, on a separate gate; the queue by the message that each scheduled run sends.
import type { Env } from './env';

const TRIED_EVERY = 10_000;
/** How long after a scheduled run its probe may still be in transit. */
const ON_ITS_WAY = 50_000;

export interface Health {
  status: 'ok' | 'failing';
  version: string;
  checks: Record<'database' | 'gate' | 'queue', 'ok' | 'failing'>;
}

const gateOf = (env: Env) => env.GATE.getByName('health');

let last: { at: number; health: Promise<Health> } | null = null;

/** The health of this deployment; a result less than 10 s old is reused, unless it was failing. */
export async function health(env: Env, version: string, now = Date.now()): Promise<Health> {
  if (!last || now - last.at >= TRIED_EVERY) last = { at: now, health: tryAll(env, version) };
  const found = await last.health;
  if (found.status !== 'ok' && now - last.at >= 1000) last = null;
  return found;
}

async function tryAll(env: Env, version: string): Promise<Health> {
  const database = env.DB.prepare('select count(*) n from deployment_keys')
    .first<{ n: number }>()
    .then((row) => row !== null);
  const pulse = gateOf(env).pulse() as Promise<{ sent: number | null; came: number | null }>;
  const queue = pulse.then(async ({ sent, came }) => {
    // Before the first scheduled run no probe has been sent.
    if (sent === null) await sendProbe(env);
    return came !== null && sent !== null && (came >= sent || Date.now() - sent < ON_ITS_WAY);
  });
  const [first, second, third] = await Promise.all([holds(database), holds(pulse.then(() => true)), holds(queue)]);
  const checks = { database: first, gate: second, queue: third };
  return { status: Object.values(checks).every((check) => check === 'ok') ? 'ok' : 'failing', version, checks };
}

const holds = (check: Promise<boolean>) =>
  check.then(
    (held) => (held ? ('ok' as const) : ('failing' as const)),
    () => 'failing' as const,
  );

/** Sends the message that tests the queue; called by each scheduled run. */
export async function sendProbe(env: Env): Promise<void> {
  await gateOf(env).pulse('sent');
  await env.QUEUE.send({ kind: 'probe', id: crypto.randomUUID() });
}

/** A probe has arrived. */
export async function probeCame(env: Env): Promise<void> {
  await gateOf(env).pulse('came');
}
