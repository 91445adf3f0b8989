// Many long names and the largest patterns: lists, comparisons, bulk reads, graphs and the audit log take
// bounded work, and a caller who is limited to some names learns no others.
import { describe, expect, it } from 'vitest';
import { nobody, type PermissionSet, stepsFor } from '../../../src/auth/authorize';
import { fromBase62, fromBase64Url, toBase64Url, utf8 } from '../../../src/crypto/bytes';
import { idBytes } from '../../../src/db/ids';
import { overlaps } from '../../../src/gate/identity/caller';
import { newAgent, newKey, newSession } from '../../support/credentials';
import { faults } from '../../support/faults';
import { inCore } from '../../support/gate';
import { PATTERNS, pattern } from '../../support/limits/largest';
import {
  type Agent,
  chainOf,
  MOST_WORK,
  PLANTED,
  plant,
  useComparisons,
  workOf,
} from '../../support/limits/work';
import { slow } from '../../support/slow';
import { type Caller, newOrg, newSecret, useWorld } from '../../support/world';

useWorld();
useComparisons();

describe('cursor: a caller who is limited to some names', () => {
  slow('learns no name and no id of other secrets', async () => {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    await plant(o, kept.id, PLANTED);
    const agent = await newAgent(o, { scopes: ['secrets:list'], secrets: ['KEPT'] });
    const cursors: string[] = [];
    for (let cursor = ''; ; ) {
      const { status, json } = await agent.o.get(`/secrets?limit=1${cursor && `&cursor=${cursor}`}`);
      expect([status, json.data.every(({ name }: { name: string }) => name === 'KEPT')]).toEqual([200, true]);
      if (json.next_cursor === null) break;
      cursors.push(json.next_cursor);
      cursor = json.next_cursor;
    }
    // The first ends at a secret that the agent may not see: a page looks at 1,000.
    expect(cursors).toHaveLength(1);
    const again = (await agent.o.get('/secrets?limit=1')).json.next_cursor;
    expect(again).not.toBe(cursors[0]);
    const hidden = await inCore(o, ({ rows }) =>
      rows.after('secret', kept.id, PLANTED).map(({ id, name }) => ({ id, name })),
    );
    const one = hidden[0] as { id: string; name: string };
    for (const plain of [one.id.slice(4), toBase64Url(utf8(one.id)), toBase64Url(utf8(`after ${one.name}`))])
      expect(leaked(plain, [one])).not.toEqual([]);
    for (const cursor of [...cursors, again] as string[]) expect(leaked(cursor, hidden)).toEqual([]);
  });
});

const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Which of some secrets a text names: by itself, or where its parts are read as base64 or base62. */
function leaked(text: string, secrets: { id: string; name: string }[]): string[] {
  const decoded: Uint8Array[] = [];
  for (let at = 0; at < text.length; at++) {
    const rest = text.slice(at);
    for (const cut of [0, 1, 2, 3])
      decoded.push(fromBase64Url(rest.slice(0, rest.length - cut)) ?? new Uint8Array());
    for (const length of [21, 22]) decoded.push(fromBase62(rest.slice(0, length), 16) ?? new Uint8Array());
  }
  const said = [text, ...decoded.flatMap((bytes) => [hex(bytes), new TextDecoder().decode(bytes)])].join(' ');
  return secrets
    .filter(({ id, name }) =>
      [id.slice(4), name, hex(idBytes('sec', id) as Uint8Array)].some((part) => said.includes(part)),
    )
    .map(({ id }) => id);
}

describe('limits: name patterns on many names', () => {
  /** Compares many long names with the largest patterns, two of which match something. */
  async function wideWorld() {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    await plant(o, kept.id, PLANTED);
    const key = await newKey(o, { scopes: ['secrets:list', 'secrets:read'] });
    return {
      o,
      kept,
      key,
      session: await newSession(key.o, { secrets: [...PATTERNS.slice(2), 'KEPT', '*-7'] }),
    };
  }

  it.each([
    ['by creation', ''],
    ['by folders', '&environment=production&delimiter=/'],
  ])('a list ends its page early, and its pages show each secret once: %s', async (_, query) => {
    const { o, kept, session } = await wideWorld();
    const shown: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages++) {
      const { answer, work } = await workOf(o, () =>
        session.o.get(`/secrets?limit=100${query}${cursor && `&cursor=${cursor}`}`),
      );
      expect([answer.status, work.steps < 5_000_000]).toEqual([200, true]);
      shown.push(...answer.json.data.map(({ id }: { id: string }) => id));
      if (!answer.json.has_more) break;
      cursor = answer.json.next_cursor;
    }
    expect(pages).toBeGreaterThan(5);
    const all = await inCore(o, ({ rows }) => rows.after('secret', '', 2 * PLANTED));
    expect(shown.toSorted()).toEqual(
      all.filter(({ id, name }) => id === kept.id || name.endsWith('-7')).map(({ id }) => id),
    );
  });

  slow('a comparison of environments ends its page early, and its pages show each name once', async () => {
    const { o, session } = await wideWorld();
    const shown: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages++) {
      const query = `environments=staging,production&limit=100${cursor && `&cursor=${cursor}`}`;
      const { answer, work } = await workOf(o, () => session.o.get(`/environments/compare?${query}`));
      expect([answer.status, work.steps < MOST_WORK.steps]).toEqual([200, true]);
      shown.push(...answer.json.data.map(({ name }: { name: string }) => name));
      if (!answer.json.has_more) break;
      cursor = answer.json.next_cursor;
    }
    expect(pages).toBeGreaterThan(5);
    expect([shown.length > 0, new Set(shown).size]).toEqual([true, shown.length]);
  });

  slow('a bulk read with many patterns is refused, and one with few is not', async () => {
    const { o, session, kept, key } = await wideWorld();
    const { answer, work } = await workOf(o, () => session.o.get('/environments/production/values'));
    expect([answer.status, answer.json.error.code, work.steps < MOST_WORK.steps]).toEqual([
      422,
      'RESULT_TOO_LARGE',
      true,
    ]);
    const narrow = await newSession(key.o, { secrets: ['*KEPT', 'none/*'] });
    expect((await narrow.o.get('/environments/production/values')).json.values).toEqual({ KEPT: kept.value });
    expect((await o.get(`/credentials/${narrow.id}/graph`)).json.reach.environments).toContainEqual({
      environment: 'production',
      secrets: 1,
    });
  });

  slow('a graph counts up to the limit, and says so', async () => {
    const { o, session } = await wideWorld();
    const { answer, work } = await workOf(o, () => o.get(`/credentials/${session.id}/graph`));
    const production = answer.json.reach.environments.find(
      ({ environment }: { environment: string }) => environment === 'production',
    );
    expect([
      answer.status,
      production.incomplete,
      production.secrets <= 2,
      work.steps < MOST_WORK.steps,
    ]).toEqual([200, true, true, true]);
  });

  slow('a list of the audit log reads fewer entries at a time, and shows each once', async () => {
    const o = await newOrg();
    const kept = await newSecret(o, { name: 'KEPT' });
    await inCore(o, ({ storage, auditLog }) =>
      storage.transactionSync(() => {
        for (let n = 0; n < 600; n++)
          auditLog.append(
            {
              actor: { kind: 'api_key', id: 'key_0', parent_id: null, name: null },
              action: 'secret.read',
              resource: kept.id,
              resource_name: n % 100 ? 'ab'.repeat(120) : 'KEPT',
              environment: 'production',
              version: 1,
              reason: null,
              request_id: `req_${n}`,
              ip: '203.0.113.7',
              user_agent: null,
            },
            200,
            Date.now(),
          );
      }),
    );
    const key = await newKey(o, { scopes: ['audit:read'] });
    const session = await newSession(key.o, { secrets: [...PATTERNS.slice(1), 'KEPT'] });
    const shown: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages++) {
      const { answer, work } = await workOf(o, () =>
        session.o.get(`/audit-log?actor=key_0&limit=2${cursor && `&cursor=${cursor}`}`),
      );
      expect(answer.status).toBe(200);
      expect(work.steps / work.gate).toBeLessThan(5_000_000);
      shown.push(...answer.json.data.map(({ request_id }: { request_id: string }) => request_id));
      if (!answer.json.has_more) break;
      cursor = answer.json.next_cursor;
    }
    expect(pages).toBeGreaterThan(1);
    expect(shown).toEqual([500, 400, 300, 200, 100, 0].map((n) => `req_${n}`));
  });

  it('counts a name with the patterns that are matched, and not patterns of a caller who reaches every name', () => {
    const holding = (secrets: string[] | null, environments: string[] | null = null) => ({
      scopes: ['secrets:list'],
      environments,
      secrets,
      upstreams: null,
      expires_at: null,
    });
    const left = (most: number, ...permissions: [PermissionSet, ...PermissionSet[]]) =>
      stepsFor({ ...nobody, permissions }, ['secrets:list'], most).take('env', 'x'.repeat(10));
    // Ten characters, and one word of 32 characters for each begun pattern and each further 32.
    expect([left(19, holding(['a', 'b'])), left(20, holding(['a', 'b']))]).toEqual([false, true]);
    expect([left(89, holding([pattern(256)])), left(90, holding([pattern(256)]))]).toEqual([false, true]);
    expect([left(0, holding(null), holding(['a'])), left(0, holding(['a'], ['other']))]).toEqual([
      true,
      true,
    ]);
    expect(left(9, holding(['a']), holding(null))).toBe(false);
  });
});

describe('limits: the intersection of a chain of agents', () => {
  it('is computed once for many requests, and never for an ended credential or one over its rate limit', async () => {
    const o = await newOrg();
    faults.clock = Date.now();
    const chain = await chainOf(o);
    const [, second, third, last] = chain as [Agent, Agent, Agent, Agent];
    const limited = await newAgent(third.o, { scopes: ['secrets:list'], secrets: PATTERNS, rate_limit: 1 });
    await inCore(o, (core) => overlaps(core).clear());
    const steps = async (by: Caller) =>
      (await workOf(by, () => by.get('/environments/production'))).work.steps;
    const first = await steps(last.o);
    const later = [await steps(last.o), await steps(last.o)];
    expect(first).toBeGreaterThan(100_000);
    expect(first).toBeLessThan(3 * 2 * 16 * 16 * 3163);
    expect(later).toEqual([0, 0]);

    expect(await steps(limited.o)).toBeGreaterThan(0);
    await inCore(o, (core) => overlaps(core).clear());
    const { answer, work } = await workOf(o, () => limited.o.get('/environments/production'));
    expect([answer.status, work.steps]).toEqual([429, 0]);

    await o.del(`/agent-credentials/${second.id}`);
    const refused = await workOf(o, () => last.o.get('/environments/production'));
    expect([refused.answer.status, refused.work.steps]).toEqual([401, 0]);
  });
});
