// The tools that manage secrets: list, check, rotate. Invariant: none of them returns a value.
import { CliError } from '../errors.ts';
import type { SecretInfo } from '../secrets/lookup.ts';
import { cleanLines } from '../text.ts';
import { callOf } from './calls.ts';
import { heldBy, notYet, type Session } from './session.ts';

const LONGEST_DESCRIPTION = 500;

/** The fields of a secret that a model sees. */
const shown = ({
  name,
  type,
  environment,
  status,
  version,
  description,
  tags,
  created_at,
  updated_at,
  expires_at,
}: SecretInfo) => ({
  name,
  type,
  environment,
  status,
  version,
  ...(description && { description: cleanLines(description).slice(0, LONGEST_DESCRIPTION) }),
  ...(Object.keys(tags).length > 0 && { tags }),
  created_at,
  updated_at,
  expires_at,
});

export async function listSecrets(
  session: Session,
  { prefix, limit, cursor }: { prefix?: string; limit: number; cursor?: string },
) {
  const { vault, environment } = session;
  const { data } = await vault.api.GET('/orgs/{org_id}/secrets', {
    params: { path: { org_id: vault.org }, query: { environment, prefix, limit, cursor } },
    headers: { 'X-Access-Reason': session.reasonFor('list_secrets', prefix ?? 'all') },
  });
  return session.masked({ environment, secrets: data.data.map(shown), next_cursor: data.next_cursor });
}

export async function checkSecret(session: Session, name: string) {
  const reason = session.reasonFor('check_secret', name);
  const found = await session.find(name, reason);
  if (!found) return { name, exists: false };
  const changed = found.rotate_every_seconds === null ? undefined : await valueTime(session, found, reason);
  const due =
    changed === undefined || found.rotate_every_seconds === null
      ? null
      : Date.parse(changed) + found.rotate_every_seconds * 1000;
  return session.masked({
    exists: true,
    ...shown(found),
    rotate_every_seconds: found.rotate_every_seconds,
    generated: found.generated,
    value_changed_at: changed,
    rotation_due_at: due === null ? null : new Date(due).toISOString(),
    rotation_is_due: due === null ? false : due <= Date.now(),
  });
}

/** When the current value was created; undefined if this agent may not list versions. */
async function valueTime(
  { vault }: Session,
  { id, version }: SecretInfo,
  reason: string,
): Promise<string | undefined> {
  try {
    const { data } = await vault.api.GET('/orgs/{org_id}/secrets/{id}/versions', {
      params: { path: { org_id: vault.org, id }, query: { limit: 1 } },
      headers: { 'X-Access-Reason': reason },
    });
    return data.data.find((one) => one.version === version)?.created_at;
  } catch (error) {
    if ((error as { status?: number }).status !== 403) throw error;
    return undefined;
  }
}

/** Rotates a secret to a value that the vault generates. */
export async function rotateSecret(
  session: Session,
  { name, length, charset }: { name: string; length?: number; charset?: string },
) {
  // Deciders see what the new value would be.
  const reason = session.reasonFor(
    'rotate_secret',
    `length ${length ?? 'default'}, charset ${charset ?? 'default'}, ${name}`,
  );
  const { text } = session.textOf(callOf('rotate_secret', name, { name, length, charset }));
  const found = await session.find(name, reason);
  if (!found)
    throw new CliError('There is no secret of this name that this agent may use.', {
      exit: 'notFound',
      code: 'NOT_FOUND',
    });
  const rotate = async (approval?: string) => {
    const { data } = await session.vault.api.POST('/orgs/{org_id}/secrets/{id}/rotate', {
      params: { path: { org_id: session.vault.org, id: found.id } },
      headers: {
        'X-Access-Reason': reason,
        'X-Access-Call': text,
        ...(approval && { 'Approval-Id': approval }),
      },
      body: { generate: { length, charset } },
    });
    return data;
  };
  const { value, ...info } = await rotate().catch((error: unknown) => {
    const held = heldBy(error);
    if (!held) throw error;
    if (held.status !== 'approved') throw notYet([{ name, ...held }]);
    return rotate(held.id);
  });
  if (value) session.masker.add(name, value);
  // safety: mcp-rotate-answer
  return session.masked({ rotated: true, ...shown(info) });
}
