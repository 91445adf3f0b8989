// New values for what a contained credential read or wrote: generated where the current value was generated here, and called due where
// not. Each is an ordinary rotation by the caller. Invariants: a secret that was given a new value since the containment began is not
// given another; a value that this service did not generate is never replaced.

import { canGenerate, generate } from '../../crypto/generate';
import { ApiError, statusOf } from '../../errors';
import { refusalOf } from '../../gate/outcome';
import { keysOf, type RenderContext } from '../../http/context';
import { encryptValue } from '../secrets/encryption';
import type { EncryptedValue } from '../secrets/rules';
import type { Parts } from './log';
import type { NamedSecret } from './parts';
import { containedAt, type ExposureReport, namesOf, replacedSince } from './report';

/** How often one secret is tried, where others change it at the same time. */
const MOST_TRIES = 3;

interface Rotation {
  rotated: Map<string, number>;
  due: string[];
}

/** Whether a generated value may replace the current one. */
// safety: only-generated-replaced
const isReplaceable = ({ isActive, generated, type }: NamedSecret) => isActive && generated && canGenerate(type);

/** Rotates what can be, and raises for the rest that it is due. Throws where the caller or the gate can do no more now: it is repeated. */
export async function rotateAll(context: RenderContext, parts: Parts, id: string, { read, written }: ExposureReport): Promise<Rotation> {
  const seen = new Map<string, number>();
  for (const { secret, version } of [...read, ...written]) seen.set(secret, Math.max(version, seen.get(secret) ?? 0));
  const since = await containedAt(context, parts, id);
  const standing = await namesOf(parts, [...seen.keys()]);
  const rotated = await replacedSince(context, parts, since, seen);
  const due: string[] = [];
  for (const secret of standing.values()) {
    // safety: rotation-once
    if (rotated.has(secret.id)) continue;
    const version = isReplaceable(secret) ? await rotate(context, parts, since, secret, seen) : null;
    if (version === null) due.push(secret.id);
    else rotated.set(secret.id, version);
  }
  for (const secret of rotated.keys()) if (!standing.has(secret)) rotated.delete(secret);
  for (let at = 0; at < due.length; at += 1000) await parts({ part: 'due', ids: due.slice(at, at + 1000) });
  return { rotated, due };
}

/** The version that one secret has then, or null where it cannot be rotated. */
async function rotate(
  context: RenderContext,
  parts: Parts,
  since: number,
  secret: NamedSecret,
  seen: Map<string, number>,
): Promise<number | null> {
  let { type, etag } = secret;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const value: EncryptedValue = encryptValue(keysOf(context), context.org, secret.id, (await generate(type)).value, 1);
    // The ETag holds the version fast, and with it whether its value was generated.
    const input = { if_match: etag, value, generate: null };
    const outcome = await context.also({ action: 'secret.rotate', named: { secret: secret.id }, input });
    if (outcome.kind === 'ok') return (outcome.data as { version: number }).version;
    const refusal = refusalOf(outcome);
    const status = statusOf(refusal);
    if (status === 401 || status === 429 || status >= 500) throw new ApiError(refusal);
    if (status !== 412) return null;
    // Somebody was faster: perhaps with a new value.
    const newer = (await replacedSince(context, parts, since, new Map([[secret.id, seen.get(secret.id) ?? 0]]))).get(secret.id);
    if (newer !== undefined) return newer;
    const [now] = (await namesOf(parts, [secret.id])).values();
    if (!now || !isReplaceable(now)) return null;
    ({ type, etag } = now);
  }
  return null;
}
