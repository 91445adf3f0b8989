// Syncs secrets to a server that speaks a vendor's wire format, with the adapter, the client and the plan of
// the service, and time that passes at once.
import { createHmac } from 'node:crypto';
import { afterEach, expect } from 'vitest';
import { readsEach, type SyncAdapter, TargetError } from '../../src/adapters/sync/adapter';
import { apply, foreseen } from '../../src/adapters/sync/apply';
import type { Permit } from '../../src/adapters/sync/call';
import { type Clock, createClient } from '../../src/adapters/sync/client';
import { failed, itemOf, type Owned, plan, type Result, sorted } from '../../src/adapters/sync/steps';
import { guardedFetch } from '../../src/delivery/egress';
import type { Fake } from './fakes/server.ts';

export const digestOf = (target: string, value: string) =>
  createHmac('sha256', 'test').update(`${target}\0${value}`).digest('hex');

/** Time that passes when somebody waits; `slept` says how long they did. */
export function fastClock(): Clock & { slept: number[] } {
  let now = Date.UTC(2026, 10, 22);
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    random: () => 0.5,
    async sleep(ms) {
      slept.push(ms);
      now += ms;
    },
  };
}

export interface SyncOptions {
  /** Names that were written before: `synced` gives them. */
  owned?: Owned[];
  /** Names whose secrets are gone. */
  gone?: string[];
  dryRun?: boolean;
  clock?: Clock;
  base?: string;
  /** Milliseconds before an answer counts as none. */
  timeout?: number;
  /** Names that were begun before and cut off. */
  begun?: string[];
  /** Of a sync that is carried on: its writes have the same tokens. */
  id?: string;
  permit?: Permit;
  /** Milliseconds before an answer arrives. */
  delay?: number;
}

export interface Synced {
  results: Result[];
  owned: Owned[];
  calls: number;
  retryAfter: number | null;
}

let syncs = 0;

const token = (text: string) => {
  const hex = createHmac('sha256', 'token').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** One sync, as the service would do it. */
export async function sync(
  adapter: SyncAdapter,
  given: Record<string, unknown>,
  fake: Pick<Fake, 'url'>,
  secrets: Record<string, string>,
  options: SyncOptions = {},
): Promise<Synced> {
  const config = adapter.config.parse(given);
  const { owned = [], gone = [], dryRun = false, begun = [], id = `sync ${++syncs}` } = options;
  const client = createClient({
    vendor: adapter.vendor(config as never),
    base: options.base ?? fake.url,
    fetch: async (url, request) => {
      const answered = await guardedFetch({ allowPrivate: true }, url, {
        ...request,
        ...(options.timeout && { timeout: options.timeout }),
      });
      if (options.delay) await new Promise((resolve) => setTimeout(resolve, options.delay));
      return answered;
    },
    ...(options.permit && { permit: options.permit }),
    clock: options.clock ?? fastClock(),
    once: dryRun,
  });
  const target = adapter.open(client, config as never);
  const items = Object.entries(secrets).map(([name, value]) =>
    itemOf(adapter, config, name, value, (at) => digestOf(at, value)),
  );
  const listed = await target.list().catch((error: unknown) => {
    if (error instanceof TargetError) return error;
    throw error;
  });
  if (!Array.isArray(listed)) {
    const results = items.map(({ name, target, problem }) => failed(name, target, problem ?? listed.problem));
    return { results: sorted(results), owned, calls: client.calls(), retryAfter: listed.retryAfter };
  }
  const made = plan(adapter, {
    items,
    remotes: listed,
    owned,
    prunable: owned.filter(({ name }) => gone.includes(name)),
    digestOf,
    reads: readsEach(target),
  });
  const work = made.steps.map((step) => ({
    ...step,
    value: step.kind === 'put' ? (secrets[step.name] as string) : null,
    token: token(`${id} ${step.target}`),
    begun: begun.includes(step.name),
    isOurs: (current: string) => digestOf(step.target, current) === step.digest,
  }));
  if (dryRun) {
    const seen = await foreseen(target, work);
    return { results: sorted([...made.results, ...seen]), owned, calls: client.calls(), retryAfter: null };
  }
  const results = [...made.results];
  const foreign: string[] = [];
  let end: TargetError | null = null;
  for (let rest = work; rest.length && !end; rest = rest.slice(adapter.most ?? work.length)) {
    const applied = await apply(target, rest.slice(0, adapter.most ?? work.length));
    results.push(...applied.results);
    foreign.push(...applied.foreign);
    end = applied.end;
  }
  const done = new Set(results.map(({ name }) => name));
  const open =
    end?.ends === 'sync' ? end.problem : ({ code: 'NOT_ATTEMPTED', message: 'Not attempted.' } as const);
  for (const { name, target } of work)
    if (!done.has(name) && !foreign.includes(target)) results.push(failed(name, target, open));
  const kept = new Map(owned.map((one) => [one.target, one]));
  for (const target of [...made.missing, ...foreign]) kept.delete(target);
  for (const { name, targetName, action } of results) {
    if (action === 'deleted') kept.delete(targetName as string);
    if (action === 'created' || action === 'updated')
      kept.set(targetName as string, {
        name,
        target: targetName as string,
        digest: digestOf(targetName as string, secrets[name] as string),
      });
  }
  return {
    results: sorted(results),
    owned: [...kept.values()],
    calls: client.calls(),
    retryAfter: end?.retryAfter ?? null,
  };
}

/** The results in short: `NAME action [CODE]`. */
export const short = ({ results }: Synced): string[] =>
  results.map(({ name, action, code }) => `${name} ${action}${code ? ` ${code}` : ''}`);

const started: Fake[] = [];

/** Has a server closed after the test. */
export async function running<F extends Fake>(starting: Promise<F>): Promise<F> {
  const fake = await starting;
  started.push(fake);
  return fake;
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((fake) => fake.close()));
});

/**
 * What every adapter has to keep, whatever its platform: secrets are created, a repeat changes nothing and
 * writes nothing, a changed value is updated, a foreign name stays, a name of ours whose secret is gone is
 * pruned, a wrong credential is `TARGET_AUTH` and writes nothing, and no result holds a value.
 */
export async function keepsTheContract(
  adapter: SyncAdapter,
  config: Record<string, unknown>,
  fake: Fake,
  target: {
    read(name: string): string | null | undefined;
    foreign: () => void;
    hasForeign: () => boolean;
    wrong: Record<string, unknown>;
  },
) {
  target.foreign();
  const first = { ALPHA: 'value of alpha', BETA: 'välue ✓ of "beta"\nand $more', GAMMA: 'g-123456789' };
  const foresight = await sync(adapter, config, fake, first, { dryRun: true });
  expect(short(foresight)).toEqual(['ALPHA created', 'BETA created', 'GAMMA created']);
  expect(fake.writes()).toEqual([]);
  const created = await sync(adapter, config, fake, first);
  expect(short(created)).toEqual(['ALPHA created', 'BETA created', 'GAMMA created']);
  for (const [name, value] of Object.entries(first)) expect(target.read(name) ?? value).toBe(value);
  const again = await sync(adapter, config, fake, first, created);
  expect(short(again)).toEqual(['ALPHA unchanged', 'BETA unchanged', 'GAMMA unchanged']);
  const second = { ALPHA: 'another value of alpha', BETA: first.BETA };
  const changed = await sync(adapter, config, fake, second, { owned: again.owned, gone: ['GAMMA'] });
  expect(short(changed)).toEqual(['ALPHA updated', 'BETA unchanged', 'GAMMA deleted']);
  expect(target.read('ALPHA') ?? second.ALPHA).toBe(second.ALPHA);
  expect(target.hasForeign()).toBe(true);
  const before = fake.writes().length;
  const refused = await sync(adapter, { ...config, ...target.wrong }, fake, second, { owned: changed.owned });
  expect(short(refused)).toEqual(['ALPHA failed TARGET_AUTH', 'BETA failed TARGET_AUTH']);
  expect(fake.writes()).toHaveLength(before);
  for (const { results } of [foresight, created, again, changed, refused])
    for (const value of [...Object.values(first), second.ALPHA])
      expect(JSON.stringify(results)).not.toContain(value);
}

/**
 * Time that stands still until all that is under way waits for it: concurrent waits end in their order, and
 * do not add up.
 */
export function virtualClock(random = 0.5): Clock {
  let now = Date.UTC(2026, 10, 22);
  const waiting: { at: number; wake: () => void }[] = [];
  const next = () => {
    waiting.sort((a, b) => a.at - b.at);
    const first = waiting.shift();
    now = Math.max(now, first?.at ?? now);
    first?.wake();
  };
  return {
    now: () => now,
    random: () => random,
    sleep: (ms) =>
      new Promise((wake) => {
        waiting.push({ at: now + ms, wake });
        setImmediate(next);
      }),
  };
}
