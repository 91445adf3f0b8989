// New values for secrets that a contained credential read, wrote or had sent somewhere: generated if the
// current value was generated here, otherwise reported as due. Each is an ordinary rotation by the caller.
// Invariants: a secret rotated since the containment began is not rotated again; a value that this service
// did not generate is never replaced.

import { canGenerate, generate } from '../../crypto/generate';
import { ApiError, statusOf } from '../../errors';
import { refusalOf } from '../../gate/request/outcome';
import { keysOf, type RenderContext } from '../../http/context';
import { encryptValue } from '../secrets/encryption';
import type { EncryptedValue } from '../secrets/rules';
import type { Parts } from './log';
import type { NamedSecret } from './payloads';
import { containedAt, type ExposureReport, namesOf, replacedSince } from './report';

/** How often one secret is retried if it changes concurrently. */
const MOST_TRIES = 3;

interface Rotation {
  rotated: Map<string, number>;
  due: string[];
}

/** Whether a generated value may replace the current one. */
// safety: only-generated-replaced
const isReplaceable = ({ isActive, generated, type, isBarred = false }: NamedSecret) =>
  isActive && generated && canGenerate(type) && !isBarred;

/** The newest version of each secret that was read, written, or sent where the credential said. */
export function seenBy({ read, placed, written }: ExposureReport): Map<string, number> {
  const seen = new Map<string, number>();
  for (const { secret, version } of [...read, ...placed, ...written])
    seen.set(secret, Math.max(version, seen.get(secret) ?? 0));
  return seen;
}

/** What `rotateAll` would do if the containment began now. */
export async function foreseen(parts: Parts, report: ExposureReport): Promise<Rotation> {
  const standing = [...(await namesOf(parts, [...seenBy(report).keys()])).values()];
  const rotated = standing.filter(isReplaceable).map(({ id, version }) => [id, version + 1] as const);
  return {
    rotated: new Map(rotated),
    due: standing.filter((one) => !isReplaceable(one)).map(({ id }) => id),
  };
}

/**
 * Rotates what can be rotated and raises due events for the rest. Throws if the caller or the gate cannot
 * continue; the request is then repeated.
 */
export async function rotateAll(
  context: RenderContext,
  parts: Parts,
  id: string,
  report: ExposureReport,
): Promise<Rotation> {
  const seen = seenBy(report);
  const since = await containedAt(context, parts, id);
  const standing = await namesOf(parts, [...seen.keys()]);
  const replaced = await replacedSince(context, parts, since, seen);
  const rotated = new Map([...replaced].map(([secret, { version }]) => [secret, version]));
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

/** The new version of a secret, or null if it cannot be rotated. */
async function rotate(
  context: RenderContext,
  parts: Parts,
  since: number,
  secret: NamedSecret,
  seen: Map<string, number>,
): Promise<number | null> {
  let { type, etag } = secret;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const value: EncryptedValue = encryptValue(
      keysOf(context),
      context.org,
      secret.id,
      (await generate(type)).value,
      1,
    );
    // The ETag pins the version, and thereby whether its value was generated.
    const input = { if_match: etag, value, generate: null };
    const outcome = await context.also({ action: 'secret.rotate', named: { secret: secret.id }, input });
    if (outcome.kind === 'ok') return (outcome.data as { version: number }).version;
    const refusal = refusalOf(outcome);
    const status = statusOf(refusal);
    if (status === 401 || status === 429 || status >= 500) throw new ApiError(refusal);
    if (status !== 412) return null;
    // Another request was faster, perhaps with a new value.
    const newer = (
      await replacedSince(context, parts, since, new Map([[secret.id, seen.get(secret.id) ?? 0]]))
    ).get(secret.id);
    if (newer !== undefined) return newer.version;
    const [now] = (await namesOf(parts, [secret.id])).values();
    if (!now || !isReplaceable(now)) return null;
    ({ type, etag } = now);
  }
  return null;
}
