// What the platforms that create and change by different calls have in common, and what the client tells
// them.
import { expect, it } from 'vitest';
import type { Put } from '../../src/adapters/sync/adapter';
import type { Reply } from '../../src/adapters/sync/call';
import { circleci } from '../../src/adapters/sync/circleci';
import { createClient } from '../../src/adapters/sync/client';
import { nextLink } from '../../src/adapters/sync/listing';
import { itemOf, plan } from '../../src/adapters/sync/steps';
import { idOf, upsert } from '../../src/adapters/sync/upsert';
import { fastClock } from './sync';

const put = (handle?: string): Put => ({
  target: 'A',
  value: 'value',
  remote: handle === undefined ? null : { target: 'A', handle },
  token: 't',
});

const reply = (status: number, isRepeat = false): Reply => ({
  status,
  headers: new Headers(),
  body: undefined,
  code: null,
  isRepeat,
});

/** The calls that a vendor gets, which answers with these statuses. */
function vendor({
  create = [],
  change = [],
  found,
}: {
  create?: readonly Reply[];
  change?: readonly Reply[];
  found?: string;
}) {
  const calls: string[] = [];
  const created = [...create];
  const changed = [...change];
  const called = <T>(call: string, answer: T): T => {
    calls.push(call);
    return answer;
  };
  return {
    calls,
    create: async (expects: readonly number[]) =>
      called(`create ${expects.join()}`, created.shift() as Reply),
    taken: [409],
    find: async () => called('find', found === undefined ? undefined : { target: 'A', handle: found }),
    change: async ({ handle }: { handle?: string }, expects: readonly number[]) =>
      called(`change ${handle} ${expects.join()}`, changed.shift() as Reply),
  };
}

it.each([
  ['creates a new name', undefined, { create: [reply(201)] }, ['create 409'], 'created'],
  ['changes a name that was listed', '1', { change: [reply(200)] }, ['change 1 404'], 'updated'],
  [
    'creates what went after the listing',
    '1',
    { change: [reply(404)], create: [reply(201)] },
    ['change 1 404', 'create 409'],
    'created',
  ],
  [
    'changes names that appeared after the listing',
    undefined,
    { create: [reply(409)], change: [reply(200)], found: '2' },
    ['create 409', 'find', 'change 2 '],
    'updated',
  ],
  [
    'reports as created a name created by an attempt without a response',
    undefined,
    { create: [reply(409, true)], change: [reply(200)], found: '2' },
    ['create 409', 'find', 'change 2 '],
    'created',
  ],
] as const)('sync: an upsert %s', async (_what, handle, answers, calls, action) => {
  const made = vendor(answers);
  expect(await upsert(put(handle), made)).toEqual({ action });
  expect(made.calls).toEqual(calls);
});

it('sync: an upsert fails if a create is refused for another reason', async () => {
  const made = vendor({ create: [reply(409)] });
  await expect(upsert(put(), made)).rejects.toMatchObject({
    ends: 'name',
    problem: { code: 'TARGET_REJECTED' },
  });
  expect(made.calls).toEqual(['create 409', 'find']);
});

it('sync: a listed variable without an id is not called for', () => {
  for (const handle of [undefined, '']) expect(() => idOf({ target: 'A', handle })).toThrow('has no id');
  expect(idOf({ target: 'A', handle: '1' })).toBe('1');
});

it.each([
  ['no answer', { unreachable: 'timeout' as const, ms: 1 }, true],
  ['a 502', { status: 502, headers: new Headers(), text: '', ms: 1 }, true],
  ['a rate limit', { status: 429, headers: new Headers(), text: '', ms: 1 }, false],
])(
  'sync: the client says whether an earlier try may have been carried out: %s',
  async (_what, first, isRepeat) => {
    const answers = [first, { status: 201, headers: new Headers(), text: '{}', ms: 1 }];
    const client = createClient({
      vendor: {},
      base: undefined,
      clock: fastClock(),
      fetch: async () => answers.shift() as never,
    });
    expect((await client.call({ method: 'POST', url: 'https://demo.invalid/x' })).isRepeat).toBe(isRepeat);
  },
);

it('sync: a variable in another form is written, even if the value is equal', () => {
  const digestOf = (_target: string, value: string) => value;
  const items = [itemOf(circleci, {}, 'A', 'same', (target) => digestOf(target, 'same'))];
  const owned = [{ name: 'A', target: 'A', digest: 'same' }];
  const made = (otherForm: boolean) =>
    plan(circleci, {
      items,
      remotes: [{ target: 'A', value: 'same', otherForm }],
      owned,
      prunable: [],
      digestOf,
      reads: false,
    });
  expect(made(false).steps).toEqual([]);
  expect(made(true).steps).toMatchObject([{ target: 'A', kind: 'put', remote: { target: 'A' } }]);
});

it.each([
  [null, null],
  ['', null],
  ['<https://demo.invalid/?page=2>; rel="next"', 'https://demo.invalid/?page=2'],
  [
    '<https://demo.invalid/1>; rel="prev", <https://demo.invalid/3>; rel="next", <https://demo.invalid/9>; rel="last"',
    'https://demo.invalid/3',
  ],
  ['<https://demo.invalid/3>; title="x"; rel=next', 'https://demo.invalid/3'],
  ['<https://demo.invalid/1>; rel="prev", <https://demo.invalid/9>; rel="last"', null],
  ['<https://demo.invalid/1>; rel="nextish"', null],
])('sync: the next page of the Link header %s is %s', (link, next) => {
  const headers = new Headers(link === null ? {} : { Link: link });
  expect(nextLink({ ...reply(200), headers })).toBe(next);
});
