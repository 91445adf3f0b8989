import { expect, it } from 'vitest';
import { supabase } from '../../src/adapters/sync/supabase';
import { failsCleanly } from './failures';
import { startSupabase } from './fakes/supabase.ts';
import { fastClock, keepsTheContract, running, short, sync } from './sync';

const config = { token: 'supabase-token', projectRef: 'abcdefghijklmnopqrst' };

it('sync: supabase keeps the contract of all platforms', async () => {
  const fake = await running(startSupabase());
  await keepsTheContract(supabase, config, fake, {
    read: (name) => fake.secrets[name] ?? null,
    foreign: () => Object.assign(fake.secrets, { FOREIGN: 'theirs' }),
    hasForeign: () => fake.secrets.FOREIGN === 'theirs',
    wrong: { token: 'another' },
  });
});

it('sync: supabase fails cleanly', async () => {
  const fake = await running(startSupabase());
  await failsCleanly(supabase, config, fake, {
    missing: { projectRef: 'another' },
    listings: [{}, { data: [] }, [null], [{ value: 'x' }]],
    read: (name) => fake.secrets[name],
  });
});

it('sync: supabase gets one call for all names and one for all deletions', async () => {
  const fake = await running(startSupabase());
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const first = await sync(supabase, config, fake, many);
  expect(fake.writes()).toHaveLength(1);
  await sync(
    supabase,
    config,
    fake,
    { NAME_0: 'changed' },
    { owned: first.owned, gone: ['NAME_1', 'NAME_2'] },
  );
  expect(fake.writes().map(({ method }) => method)).toEqual(['POST', 'DELETE', 'POST']);
});

it('sync: supabase deletes names one by one if one has disappeared', async () => {
  const fake = await running(startSupabase());
  const first = await sync(supabase, config, fake, { ONE: '1', TWO: '2', THREE: '3' });
  fake.interrupt = ({ method }) => {
    if (method === 'DELETE') delete fake.secrets.TWO;
    return null;
  };
  const pruned = await sync(
    supabase,
    config,
    fake,
    { THREE: '3' },
    { owned: first.owned, gone: ['ONE', 'TWO'] },
  );
  expect(short(pruned)).toEqual(['ONE deleted', 'THREE unchanged', 'TWO deleted']);
  expect(fake.secrets).toEqual({ THREE: '3' });
});

it('sync: supabase makes room in a full project before it adds to it', async () => {
  const fake = await running(startSupabase());
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`NAME_${i}`, `value ${i}`]));
  const first = await sync(supabase, config, fake, many);
  const second = await sync(supabase, config, fake, { NEW: 'new' }, { owned: first.owned, gone: ['NAME_1'] });
  expect(short(second)).toEqual(['NAME_1 deleted', 'NEW created']);
  const third = await sync(supabase, config, fake, { MORE: 'more' });
  expect(short(third)).toEqual(['MORE failed TARGET_REJECTED']);
});

it('sync: supabase refuses reserved names and long values before the first write', async () => {
  const fake = await running(startSupabase());
  const result = await sync(supabase, config, fake, {
    SUPABASE_URL: 'x',
    supabase_url: 'lower case is not reserved',
    [`N${'x'.repeat(256)}`]: 'x',
    LONG: 'x'.repeat(24_577),
    WIDE: '€'.repeat(16_385),
    MOST: 'x'.repeat(24_576),
    WIDEST: '€'.repeat(16_384),
  });
  expect(short(result)).toEqual([
    'LONG failed VALUE_TOO_LARGE',
    'MOST created',
    `N${'x'.repeat(256)} failed NAME_INVALID`,
    'SUPABASE_URL failed NAME_INVALID',
    'WIDE failed VALUE_TOO_LARGE',
    'WIDEST created',
    'supabase_url created',
  ]);
});

it('sync: supabase: a rate limit is kept for the seconds in the response', async () => {
  const fake = await running(startSupabase());
  fake.left = 1;
  const clock = fastClock();
  expect(short(await sync(supabase, config, fake, { A: 'a' }, { clock }))).toEqual(['A created']);
  expect(clock.slept).toEqual([7000]);
});

it('sync: supabase keeps successful deletions if the write after them is refused', async () => {
  const fake = await running(startSupabase());
  const first = await sync(supabase, config, fake, { OLD: 'old' });
  fake.interrupt = ({ method }) => (method === 'POST' ? { status: 403, body: {} } : null);
  const second = await sync(supabase, config, fake, { NEW: 'new' }, { owned: first.owned, gone: ['OLD'] });
  expect(short(second)).toEqual(['NEW failed TARGET_AUTH', 'OLD deleted']);
});

it('vendor: the supabase server refuses what the vendor would', async () => {
  const fake = await running(startSupabase());
  const send = async (method: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = { Authorization: 'Bearer supabase-token', 'Content-Type': 'application/json', ...headers };
    const url = `${fake.url}/v1/projects/${fake.ref}/secrets`;
    return (
      await fetch(url, { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) })
    ).status;
  };
  expect(await send('GET', undefined, { Authorization: 'supabase-token' })).toBe(401);
  expect(await send('POST', { name: 'A', value: 'a' })).toBe(400);
  expect(await send('POST', [{ name: 'SUPABASE_A', value: 'a' }])).toBe(400);
  expect(await send('POST', [{ name: 'A', value: 'x'.repeat(24_577) }])).toBe(400);
  expect(await send('POST', [{ name: 'A', value: 'a' }], { 'Content-Type': 'text/plain' })).toBe(400);
  expect(
    await send(
      'POST',
      Array.from({ length: 101 }, (_, i) => ({ name: `A${i}`, value: 'a' })),
    ),
  ).toBe(400);
  expect(await send('DELETE', ['A'])).toBe(404);
  expect(await send('DELETE', { names: ['A'] })).toBe(400);
  expect(fake.secrets).toEqual({});
});
