// Syncs for tests: two platforms behind a stubbed `fetch` (one that takes all names in one call, one that
// takes them one by one), and the job as the gate and the queue run it. How vendors answer in full is tested
// in test/vendors.
import { env } from 'cloudflare:workers';
import { vi } from 'vitest';
import { systemClock } from '../../../src/adapters/sync/client';
import type { Env } from '../../../src/env';
import { runTasks } from '../../../src/gate/tasks/run';
import { runJob } from '../../../src/queue';
import { faults, faulty } from '../faults';
import { inCore } from '../gate';
import { type Caller, db } from '../world';

export interface TargetCall {
  platform: 'heroku' | 'circleci';
  method: string;
  path: string;
  headers: Headers;
  body: string;
}

export interface Targets {
  /** What stands at each target. */
  heroku: Record<string, string>;
  circleci: Record<string, string>;
  calls: TargetCall[];
  writes(): TargetCall[];
  /** Answers in place of the target, before or after it has done what was asked. */
  before: ((call: TargetCall) => Response | 'drop' | null | Promise<Response | 'drop' | null>) | null;
  after: ((call: TargetCall) => Response | 'drop' | null) | null;
}

export const TOKEN = 'token-of-the-target';
export const herokuConfig = { token: TOKEN, appName: 'demo-app' };
export const circleciConfig = { token: TOKEN, projectSlug: 'gh/demo/app' };

/** The client's waits between attempts take a fiftieth of their time, and its clock is ahead by the rest. */
function hurry(): void {
  let ahead = 0;
  vi.spyOn(systemClock, 'now').mockImplementation(() => Date.now() + ahead);
  vi.spyOn(systemClock, 'sleep').mockImplementation(async (ms) => {
    await new Promise((done) => setTimeout(done, ms / 50));
    ahead += ms;
  });
}

/** Stubs `fetch` with both platforms, which are empty. */
export function useTargets(): Targets {
  // A sync that the queue begins as well would call the target from a request that may end before the test
  // has its answer.
  faults.isAlarmHeld = true;
  hurry();
  const targets: Targets = {
    heroku: {},
    circleci: {},
    calls: [],
    before: null,
    after: null,
    writes: () => targets.calls.filter(({ method }) => method !== 'GET'),
  };
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const { hostname, pathname } = new URL(url);
    if (hostname === 'cloudflare-dns.com')
      return Response.json({ Status: 0, Answer: [{ type: 1, data: '93.184.215.14' }] });
    const platform = hostname === 'api.heroku.com' ? 'heroku' : 'circleci';
    const call: TargetCall = {
      platform,
      method: init.method as string,
      path: pathname,
      body: (init.body as string) ?? '',
      headers: new Headers(init.headers),
    };
    targets.calls.push(call);
    const instead = (await targets.before?.(call)) ?? null;
    if (instead === 'drop') throw new TypeError('connection lost');
    if (instead) return instead;
    const answer = platform === 'heroku' ? heroku(targets, call) : circleci(targets, call);
    const then = targets.after?.(call) ?? null;
    if (then === 'drop') throw new TypeError('connection lost');
    return then ?? answer;
  });
  return targets;
}

function heroku(targets: Targets, { method, headers, body }: TargetCall): Response {
  if (headers.get('authorization') !== `Bearer ${TOKEN}`)
    return Response.json({ id: 'unauthorized' }, { status: 401 });
  if (method === 'GET') return Response.json(targets.heroku);
  const next = { ...targets.heroku, ...JSON.parse(body) };
  targets.heroku = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null)) as Record<
    string,
    string
  >;
  return Response.json(targets.heroku);
}

function circleci(targets: Targets, { method, path, headers, body }: TargetCall): Response {
  if (headers.get('circle-token') !== TOKEN) return Response.json({}, { status: 401 });
  if (method === 'GET')
    return Response.json({
      items: Object.keys(targets.circleci).map((name) => ({ name, value: 'xxxx' })),
      next_page_token: null,
    });
  if (method === 'POST') {
    const { name, value } = JSON.parse(body);
    targets.circleci[name] = value;
    return Response.json({ name, value: 'xxxx' }, { status: 201 });
  }
  const name = decodeURIComponent(path.split('/').at(-1) as string);
  if (!(name in targets.circleci)) return Response.json({}, { status: 404 });
  delete targets.circleci[name];
  return Response.json({ message: 'deleted' });
}

/**
 * Runs the tasks that are due; answers the syncs that the Worker is asked to work on, and whether it is asked
 * to begin some.
 */
export const askedFor = (o: Caller): Promise<(string | null)[]> =>
  inCore(o, async (core) => {
    const asked: (string | null)[] = [];
    const { enqueue } = core;
    core.enqueue = async (job, id) => {
      if (job === 'sync') asked.push(id ?? null);
    };
    for (let turn = 0; turn < 2; turn++) await runTasks(core);
    core.enqueue = enqueue;
    return asked;
  });

/** Works on a sync, as the queue has the Worker do it. */
export const workOn = (o: Caller, id: string | null) =>
  runJob(faulty(env as unknown as Env, db), {
    kind: 'job',
    job: 'sync',
    org: o.id,
    ...(id !== null && { id }),
  });

/** Works until there is nothing to do. */
export async function syncAll(o: Caller, most = 30): Promise<void> {
  for (let round = 0; round < most; round++) {
    const asked = await askedFor(o);
    if (asked.length === 0) return;
    for (const id of asked) await workOn(o, id).catch(() => {});
  }
}

export const statusOf = async (o: Caller, id: string) => (await o.get(`/integrations/syncs/${id}`)).json;

/** Asks for a sync and works on it to its end; answers the sync. */
export async function synced(o: Caller, fields: Record<string, unknown> = {}) {
  const asked = await o.post('/integrations/sync', {
    platform: 'heroku',
    config: herokuConfig,
    environmentId: 'production',
    ...fields,
  });
  if (asked.status !== 202) throw new Error(`no sync: ${asked.status} ${asked.text}`);
  await syncAll(o);
  return statusOf(o, asked.json.syncId);
}

/** Results in short. */
// biome-ignore lint/suspicious/noExplicitAny: answers of the service
export const short = ({ results }: any): string[] =>
  results.map(
    ({ name, action, code }: Record<string, string>) => `${name} ${action}${code ? ` ${code}` : ''}`,
  );
