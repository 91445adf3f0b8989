// Rows that no route of the public interface makes in a test, put in by a commit like any other; and calls by
// a member's browser session.
import type { Action } from '../../../src/auth/actions';
import { toBase64, utf8 } from '../../../src/crypto/bytes';
import { gzip } from '../../../src/crypto/gzip';
import { newId } from '../../../src/db/ids';
import { macOf } from '../../../src/db/rows';
import { actions } from '../../../src/domains';
import { encryptValue } from '../../../src/domains/secrets/encryption';
import type { EncryptedValue } from '../../../src/domains/secrets/rules';
import { answer } from '../../../src/gate/answer/answer';
import type { Entry } from '../../../src/gate/audit/entry';
import type { Core } from '../../../src/gate/core';
import { mirror } from '../../../src/gate/journal/mirror';
import type { Ask, Call, Operation, Reply } from '../../../src/gate/request/call';
import { insertion, rowKeyOf } from '../../../src/gate/request/writes';
import { askOf, browserBearer, inGate, keysOf } from '../gate';
import { type Caller, db } from '../world';

/** Performs an operation that no route has. D1 has its rows afterwards. */
async function planted(core: Core, plant: Operation, ask: Ask): Promise<Reply> {
  const reply = await answer(core, { operations: { plant }, actions }, ask);
  await mirror(core).follow();
  return reply;
}

/** A member, and a browser session of theirs. */
export async function newSignedInMember(
  o: Caller,
  role: 'owner' | 'developer' = 'owner',
): Promise<{ member: string; session: string }> {
  const member = newId('mem');
  const session = newId('ses');
  const now = Date.now();
  const plant: Operation = {
    change: {
      locks: () => [member, session],
      plan: (call) => ({
        status: 204,
        data: null,
        writes: [
          insertion(call, 'member', {
            org_id: o.id,
            id: member,
            email: `${member}@example.com`,
            name: 'Bea',
            role,
            created_at: now,
          }),
          ...browserOf(call, o, member, session, now),
        ],
      }),
    },
  };
  const ask = await askOf(o, 'org.recover', 'bootstrap', { path_org: null, operation: 'plant' });
  const reply = await inGate(o, ({ core }) => planted(core, plant, ask));
  if (reply.outcome.kind !== 'ok') throw new Error(JSON.stringify(reply.outcome));
  return { member, session };
}

/**
 * A secret at its thousandth version, of which the first and the last are kept: one more destroys the first.
 * `counted`: what its row says of its ciphertext.
 */
export async function newLongSecret(
  o: Caller,
  { counted = null as number | null } = {},
): Promise<{ id: string; name: string }> {
  const keys = await keysOf(o);
  const id = newId('sec');
  const name = `long-${id}`;
  const [first, last] = ['first', 'the thousandth'].map((value) => encryptValue(keys, o.id, id, value)) as [
    EncryptedValue,
    EncryptedValue,
  ];
  const now = Date.now();
  const { value_sealed, ...current } = last;
  const plant: Operation = {
    change: {
      locks: () => [id],
      plan(call) {
        const versions = (
          [
            [1, first],
            [1000, last],
          ] as const
        ).map(([version, value]) => {
          const row = {
            org_id: o.id,
            secret_id: id,
            version,
            ...value,
            binary: null,
            request_token: null,
            created_by: 'bootstrap',
            created_at: now,
            mac: '',
          };
          return { ...row, mac: macOf(rowKeyOf(call), 'version', row) };
        });
        const environment_id = call.core.rows.find('environment', '', 'production')?.id as string;
        const secret = {
          org_id: o.id,
          id,
          environment_id,
          name,
          type: 'password' as const,
          tags: {},
          ...current,
          version: 1000,
          amended: 0,
          oldest_version: 1,
          lost_versions: [[2, 999]] as [number, number][],
          created_at: now,
          updated_at: now,
          sealed_size: counted ?? first.value_sealed.length + value_sealed.length,
        } as const;
        return {
          status: 204,
          data: null,
          writes: [insertion(call, 'secret', secret)],
          versions,
          environments: [environment_id],
        };
      },
    },
  };
  const ask = await askOf(o, 'org.recover', 'bootstrap', { path_org: null, operation: 'plant' });
  const reply = await inGate(o, ({ core }) => planted(core, plant, ask));
  if (reply.outcome.kind !== 'ok') throw new Error(JSON.stringify(reply.outcome));
  return { id, name };
}

const browserOf = (call: Call<unknown>, o: Caller, member: string, session: string, now: number) => [
  insertion(call, 'credential', {
    org_id: o.id,
    id: session,
    token_hash: session,
    hint: '',
    kind: 'browser',
    scopes: [],
    rate_limit: 600,
    created_by: member,
    member_id: member,
    created_at: now,
    expires_at: now + 3_600_000,
    refresh: { live: [1], used: [], last: 1, confirmed: 1 },
    confirmed_at: now,
    generation: call.core.rows.get('org', o.id)?.generation ?? null,
  }),
];

/** What the gate answers a member's browser session. */
export async function byMember(
  o: Caller,
  session: string,
  action: Action,
  fields: Partial<Ask> = {},
): Promise<Reply> {
  const ask = await askOf(o, action, browserBearer(o, session), fields);
  return inGate(o, (gate) => gate.call(ask));
}

/**
 * Moves what lies of the audit log in the gate to D1, in segments of that many entries; the rest of less than
 * one stays.
 */
export const moveLog = (o: Caller, size: number) =>
  inGate(o, async ({ core }) => {
    while (core.auditLog.size() >= size) {
      const entries = core.auditLog.from(core.auditLog.oldest(), size).entries as [Entry, ...Entry[]];
      const last = entries.at(-1) as Entry;
      const distinct = (of: (entry: Entry) => string | null) =>
        JSON.stringify([...new Set(entries.flatMap((entry) => of(entry) ?? []))]);
      await db
        .prepare('insert into audit_segments values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .bind(
          ...[
            o.id,
            entries[0].sequence,
            last.sequence,
            Date.parse(entries[0].time),
            Date.parse(last.time),
            entries[0].prev_hash,
            last.hash,
          ],
          ...[
            distinct(({ actor }) => actor.id),
            distinct(({ action }) => action),
            distinct(({ resource }) => resource),
          ],
          toBase64(await gzip(utf8(JSON.stringify(entries)))),
        )
        .run();
      core.auditLog.moved(last.sequence, Number.MAX_SAFE_INTEGER);
    }
  });
