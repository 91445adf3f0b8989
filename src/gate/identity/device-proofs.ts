// Proofs of possession (DPoP, RFC 9449): whose key, how old, and whether used before. Invariants: a proof
// admits one request; its use is durable before any response leaves the gate, so an eviction allows no
// replay; a request with a credential that is not bound to a device costs no statement here.

import { type PublicKey, thumbprintOf } from '../../auth/authentication/jwk';
import { type Refusal, refuse } from '../../errors';
import type { Core } from '../core';
import { part } from '../part';
import type { Ask } from '../request/call';

/**
 * How long after its time a proof is remembered, in milliseconds: twice its validity, because the clock of
 * the gate's next host may be behind.
 */
const KEPT = 120_000;
const SWEPT_EVERY = 60_000;

export interface DeviceProofs {
  /** Whether this proof already admitted another request. */
  isUsed(device: string, jti: string, request: string): boolean;
  use(device: string, jti: string, request: string, iat: number, now: number): void;
}

export function createDeviceProofs(sql: SqlStorage): DeviceProofs {
  sql.exec(
    'create table if not exists proofs (device text not null, jti text not null, request text not null, iat integer not null, primary key (device, jti)) without rowid',
  );
  let swept = 0;
  return {
    isUsed: (device, jti, request) =>
      sql
        .exec('select 1 from proofs where device = ? and jti = ? and request <> ?', device, jti, request)
        .toArray().length > 0,
    use(device, jti, request, iat, now) {
      // safety: proof-used-once
      sql.exec('insert or ignore into proofs values (?, ?, ?, ?)', device, jti, request, iat);
      if (Math.abs(now - swept) < SWEPT_EVERY) return;
      swept = now;
      sql.exec('delete from proofs where iat < ?', now - KEPT);
    },
  };
}

export const deviceProofs = part(({ storage }) => createDeviceProofs(storage.sql));

/** The maximum age of a proof, and how far a device's clock may be ahead, in milliseconds. */
const MOST_AGE = 60_000;
const MOST_AHEAD = 5000;

const wrong = (why: string) =>
  refuse('DEVICE_PROOF_INVALID', { message: `The DPoP proof is not valid: ${why}.` });

/**
 * 401 if a request does not prove what its credential requires. `device`: the one that the credential is
 * bound to. A further call of an admitted request (`again`) was proven by the first.
 */
export function unproven(
  core: Core,
  { proof, isDpop, again, request }: Ask,
  device: string | null,
): Refusal | null {
  // RFC 9449 §7.1: with the DPoP scheme, the token must be bound to the key of the proof.
  // safety: dpop-scheme-of-bound-token
  if (device === null)
    return isDpop ? wrong('this credential is not bound to a device; send it with the scheme Bearer') : null;
  // safety: proof-required
  if (!proof) return refuse('DEVICE_PROOF_REQUIRED');
  if ('invalid' in proof) return wrong(proof.invalid);
  const key = core.rows.get('device', device)?.public_key;
  // safety: proof-by-registered-key
  if (!key || thumbprintOf(key as unknown as PublicKey) !== proof.thumbprint)
    return wrong('jwk is not the key of the device');
  if (again) return null;
  const now = core.now();
  const age = now - proof.iat;
  // safety: proof-window
  if (age > MOST_AGE || age < -MOST_AHEAD)
    return wrong(
      `iat must be at most 60 seconds before and 5 seconds after the server time, which is ${new Date(now).toISOString()}`,
    );
  // safety: proof-replay
  return deviceProofs(core).isUsed(device, proof.jti, request.id)
    ? wrong('its jti has been used before')
    : null;
}

/** Records the proof of an admitted request as used. */
export function spend(core: Core, { proof, again, request }: Ask, device: string | null): void {
  if (device === null || again || !proof || 'invalid' in proof) return;
  deviceProofs(core).use(device, proof.jti, request.id, proof.iat, core.now());
}
