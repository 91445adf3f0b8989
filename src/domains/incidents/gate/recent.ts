// What an attacker may have created that a panic does not revoke (passkeys, enrolments, grants, trusts, log
// streams, upstreams, connections to identity providers, domains and SCIM tokens), and the sessions it did
// revoke. Invariant: each list is limited in length and bytes, because the response of a panic is stored with
// its commit; the newest items come first.

import { utf8 } from '../../../crypto/bytes';
import { idPrefixes } from '../../../db/ids';
import { DAY } from '../../../db/rows';
import type { Core } from '../../../gate/core';
import { lastUsed } from '../../../gate/limits/last-used';
import type { Call } from '../../../gate/request/call';
import { iso, isoOrNull } from '../../../http/wire';
import { mayListSetUp, maySeeUpstream } from './listed';

/** How long an item counts as recent. */
const RECENT = 7 * DAY;
const MOST = 1000;
const MOST_BYTES = 200_000;

/** As many of the first items as the response can hold. */
function bounded<T extends object>(items: T[]): T[] {
  let bytes = 0;
  const past = items.slice(0, MOST).findIndex((item) => {
    bytes += utf8(JSON.stringify(item)).length;
    return bytes > MOST_BYTES;
  });
  return items.slice(0, past < 0 ? MOST : past);
}

/** Trusts that were made, or changed what they accept, at a recent time. */
const trustsOf = ({ rows }: Core, isRecent: (row: { created_at: number }) => boolean) =>
  rows
    .newest('credential', 'trs', MOST)
    .filter(
      ({ revoked_at, created_at, trust }) =>
        revoked_at === null && isRecent({ created_at: trust?.changed_at ?? created_at }),
    );

/** Log streams that were made or changed at a recent time. */
const logStreamsOf = (call: Call<unknown>, isRecent: (row: { created_at: number }) => boolean) =>
  bounded(
    (mayListSetUp(call, 'log_streams') ? call.core.rows.within('log_stream', '') : [])
      .filter(({ updated_at }) => isRecent({ created_at: updated_at }))
      .sort((a, b) => b.updated_at - a.updated_at)
      .map(({ id, name, kind, created_by, created_at, updated_at }) => ({
        id,
        name,
        kind,
        created_by,
        created_at: iso(created_at),
        updated_at: iso(updated_at),
      })),
  );

/** Upstreams that were made or changed at a recent time. */
const upstreamsOf = (call: Call<unknown>, isRecent: (row: { created_at: number }) => boolean) =>
  bounded(
    call.core.rows
      .within('upstream', '')
      .filter((row) => isRecent({ created_at: row.updated_at }) && maySeeUpstream(call, row))
      .sort((a, b) => b.updated_at - a.updated_at)
      .map(({ id, name, base_url, created_by, created_at, updated_at }) => ({
        id,
        name,
        base_url,
        created_by,
        created_at: iso(created_at),
        updated_at: iso(updated_at),
      })),
  );

/** Connections to identity providers, domains and SCIM tokens that were made or changed at a recent time. */
function providersOf(call: Call<unknown>, isRecent: (row: { created_at: number }) => boolean) {
  const { rows } = call.core;
  const listed = <K extends 'sso_connection' | 'domain'>(kind: K) =>
    mayListSetUp(call, `${kind}s`) ? rows.within(kind, '') : [];
  const newest = <T extends { at: number }>(items: T[]) =>
    items.filter(({ at }) => isRecent({ created_at: at })).sort((a, b) => b.at - a.at);
  const connections = newest(listed('sso_connection').map((row) => ({ row, at: row.updated_at })));
  const domains = newest(listed('domain').map((row) => ({ row, at: row.verified_at ?? row.created_at })));
  const tokens = rows
    .newest('credential', idPrefixes.scim, MOST)
    .filter((row) => row.revoked_at === null && isRecent(row));
  return {
    sso_connections: bounded(
      connections.map(({ row: { id, name, config, created_by, created_at, updated_at } }) => ({
        id,
        name,
        issuer: String(config.issuer ?? ''),
        created_by,
        created_at: iso(created_at),
        updated_at: iso(updated_at),
      })),
    ),
    domains: bounded(
      domains.map(({ row: { id, domain, verified_at, created_by, created_at } }) => ({
        id,
        domain,
        verified_at: isoOrNull(verified_at),
        created_by,
        created_at: iso(created_at),
      })),
    ),
    scim_tokens: bounded(
      tokens.map(({ id, name, scim, created_by, created_at }) => ({
        id,
        name: name ?? '',
        connection_id: scim?.connection ?? null,
        created_by,
        created_at: iso(created_at),
      })),
    ),
  };
}

/** What was recent at a time, as far as it is still there and the caller may list it. */
export function recentOf(call: Call<unknown>, now: number) {
  const { core } = call;
  const { rows } = core;
  const isRecent = ({ created_at }: { created_at: number }) => created_at > now - RECENT && created_at <= now;
  const passkeys = rows.newest('passkey', 'psk', MOST).filter(isRecent);
  const sessions = rows.newest('credential', 'ses', MOST).filter(isRecent);
  const waiting = rows
    .within('member', '')
    .filter(
      ({ enrolment_hash, enrolment_made_at, enrolment_ends_at }) =>
        enrolment_hash !== null && (enrolment_ends_at ?? 0) > core.now() && (enrolment_made_at ?? 0) <= now,
    )
    .sort((a, b) => (b.enrolment_made_at ?? 0) - (a.enrolment_made_at ?? 0));
  const grants = rows.newest('grant', 'grt', MOST).filter(isRecent);
  return {
    passkeys: bounded(
      passkeys.map(({ id, member_id, name, created_at }) => ({
        id,
        member_id,
        name,
        created_at: iso(created_at),
      })),
    ),
    sessions: bounded(
      sessions.map(({ id, member_id, passkey_id, created_at }) => {
        const used = lastUsed(core).of(id);
        return {
          id,
          member_id,
          passkey_id,
          created_at: iso(created_at),
          last_used_at: isoOrNull(used?.at ?? null),
          last_used_place: used?.place ?? null,
        };
      }),
    ),
    enrolments: bounded(
      waiting.map(({ id, email, enrolment_made_at, enrolment_ends_at }) => ({
        member_id: id,
        email,
        created_at: iso(enrolment_made_at ?? 0),
        expires_at: iso(enrolment_ends_at ?? 0),
      })),
    ),
    grants: bounded(
      grants.map(({ id, grantee_type, grantee_id, permission, created_by, created_at, expires_at }) => ({
        id,
        grantee: { type: grantee_type, id: grantee_id },
        permission,
        created_by,
        created_at: iso(created_at),
        expires_at: isoOrNull(expires_at),
      })),
    ),
    upstreams: upstreamsOf(call, isRecent),
    log_streams: logStreamsOf(call, isRecent),
    ...providersOf(call, isRecent),
    trusts: bounded(
      trustsOf(core, isRecent).map(({ id, name, trust, created_by, created_at }) => ({
        id,
        name: name ?? '',
        issuer: trust?.issuer ?? '',
        created_by,
        created_at: iso(created_at),
        updated_at: iso(trust?.changed_at ?? created_at),
      })),
    ),
  };
}
