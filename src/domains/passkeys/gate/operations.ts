// Operations on passkeys in the gate. Invariants: an enrolled member always has at least one; a member can
// add only their own, and only a caller who may change a member can change that member's passkeys; browser
// sessions started with a passkey are revoked together with it.

import type { Caller } from '../../../auth/authorize';
import { withinPermissions } from '../../../auth/delegation';
import { wantedOfRole } from '../../../auth/roles';
import type { MemberRow, PasskeyRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { withTies } from '../../../gate/approvals/ties';
import { isByPasskey } from '../../../gate/identity/sso';
import type { Call, Operation } from '../../../gate/request/call';
import { fail, type Outcome, ok } from '../../../gate/request/outcome';
import type { Put } from '../../../gate/request/plan';
import { namedId } from '../../../gate/request/target';
import { insertion, revision } from '../../../gate/request/writes';
import { bringing } from '../../sso-signin/gate/given';
import type { Registered } from '../webauthn';
import { passkeyOut } from '../wire';

const MOST_PASSKEYS = 20;

/** A passkey verified by the Worker. */
export interface PasskeyInput extends Registered {
  id: string;
}

const target = (call: Call<unknown>): MemberRow | null =>
  call.core.rows.get('member', namedId(call.ask, 'member'));
const isOwn = (call: Call<unknown>) =>
  call.ask.named.member === call.caller.id && call.caller.kind === 'member';

function find(call: Call<unknown>): PasskeyRow | null {
  const id = namedId(call.ask, 'passkey');
  const row = call.core.rows.get('passkey', id);
  return row && row.member_id === call.ask.named.member ? row : null;
}

/**
 * 403 for a caller who may not change the member that owns the passkey: their role exceeds the caller's, or
 * they are an owner and the caller is not.
 */
function mayTouch(call: Call<unknown>): Refusal | null {
  const member = target(call);
  if (!member || isOwn(call)) return null;
  if (member.role === 'owner' && !call.caller.isOwner)
    return refuse('INSUFFICIENT_SCOPE', { message: 'Only an owner can change the passkeys of an owner.' });
  return withinRole(call.caller, member);
}

const withinRole = (caller: Caller, member: MemberRow) =>
  withinPermissions({ ...caller, addresses: [] }, wantedOfRole(member)) &&
  refuse('INSUFFICIENT_SCOPE', {
    message: 'The role of this member holds more than the calling credential.',
  });

const passkeysOf = ({ core }: Call<unknown>, member: string): PasskeyRow[] =>
  core.rows.within('passkey', member).toSorted((a, b) => (a.id < b.id ? -1 : 1));

const list: Operation<{ limit: number; after: string | null }> = {
  exempt: (call) => isOwn(call),
  read(call): Outcome {
    const { input } = call;
    if (!target(call)) return fail(refuse('NOT_FOUND'));
    const rows = passkeysOf(call, namedId(call.ask, 'member')).filter(({ id }) => id > (input.after ?? ''));
    const items = rows.slice(0, input.limit);
    return ok({ items: items.map(passkeyOut), next: rows.length > input.limit ? items.at(-1)?.id : null });
  },
};

/** 403 for anyone except the signed-in member. */
const alone = (call: Call<unknown>): Refusal | null =>
  isOwn(call)
    ? null
    : refuse('CREDENTIAL_KIND_NOT_ALLOWED', {
        message: 'This request needs a browser session of this member.',
      });

/** What the options of a new passkey are built from. */
const options: Operation<Record<string, never>> = {
  reach: (call) => alone(call),
  read(call): Outcome {
    const member = target(call) as MemberRow;
    const has = passkeysOf(call, member.id).map(({ credential_id, transports }) => ({
      credential_id,
      transports,
    }));
    return ok({ id: member.id, email: member.email, name: member.name, has });
  },
};

/**
 * The row of a verified passkey, or why it cannot be added: it exists, its challenge was used, or there are
 * too many.
 */
export function addition(call: Call<unknown>, { id, ...fields }: PasskeyInput, member: string, now: number) {
  const { rows } = call.core;
  if (rows.get('passkey', id) || rows.isBuried('passkey', id))
    return refuse('CONFLICT', { message: 'These options have been used. Get new ones.' });
  if (rows.find('passkey', member, fields.credential_id))
    return refuse('CONFLICT', { message: 'The member already has this passkey.' });
  if (passkeysOf(call, member).length >= MOST_PASSKEYS)
    return refuse('LIMIT_REACHED', {
      message: `A member can have at most ${MOST_PASSKEYS} passkeys. Remove one that is no longer needed.`,
    });
  return insertion(call, 'passkey', {
    org_id: call.ask.org,
    id,
    member_id: member,
    ...fields,
    created_at: now,
  });
}

/**
 * The tie to the provider of a member who registers a passkey on its word alone: whoever controls the
 * provider may have that passkey.
 */
function ties(call: Call<unknown>, now: number): Put[] {
  const { rows } = call.core;
  const session = rows.get('credential', call.caller.credential);
  const member = rows.get('member', call.caller.id);
  const connection = session?.sso ? rows.get('sso_connection', session.sso.connection) : null;
  // safety: passkey-on-word-of-provider-ties
  if (!session || !member || !connection || isByPasskey(call.core, session)) return [];
  return [
    revision(call, 'member', member, {
      connections: withTies(member.connections, bringing(connection, now), now),
    }),
  ];
}

const create: Operation<{ passkey: PasskeyInput }> = {
  subject: ({ input }) => ({ resource: input.passkey.id }),
  reach: (call) => alone(call),
  change: {
    plan(call, now) {
      const { passkey } = call.input;
      const put = addition(call, passkey, call.caller.id, now);
      if ('code' in put) return put;
      return { status: 201, data: passkeyOut(put.row as PasskeyRow), writes: [put, ...ties(call, now)] };
    },
  },
};

const rename: Operation<{ name: string }> = {
  exempt: (call) => isOwn(call),
  reach: (call) => mayTouch(call),
  change: {
    revises: find,
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const put = revision(call, 'passkey', row, { name: call.input.name });
      return { status: 200, data: passkeyOut(put.row as PasskeyRow), writes: [put] };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  exempt: (call) => isOwn(call),
  reach: (call) => mayTouch(call),
  change: {
    revises: find,
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      if (passkeysOf(call, row.member_id).length === 1) return refuse('LAST_PASSKEY');
      return {
        status: 204,
        data: null,
        deletes: [{ kind: 'passkey', id: row.id }],
      };
    },
  },
};

export const passkeyOperations = {
  'passkey.list': list,
  'passkey.options': options,
  'passkey.create': create,
  'passkey.update': rename,
  'passkey.delete': remove,
};
