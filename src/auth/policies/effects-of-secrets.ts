// The effects of changes and reads of secrets, and of whatever leads to their values: environments, links,
// grants and upstreams. Pure.
import type { EnvironmentRow, GrantRow, OrgRow, SecretRow, ShareRow, UpstreamRow } from '../../db/schema';
import type { Applying, Effect, Find } from './effect';

/** The effect of using a secret through an upstream. An approval is void once either has changed. */
export const useEffect = (row: SecretRow, upstream: UpstreamRow): Effect => ({
  // safety: use-held
  operations: ['secret.use'],
  reach: { secrets: [row] },
  targets: [row, upstream],
});

/** The secrets that an upstream places, and whether some upstream places one of this name. */
export interface Placed {
  by(upstream: UpstreamRow): readonly SecretRow[];
  isPlaced(secret: SecretRow): boolean;
}

/** The effect of revealing a secret's value. */
export const readEffect = (row: SecretRow): Effect => ({
  operations: ['secret.read'],
  reach: { secrets: [row] },
  targets: [row],
});

/** The effect of copying a secret's value to where others may read it. */
export const copyEffect = (row: SecretRow): Effect => ({
  operations: ['secret.share', 'secret.read'],
  reach: { secrets: [row] },
  targets: [row],
});

/**
 * The effect of changing, deleting or restoring a secret. A new secret has nothing yet that needs approval.
 */
export function ofSecret(before: SecretRow | null, after: SecretRow | null, { isPlaced }: Placed): Effect[] {
  if (!before) return [];
  const targets = [before];
  if (!after || (after.deleted_at !== null && before.deleted_at === null))
    return [{ operations: ['secret.delete'], reach: { secrets: [before] }, targets }];
  const reach = { secrets: [before, after] };
  const isRotated = after.version > before.version || isRotatedSooner(before, after);
  // A new value counts as an update and a rotation, whichever route is used. Otherwise one policy could be
  // bypassed through the other route.
  // safety: new-value-held-either-way
  const operations = isRotated ? (['secret.update', 'secret.rotate'] as const) : (['secret.update'] as const);
  // An upstream then sends the value to whoever may call it.
  // safety: placed-by-name-held-as-read
  const isRead = isNamedAnew(before, after) && isPlaced(after);
  // A new name or type could take the secret out of a policy's scope and so bypass it.
  // safety: leaving-a-policy-held
  return [
    {
      operations: isRead ? [...operations, 'secret.read'] : operations,
      reach,
      targets,
      isGuarded: (policy) => policy.applies(before) && !policy.applies(after),
    },
  ];
}

/** Whether a live secret has a name that it did not have before. */
export const isNamedAnew = (before: SecretRow, after: SecretRow): boolean =>
  after.deleted_at === null && (before.name !== after.name || before.deleted_at !== null);

/**
 * Whether a rotation policy may now replace the value by itself, or sooner than before. Another name or type
 * can bring the secret under another policy, and one that is active again is due again.
 */
const isRotatedSooner = (before: SecretRow, after: SecretRow): boolean =>
  // safety: automatic-rotation-held-as-rotation
  after.auto_rotate === 1 &&
  (before.auto_rotate !== 1 ||
    (after.rotate_every_seconds ?? Number.POSITIVE_INFINITY) <
      (before.rotate_every_seconds ?? Number.POSITIVE_INFINITY) ||
    // safety: move-to-rotation-policy-held
    before.name !== after.name ||
    before.type !== after.type ||
    // safety: return-to-rotation-held
    isActiveLonger(before, after));

/** Whether a secret is restored, or expires later than before. */
const isActiveLonger = (before: SecretRow, after: SecretRow): boolean =>
  (before.deleted_at !== null && after.deleted_at === null) ||
  (after.expires_at ?? Number.POSITIVE_INFINITY) > (before.expires_at ?? Number.POSITIVE_INFINITY);

/**
 * The effects of deleting an organisation, with its secrets and policies, and of making another environment
 * the default one.
 */
export function ofOrg(before: OrgRow | null, after: OrgRow | null): Effect[] {
  if (!before || !after) return [];
  const targets = [before];
  if (after.deleted_at !== null && before.deleted_at === null)
    return [{ operations: ['secret.delete', 'policy.change'], reach: 'all', targets, isGuarded: () => true }];
  if (after.default_environment === before.default_environment) return [];
  const environments = [before.default_environment, after.default_environment];
  // A request that names no environment then gets other values.
  // safety: default-environment-held
  const isGuarded = ({ row }: Applying) => environments.some((id) => row.environments?.includes(id));
  return [
    { operations: ['secret.update'], reach: { area: { environments, names: null } }, targets, isGuarded },
  ];
}

/**
 * Deleting an environment takes it off the policies that name it: a new one with the same slug has another
 * id.
 */
export const ofEnvironment = (before: EnvironmentRow | null): Effect[] =>
  before
    ? [
        {
          operations: ['policy.change'],
          reach: 'guarded',
          environments: [before.id],
          targets: [before],
          // safety: environment-of-policy-guarded
          isGuarded: ({ row }) => row.environments?.includes(before.id) ?? false,
        },
      ]
    : [];

/** A new link shows a value to anyone who has it. */
export function ofShare({ secret_id }: ShareRow, find: Find): Effect {
  const secret = find('secret', secret_id);
  // safety: link-held-as-read
  return {
    operations: ['secret.share', 'secret.read'],
    reach: secret ? { secrets: [secret] } : 'all',
    targets: secret ? [secret] : [],
  };
}

/** An upstream shows nothing, but sends values to whoever its address belongs to. */
export function ofUpstream(before: UpstreamRow | null, after: UpstreamRow, { by }: Placed): Effect[] {
  const directs = ({ name, base_url, auth, allow, maker, taken_at }: UpstreamRow) =>
    JSON.stringify([name, base_url, auth, allow, maker, taken_at]);
  if (before && directs(before) === directs(after)) return [];
  const rows = by(after);
  const absent = after.secrets.filter((name) => !rows.some((row) => row.name === name));
  const operations = ['secret.read', 'secret.share'] as const;
  const targets = [...(before ? [before] : []), ...rows];
  // safety: upstream-held-as-share
  return [
    { operations, reach: { secrets: rows }, targets },
    // A name without a secret is judged as what may have it later.
    ...(absent.length
      ? [
          {
            operations,
            reach: { area: { environments: [after.environment_id], names: absent } },
            targets,
          },
        ]
      : []),
  ];
}

/** What a grant of each permission shares. */
// safety: grant-held-as-share
const GRANTED = {
  use: ['secret.use', 'secret.share'],
  read: ['secret.read', 'secret.share'],
  write: ['secret.read', 'secret.update', 'secret.rotate', 'secret.share'],
} as const;

/** A grant shares everything in its area, whichever route creates it. */
export const ofGrant = ({ permission, environments, secrets }: GrantRow): Effect => ({
  operations: GRANTED[permission],
  reach: { area: { environments, names: secrets } },
  targets: [],
});
