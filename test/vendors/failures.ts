// What every adapter makes of a target that refuses, is limited, answers in another shape or loses answers:
// the same tests for each platform.
import { expect } from 'vitest';
import type { SyncAdapter } from '../../src/adapters/sync/adapter';
import type { Fake } from './fakes/server.ts';
import { short, sync } from './sync';

export interface Failing {
  /** Fields of the config that lead to no target. */
  missing: Record<string, unknown>;
  /** Bodies of a listing that the vendor does not document. */
  listings: unknown[];
  read(name: string): string | null | undefined;
  /** Whether a create that is repeated is refused, and so becomes an update. */
  creates?: 'once';
}

const SECRETS = { ALPHA: 'the value of alpha', BETA: 'the value of beta' };
const failed = (code: string) => Object.keys(SECRETS).map((name) => `${name} failed ${code}`);

export async function failsCleanly(
  adapter: SyncAdapter,
  config: Record<string, unknown>,
  fake: Fake,
  { missing, listings, read, creates }: Failing,
) {
  const ours = () => sync(adapter, config, fake, SECRETS);
  expect(short(await sync(adapter, { ...config, ...missing }, fake, SECRETS))).toEqual(
    failed('TARGET_NOT_FOUND'),
  );
  for (const body of [...listings, 'no JSON', null]) {
    fake.interrupt = () => ({ status: 200, body });
    expect([body, ...short(await ours())]).toEqual([body, ...failed('TARGET_REJECTED')]);
  }
  // A target that gives back what it was sent, in an error.
  for (const [status, code] of [
    [302, 'TARGET_REJECTED'],
    [400, 'TARGET_REJECTED'],
    [401, 'TARGET_AUTH'],
    [500, 'TARGET_REJECTED'],
  ] as const) {
    fake.interrupt = (request) => ({
      status,
      headers: { Location: `${fake.url}/elsewhere` },
      body: { id: request.text, code: SECRETS.ALPHA },
    });
    const refused = await ours();
    expect([status, ...short(refused)]).toEqual([status, ...failed(code)]);
    expect(JSON.stringify(refused)).not.toContain('value of');
  }
  fake.interrupt = () => ({ status: 429, headers: { 'Retry-After': '90' }, body: {} });
  const limited = await ours();
  expect(short(limited)).toEqual(failed('TARGET_RATE_LIMITED'));
  expect(limited.retryAfter).toBe(90);
  expect(fake.requests.every(({ path }) => path !== '/elsewhere')).toBe(true);
  const seen = fake.requests.length;
  fake.interrupt = () => 'drop';
  expect(short(await ours())).toEqual(failed('TARGET_UNREACHABLE'));
  expect(fake.requests.length - seen).toBe(4);
  // Every answer is lost once.
  const lost = new Set<string>();
  fake.interrupt = ({ method, path, text }) => {
    const key = `${method} ${path} ${text}`;
    if (lost.has(key)) return null;
    lost.add(key);
    return 'after';
  };
  const created = await ours();
  const action = creates === 'once' ? 'updated' : 'created';
  expect(short(created)).toEqual([`ALPHA ${action}`, `BETA ${action}`]);
  lost.clear();
  const changed = await sync(
    adapter,
    config,
    fake,
    { ALPHA: 'another value' },
    { owned: created.owned, gone: ['BETA'] },
  );
  expect(short(changed)).toEqual(['ALPHA updated', 'BETA deleted']);
  expect(read('ALPHA')).toBe('another value');
  expect(read('BETA') ?? null).toBe(null);
  fake.interrupt = null;
}
