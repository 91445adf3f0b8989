// What bulk reads gave away, where the log alone has to tell it: rows that have moved on, breaks, and what is
// older than the log.
import { expect, it } from 'vitest';
import {
  type Bulk,
  type Change,
  exposed as exposedIn,
  MOST_STEPS,
  unresolved,
} from '../../../src/domains/incidents/exposure';
import { newSlices } from '../../../src/http/slices';

const bulk = (revision: number, fields: Partial<Bulk> = {}): Bulk => ({
  environment: 'env_p',
  shown: 'production',
  revision,
  time: 1_000_000,
  sequence: revision + 1,
  last: revision + 1,
  prefix: '',
  patterns: null,
  withheld: new Set(),
  ...fields,
});
const row = {
  id: 'sec_a',
  environment: 'env_p',
  name: 'A',
  version: 3,
  deleted: false,
  revoked: false,
  at: 50,
  expires_at: null as number | null,
};
const standing = (fields: Partial<typeof row> = {}) => new Map([['sec_a', { ...row, ...fields }]]);
const change = (sequence: number, action: string, version: number, fields: Partial<Change> = {}): Change => ({
  sequence,
  action,
  secret: 'sec_a',
  shown: 'production',
  version,
  ...fields,
});
type Args = Parameters<typeof exposedIn> extends [...infer Rest, unknown] ? Rest : never;
const exposed = (...args: Args) => exposedIn(...args, newSlices('o.key', MOST_STEPS));
const versions = async (...args: Args) => (await exposed(...args)).map(({ version }) => version);
const none = new Map();

it('exposure report: a change after the row was read does not apply to it', async () => {
  const later = change(60, 'secret.update', 3, { expires_at: 2_000_000 });
  expect(await versions([bulk(10)], standing({ expires_at: 900_000 }), [later], [], none)).toEqual([]);
  expect(await versions([bulk(10)], standing({ expires_at: 1_100_000 }), [later], [], none)).toEqual([3]);
});

it('exposure report: lists no secret that each of the bulk reads withheld', async () => {
  const withheld = new Set(['sec_a']);
  expect(await versions([bulk(10, { withheld })], standing(), [], [], none)).toEqual([]);
  expect(await versions([bulk(10, { withheld: new Set(['sec_b']) })], standing(), [], [], none)).toEqual([3]);
  const reads = [bulk(10, { withheld }), bulk(10, { time: 2_000_000 })];
  expect(await exposed(reads, standing(), [], [], none)).toEqual([
    { secret: 'sec_a', version: 3, time: 2_000_000 },
  ]);
});

it('exposure report: before the first change in the log, both possible versions are listed', async () => {
  expect(await versions([bulk(10)], standing(), [change(20, 'secret.update', 3)], [], none)).toEqual([2, 3]);
  expect(await versions([bulk(10)], standing(), [change(20, 'secret.rotate', 3)], [], none)).toEqual([2]);
  const before = new Map([['sec_a', { version: 2, deleted: false, revoked: false }]]);
  expect(await versions([bulk(10)], standing(), [change(20, 'secret.update', 3)], [], before)).toEqual([2]);
});

it('exposure report: lists no secret that was revoked or deleted at the time, and every other', async () => {
  const revoked = [change(12, 'provider.revoke', 2), change(20, 'provider.issue', 3)];
  expect(await versions([bulk(15)], standing(), revoked, [], none)).toEqual([]);
  expect(await versions([bulk(25)], standing(), revoked, [], none)).toEqual([3]);
  const gone = [change(12, 'secret.delete', 3, { former_name: 'A' }), change(20, 'secret.restore', 3)];
  expect(await versions([bulk(15)], standing(), gone, [], none)).toEqual([]);
  expect(await versions([bulk(11)], standing(), gone, [], none)).toEqual([3]);
});

it('exposure report: a restored secret is as revoked as before, by earlier entries', async () => {
  const restored = [change(12, 'secret.restore', 3)];
  expect([...unresolved([bulk(11)], ['sec_a'], restored, [])]).toEqual(['sec_a']);
  const before = (revoked: boolean) => new Map([['sec_a', { version: 3, deleted: true, revoked }]]);
  expect(await versions([bulk(15)], standing(), restored, [], before(true))).toEqual([]);
  expect(await versions([bulk(15)], standing(), restored, [], before(false))).toEqual([3]);
});

it('exposure report: a purged secret comes from its own entries, under the name that it had', async () => {
  const history = [
    change(12, 'secret.create', 1),
    change(14, 'secret.update', 1, { former_name: 'app/a' }),
    change(20, 'secret.delete', 1, { former_name: 'b' }),
  ];
  const app = (revision: number) => bulk(revision, { prefix: 'app/' });
  expect(await versions([app(13)], new Map(), history, [], none)).toEqual([1]);
  expect(await versions([app(15)], new Map(), history, [], none)).toEqual([]);
  expect(await versions([bulk(15, { patterns: ['b'] })], new Map(), history, [], none)).toEqual([1]);
  expect(await versions([bulk(11), bulk(21)], new Map(), history, [], none)).toEqual([]);
});

it('exposure report: after an adopted database, the log counts for the time before', async () => {
  // Version 3 was put back as version 4 at 30, and nothing has changed since.
  const history = [change(12, 'secret.rotate', 2), change(14, 'secret.rotate', 3)];
  const now = standing({ version: 4 });
  expect(await versions([bulk(13)], now, history, [30], none)).toEqual([2]);
  expect(await versions([bulk(14)], now, history, [30], none)).toEqual([3]);
  expect(await versions([bulk(14, { sequence: 40, last: 40 })], now, history, [30], none)).toEqual([4]);
  // One kind of read from before and after it.
  expect((await versions([bulk(14, { sequence: 16, last: 40 })], now, history, [30], none)).sort()).toEqual([
    3, 4,
  ]);
  expect([...unresolved([bulk(14)], ['sec_a'], [], [30])]).toEqual(['sec_a']);
});

it('exposure report: a secret that an adopted database removed was exposed before, not after', async () => {
  const history = [change(12, 'secret.create', 1)];
  expect(await versions([bulk(13)], new Map(), history, [30], none)).toEqual([1]);
  expect(await versions([bulk(13, { sequence: 40, last: 40 })], new Map(), history, [30], none)).toEqual([]);
});

it('exposure report: the expiry of a purged secret comes from earlier entries', async () => {
  const purged = [change(12, 'secret.rollback', 3), change(20, 'secret.delete', 3, { former_name: 'A' })];
  expect([...unresolved([bulk(11)], [], purged, [])]).toEqual(['sec_a']);
  const before = (expires_at: number | null) =>
    new Map([['sec_a', { version: 2, deleted: false, revoked: false, expires_at }]]);
  const read = bulk(15);
  expect(await versions([read], new Map(), purged, [], before(read.time - 60_000))).toEqual([]);
  expect(await versions([read], new Map(), purged, [], before(null))).toEqual([3]);
});
