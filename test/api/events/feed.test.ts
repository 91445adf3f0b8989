// The event feed: in order, without gaps, resumable, from the gate and D1, and limited to what the caller may
// see.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { eventsOf } from '../../../src/domains/events/feed';
import { shows, type View } from '../../../src/domains/events/view';
import { runTasks } from '../../../src/gate/tasks/run';
import { newAgent, newKey, newProvider, newSession } from '../../support/credentials';
import { evict, inCore, loseStorage } from '../../support/gate';
import { deliveriesOf, newWebhook, useReceivers } from '../../support/integrations/webhooks';
import { slow } from '../../support/slow';
import { DAY } from '../../support/time';
import { type Caller, codeOf, db, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();

interface Shown {
  sequence: number;
  id: string;
  type: string;
  timestamp: string;
  org_id: string;
  data: Record<string, unknown>;
}
const feed = async (o: Caller, query = '') =>
  (await o.get(`/events${query}`)).json as { data: Shown[]; next_after: number; has_more: boolean };
const types = async (o: Caller, query = '') => (await feed(o, query)).data.map(({ type }) => type);

/** Raises many events at once. */
const raise = (o: Caller, many: number, data: object = {}, now = Date.now()) =>
  inCore(o, ({ storage, outbox }) =>
    storage.transactionSync(() => {
      for (let n = 0; n < many; n++) outbox.put({ type: 'DEVICE_ASSIGNED', data: { n, ...data } }, now);
    }),
  );
const work = (o: Caller) =>
  inCore(o, async (core) => {
    for (let turn = 0; turn < 10; turn++) await runTasks(core);
  });
/** All pages of the feed. */
async function whole(o: Caller, limit = 100, query = '') {
  const found: Shown[] = [];
  for (let after = 0, more = true; more; ) {
    const page = await feed(o, `?after=${after}&limit=${limit}${query}`);
    found.push(...page.data);
    [after, more] = [page.next_after, page.has_more];
  }
  return found;
}

describe('event feed', () => {
  it('shows events oldest first, numbered without gaps, page by page, and continues where a page ended', async () => {
    const o = await newOrg();
    const { id, name } = await newSecret(o);
    await o.post(`/secrets/${id}/rotate`, { value: 'second' });
    await o.del(`/secrets/${id}`);
    const { data, next_after, has_more } = await feed(o);
    expect(data.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'MEMBER_ADDED'],
      [2, 'CREDENTIAL_CREATED'],
      [3, 'SECRET_CREATED'],
      [4, 'SECRET_ROTATED'],
      [5, 'SECRET_DELETED'],
    ]);
    expect([next_after, has_more]).toEqual([5, false]);
    const environment = (await o.get('/environments/production')).json.id;
    expect(data[3]).toEqual({
      sequence: 4,
      id: expect.stringMatching(/^evt_/),
      type: 'SECRET_ROTATED',
      timestamp: expect.stringMatching(/Z$/),
      org_id: o.id,
      data: { secret_id: id, name, environment: 'production', environment_id: environment, version: 2 },
    });
    const first = await feed(o, '?limit=4');
    expect([first.data.length, first.next_after, first.has_more]).toEqual([4, 4, true]);
    expect(await types(o, `?after=${first.next_after}`)).toEqual(['SECRET_DELETED']);
    expect(await feed(o, '?after=5')).toEqual({ data: [], next_after: 5, has_more: false });
    expect(await types(o, '?types=SECRET_CREATED,SECRET_DELETED')).toEqual([
      'SECRET_CREATED',
      'SECRET_DELETED',
    ]);
    await evict(o);
    await newSecret(o);
    expect((await feed(o, '?after=5')).data.map(({ sequence }) => sequence)).toEqual([6]);
  });

  it('refuses unknown kinds and parameters, and invalid positions', async () => {
    const o = await newOrg();
    for (const query of [
      'types=SECRET_EATEN',
      'types=',
      'after=-1',
      'after=x',
      'after=1e3',
      'limit=0',
      'limit=101',
      'cursor=x',
      'after=1&after=2',
    ])
      expect(codeOf(await o.get(`/events?${query}`)), query).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('holds no value: neither of secrets nor of tokens', async () => {
    const o = await newOrg();
    const { value } = await newSecret(o);
    const { token } = await newKey(o);
    const { text } = await o.get('/events');
    expect(text).not.toContain(value);
    expect(text).not.toContain(token);
  });

  slow('refuses callers that may neither read events nor list secrets, and other organisations', async () => {
    const o = await newOrg();
    const other = await newOrg();
    const audits = await newKey(o, { scopes: ['audit:read'] });
    expect(codeOf(await audits.o.get('/events'))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(codeOf(await (await newProvider(o)).o.get('/events'))).toEqual([
      403,
      'CREDENTIAL_KIND_NOT_ALLOWED',
    ]);
    expect(codeOf(await o.as(other.token).get('/events'))).toEqual([404, 'NOT_FOUND']);
    await newSecret(o);
    expect(await types(other)).toEqual(['MEMBER_ADDED', 'CREDENTIAL_CREATED']);
  });
});

describe('event feed: what a caller can see', () => {
  slow('with only secrets:list, the kinds SECRET_* for names within reach', async () => {
    const o = await newOrg();
    const lists = await newKey(o, { scopes: ['secrets:list'] });
    const mine = await newAgent(o, { scopes: ['secrets:read'], secrets: ['app/*'] });
    const staging = await newKey(o, { scopes: ['secrets:list'], environments: ['staging'] });
    await newSecret(o, { name: 'app/one' });
    await newSecret(o, { name: 'other' });
    await newSecret(o, { name: 'app/two', environment: 'staging' });
    const names = async (caller: Caller) => (await feed(caller)).data.map(({ data }) => data.name);
    expect(await names(lists.o)).toEqual(['app/one', 'other', 'app/two']);
    expect(await names(mine.o)).toEqual(['app/one', 'app/two']);
    expect(await names(staging.o)).toEqual(['app/two']);
    expect(await names((await newSession(staging.o)).o)).toEqual(['app/two']);
    // The position goes on over what is not shown.
    expect((await feed(staging.o, '?after=0')).next_after).toBe((await feed(o)).next_after);
  });

  it('with events:read within limits, no more than that', async () => {
    const o = await newOrg();
    const narrow = await newKey(o, { scopes: ['events:read'], secrets: ['app/*'] });
    await newSecret(o, { name: 'app/one' });
    await newSecret(o, { name: 'other' });
    expect((await feed(narrow.o)).data.map(({ type, data }) => [type, data.name])).toEqual([
      ['SECRET_CREATED', 'app/one'],
    ]);
    const full = await newKey(o, { scopes: ['events:read'] });
    expect(await types(full.o)).toContain('CREDENTIAL_CREATED');
  });

  it('shows events of a renamed secret only if all its names are within reach', async () => {
    const o = await newOrg();
    const mine = await newKey(o, { scopes: ['secrets:list'], secrets: ['public/*'] });
    const { id } = await newSecret(o, { name: 'public/a' });
    await o.patch(`/secrets/${id}`, { name: 'hidden/merger-with-acme' });
    await o.patch(`/secrets/${id}`, { value: 'second' });
    expect((await feed(mine.o)).data.map(({ data }) => [data.name, data.former_name])).toEqual([
      ['public/a', undefined],
    ]);
    expect(
      (await feed(o, '?types=SECRET_UPDATED')).data.map(({ data }) => [data.name, data.former_name]),
    ).toEqual([
      ['hidden/merger-with-acme', 'public/a'],
      ['hidden/merger-with-acme', undefined],
    ]);
  });

  slow('of an environment, regardless of a later reuse of its slug', async () => {
    const o = await newOrg();
    const one = (await o.post('/environments', { name: 'Preview' })).json;
    const mine = await newKey(o, { scopes: ['secrets:list'], environments: [one.id] });
    const { id } = await newSecret(o, { environment: one.slug });
    await o.del(`/secrets/${id}?permanent=true`);
    await o.del(`/environments/${one.slug}`);
    const two = (await o.post('/environments', { name: 'Preview' })).json;
    expect(two.slug).toBe(one.slug);
    await newSecret(o, { environment: two.slug, name: 'of-the-second' });
    expect((await feed(mine.o)).data.map(({ data }) => data.name)).not.toContain('of-the-second');
  });

  it('by all of its permissions together, and never events without a subject', () => {
    const view: View = {
      places: [
        { environments: ['env_1'], secrets: null },
        { environments: null, secrets: ['shared/*'] },
      ],
    };
    const event = (type: 'SECRET_CREATED' | 'MEMBER_ENROLLED', data: object) => ({ type, data: { ...data } });
    expect(shows(view, null, event('SECRET_CREATED', { environment_id: 'env_1', name: 'x' }))).toBe(true);
    expect(shows(view, null, event('SECRET_CREATED', { environment_id: 'env_2', name: 'x' }))).toBe(false);
    expect(shows(view, null, event('SECRET_CREATED', { environment_id: 'env_2', name: 'shared/x' }))).toBe(
      true,
    );
    expect(shows(view, null, event('SECRET_CREATED', {}))).toBe(false);
    expect(shows(view, null, event('MEMBER_ENROLLED', { environment_id: 'env_1', name: 'x' }))).toBe(false);
    expect(shows(null, null, event('MEMBER_ENROLLED', {}))).toBe(true);
  });
});

describe('event feed: ranges in D1', () => {
  const segments = async (o: Caller) =>
    (
      await db
        .prepare(
          'select first_sequence "from", last_sequence "to", events from event_segments where org_id = ? order by 1',
        )
        .bind(o.id)
        .all<{ from: number; to: number; events: string }>()
    ).results;

  slow('closes ranges of a thousand, keeps the newest in the gate, and reads on over both', async () => {
    const o = await newOrg();
    await raise(o, 3500);
    await work(o);
    const closed = await segments(o);
    expect(closed.map(({ from, to }) => [from, to])).toEqual([
      [1, 1000],
      [1001, 2000],
    ]);
    expect((await eventsOf(closed[1] as { events: string }))?.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 1000 }, (_, n) => 1001 + n),
    );
    expect(
      await inCore(o, ({ outbox }) => [outbox.moved(), outbox.head(), outbox.oldest(1)[0]?.sequence]),
    ).toEqual([2000, 3502, 2001]);
    const all = await whole(o);
    expect(all.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 3502 }, (_, n) => n + 1));
    expect(new Set(all.map(({ id }) => id)).size).toBe(3502);
    // Over the border of a range, and of the gate.
    expect((await feed(o, '?after=995&limit=10')).data.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 10 }, (_, n) => 996 + n),
    );
    expect((await feed(o, '?after=1995&limit=10')).data.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 10 }, (_, n) => 1996 + n),
    );
    expect((await whole(o, 100, '&types=CREDENTIAL_CREATED')).map(({ sequence }) => sequence)).toEqual([2]);
    await evict(o);
    await newSecret(o);
    expect((await feed(o, '?after=3502')).data.map(({ sequence }) => sequence)).toEqual([3503]);
  });

  it('keeps events in the gate that D1 rejects, and moves them later', async () => {
    const o = await newOrg();
    await raise(o, 2500);
    for (const end of ['unknown', 'refused'] as const) {
      await inCore(o, async (core) => {
        const { write } = core.database;
        core.database.write = async () => ({ end, why: 'no' });
        core.schedule.at('events', core.now());
        await runTasks(core);
        core.database.write = write;
      });
      expect(await inCore(o, ({ outbox }) => [outbox.moved(), outbox.oldest(1)[0]?.sequence])).toEqual([
        0, 1,
      ]);
      expect((await whole(o)).length).toBe(2502);
    }
    await inCore(o, async (core) => {
      core.schedule.at('events', core.now());
      for (let turn = 0; turn < 3; turn++) await runTasks(core, core.now() + 10_000);
    });
    expect(await inCore(o, ({ outbox }) => outbox.moved())).toBe(1000);
    expect((await whole(o)).length).toBe(2502);
  });

  slow('large events make smaller ranges', async () => {
    const o = await newOrg();
    await raise(o, 3500, { text: 'x'.repeat(4000) });
    await work(o);
    const closed = await segments(o);
    expect(closed.length).toBeGreaterThan(1);
    for (const { from, to } of closed) expect(to - from).toBeLessThan(600);
    expect((await whole(o)).length).toBe(3502);
  });

  slow('a limited caller sees no more of D1 than of the gate', async () => {
    const o = await newOrg();
    const mine = await newKey(o, { scopes: ['secrets:list'], secrets: ['app/*'] });
    await newSecret(o, { name: 'app/one' });
    await newSecret(o, { name: 'other' });
    await raise(o, 3000);
    await work(o);
    expect((await whole(mine.o)).map(({ data }) => data.name)).toEqual(['app/one']);
  });

  it('are gone after 30 days: 410 names the first that is kept', async () => {
    const o = await newOrg();
    await raise(o, 2500, {}, Date.now() - 31 * DAY);
    await raise(o, 1000);
    await work(o);
    await inCore(o, async (core) => {
      core.schedule.at('retention', core.now());
      for (let turn = 0; turn < 5; turn++) await runTasks(core);
    });
    expect((await segments(o)).map(({ from }) => from)).not.toContain(1);
    const answer = await o.get('/events?after=0');
    expect(codeOf(answer)).toEqual([410, 'EVENTS_GONE']);
    const first = Number(/sequence (\d+)\.$/.exec(answer.json.error.message)?.[1]);
    const page = await feed(o, `?after=${first - 1}&limit=1`);
    expect(page.data[0]?.sequence).toBe(first);
    // Without a position it begins with what is kept.
    expect((await feed(o, '?limit=1')).data[0]?.sequence).toBe(first);
    expect(codeOf(await o.get('/events/stream?after=0'))).toEqual([410, 'EVENTS_GONE']);
  });

  slow('a missing or altered range is an error, and is never skipped silently', async () => {
    const o = await newOrg();
    await raise(o, 4500);
    await work(o);
    expect((await segments(o)).length).toBe(3);
    await db
      .prepare('delete from event_segments where org_id = ? and first_sequence = 1001')
      .bind(o.id)
      .run();
    const answer = await o.get('/events?after=1000');
    expect(codeOf(answer)).toEqual([410, 'EVENTS_GONE']);
    expect(answer.json.error.message).toContain('2001');
    const before = await feed(o, '?after=950&limit=100');
    expect([before.data.length, before.next_after, before.has_more]).toEqual([50, 1000, true]);
    await db
      .prepare("update event_segments set events = 'x' where org_id = ? and first_sequence = 2001")
      .bind(o.id)
      .run();
    const broken = await o.get('/events?after=2000');
    expect(broken.json.error.message).toContain('3001');
    expect((await feed(o, '?after=3000&limit=1')).data[0]?.sequence).toBe(3001);
  });

  it('D1 cannot remove events from the gate: a row that claims to be old is not believed', async () => {
    const o = await newOrg();
    await newSecret(o);
    await db.prepare("insert into event_segments values (?, 1, 999999, 0, 0, '')").bind(o.id).run();
    await inCore(o, async (core) => {
      core.schedule.at('retention', core.now());
      await runTasks(core);
    });
    expect(await types(o)).toEqual(['MEMBER_ADDED', 'CREDENTIAL_CREATED', 'SECRET_CREATED']);
  });

  it('no number is used twice after a gate has lost its storage', async () => {
    const o = await newOrg();
    await raise(o, 2500);
    await work(o);
    const before = (await feed(o, '?after=2400&limit=1')).data[0]?.sequence as number;
    await loseStorage(o);
    await newSecret(o);
    expect(codeOf(await o.get(`/events?after=${before}`))).toEqual([410, 'EVENTS_GONE']);
    const { data } = await feed(o);
    expect(data.map(({ type }) => type)).toEqual(['SECRET_CREATED']);
    expect(data[0]?.sequence).toBeGreaterThan(100_000);
  });
});

describe('event feed: stored rows that were altered', () => {
  afterEach(() => vi.unstubAllGlobals());

  const alter = (o: Caller, sequence: number, column: string, value: SqlStorageValue) =>
    inCore(o, ({ storage }) =>
      storage.sql.exec(`update outbox set ${column} = ? where sequence = ?`, value, sequence),
    );
  const retain = (o: Caller) =>
    inCore(o, async (core) => {
      core.schedule.at('retention', core.now());
      for (let turn = 0; turn < 3; turn++) await runTasks(core);
    });
  const alarms = async (o: Caller) =>
    (await o.get('/audit-log?action=integrity.alarm')).json.data.map(
      ({ reason }: { reason: string }) => reason,
    );

  it('are skipped, told of once and counted, and hold up no other event', async () => {
    useReceivers();
    const o = await newOrg();
    const { id: webhook } = await newWebhook(o);
    const first = (await feed(o)).next_after + 1;
    await raise(o, 8);
    const altered: [string, SqlStorageValue][] = [
      ['data', 'garbage'],
      ['data', 'null'],
      ['id', 'garbage'],
      ['at', 'garbage'],
      ['data', new Uint8Array([255]).buffer],
    ];
    // The last event is one of them.
    for (const [n, [column, value]] of altered.entries()) await alter(o, first + 3 + n, column, value);
    expect((await whole(o)).map(({ sequence }) => sequence).slice(-3)).toEqual([first, first + 1, first + 2]);
    await inCore(o, async (core) => {
      core.enqueue = async () => {};
      await runTasks(core, core.now() + 1000);
    });
    expect(await deliveriesOf(o, webhook)).toHaveLength(3);
    const told = vi.spyOn(console, 'error').mockImplementation(() => {});
    await retain(o);
    await retain(o);
    const lines = told.mock.calls.map(([line]) => JSON.parse(line));
    told.mockRestore();
    const sequences = altered.map((_, n) => first + 3 + n);
    expect(lines).toMatchObject([{ event: 'events_altered', org: o.id, count: altered.length, sequences }]);
    expect(await alarms(o)).toEqual(['events_altered']);
    // Their numbers are not used again.
    await evict(o);
    await raise(o, 1);
    expect((await whole(o)).at(-1)?.sequence).toBe(first + 8);
  });

  it('leave no gap between the ranges in D1', async () => {
    const o = await newOrg();
    await raise(o, 3500);
    for (const sequence of [1, 2, 1001, 1002]) await alter(o, sequence, 'data', 'garbage');
    await work(o);
    expect(await inCore(o, ({ outbox }) => outbox.moved())).toBeGreaterThan(1500);
    expect(new Set((await whole(o)).map(({ sequence }) => sequence)).size).toBe(3498);
  });
});
