// Keys: master keys wrap only the deployment's key and one key per organisation; every other key is derived
// from those by HKDF. Plaintext keys exist only in the Worker's memory. Invariant: a wrapped key decrypts
// only as what it is: its purpose, its owner and the master key's id are authenticated.
import { asc, eq, gt, sql } from 'drizzle-orm';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';
import { randomBytes, utf8 } from '../crypto/bytes';
import { equal, hkdf, hmacHex } from '../crypto/digest';
import { decrypt, encrypt, type Purpose } from '../crypto/envelope';
import { deploymentKeys, orgKeys } from '../db/schema';
import { unavailable } from '../db/unavailable';
import type { Env, MasterKey } from '../env';
import { ApiError, refuse } from '../errors';

const NO_SALT = new Uint8Array();

export interface DeploymentKeys {
  tokenTag: Uint8Array;
  cursor: Uint8Array;
  digest: Uint8Array;
  /** Encrypts the keys that sign browser sessions. */
  signing: Uint8Array;
  /** MACs of challenges, user handles and refresh cookies. */
  proof: Uint8Array;
  /** Encrypts the cookies of sign-ins by single sign-on that have begun. */
  sso: Uint8Array;
}

export interface OrgKeys {
  /** Root of the keys of secret values. */
  value: Uint8Array;
  /** Keyed digests of values. */
  fingerprint: Uint8Array;
  /** Keyed digests of requests. */
  digest: Uint8Array;
  /** MACs of rows: shared with the gate. */
  row: Uint8Array;
  /** Stored responses: shared with the gate. */
  answer: Uint8Array;
  /** Seed of the key that signs checkpoints of the audit log. */
  checkpoint: Uint8Array;
  /** Root of the secret keys by which clients of AWS sign. */
  aws: Uint8Array;
}

export interface WrappedKey {
  master_id: string;
  key_sealed: string;
}

const derive = <K extends string>(root: Uint8Array, names: readonly K[]): Record<K, Uint8Array> =>
  Object.fromEntries(names.map((name) => [name, hkdf(root, NO_SALT, `svc/v1/key/${name}`)])) as Record<
    K,
    Uint8Array
  >;

export const deriveDeployment = (root: Uint8Array): DeploymentKeys =>
  derive(root, ['tokenTag', 'cursor', 'digest', 'signing', 'proof', 'sso']);
export const deriveOrg = (root: Uint8Array): OrgKeys =>
  derive(root, ['value', 'fingerprint', 'digest', 'row', 'answer', 'checkpoint', 'aws']);

/** Wraps a key under the current master key. */
export function wrap(masters: MasterKey[], purpose: Purpose, owner: string, key: Uint8Array): WrappedKey {
  const { id, key: master } = masters[0] as MasterKey;
  return { master_id: id, key_sealed: encrypt(master, purpose, [owner, id], key) };
}

/** The key in a wrapped one; null if no configured master key decrypts it. */
const opened = (
  masters: MasterKey[],
  purpose: Purpose,
  owner: string,
  { master_id, key_sealed }: WrappedKey,
): Uint8Array | null => {
  const master = masters.find(({ id }) => id === master_id);
  return (master && decrypt(master.key, purpose, [owner, master_id], key_sealed)) ?? null;
};

/**
 * Whether a configured master key decrypts a wrapped key: for checks, which log what they find themselves.
 */
export const opens = (masters: MasterKey[], purpose: Purpose, owner: string, wrapped: WrappedKey): boolean =>
  opened(masters, purpose, owner, wrapped) !== null;

/** What tells a deployment key from that of another vault, and nothing else; null if it does not open. */
export function markOf(masters: MasterKey[], wrapped: WrappedKey): string | null {
  const root = opened(masters, 'deployment key', 'deployment', wrapped);
  return root && hmacHex(deriveDeployment(root).digest, utf8('svc/v1/vault'));
}

/** Unwraps a key; throws MISCONFIGURED if no configured master key decrypts it. */
export function unwrap(
  masters: MasterKey[],
  purpose: Purpose,
  owner: string,
  wrapped: WrappedKey,
): Uint8Array {
  const key = opened(masters, purpose, owner, wrapped);
  if (key) return key;
  console.error(
    JSON.stringify({
      level: 'error',
      event: 'wrapped_key_does_not_open',
      owner,
      master_id: wrapped.master_id,
    }),
  );
  throw new ApiError(refuse('MISCONFIGURED', { message: whyClosed(masters, wrapped) }));
}

/** Why a wrapped key does not open, and what to do. */
export const whyClosed = (masters: MasterKey[], { master_id }: Pick<WrappedKey, 'master_id'>): string =>
  masters.some(({ id }) => id === master_id)
    ? `The master key ${master_id} in the deployment variable MASTER_KEYS does not decrypt a key of this deployment. Either it has other bytes than the ${master_id} that encrypted it, or the encrypted key was altered in the database. Set the original ${master_id}, or restore the database.`
    : `The deployment variable MASTER_KEYS does not contain the master key ${master_id}, which encrypts data of this deployment. Add it again.`;

export const DEPLOYMENT_KEY_MISSING =
  'The database contains organisations, but not the deployment key, which verifies their credentials. A new one would invalidate every credential, so none is created. Restore the row of deployment_keys from a backup: see "A missing deployment key" in docs/operations/keys.md.';

export const ANOTHER_DEPLOYMENT_KEY =
  'The deployment key is that of another vault, so every credential is refused: the database, or its row of deployment_keys, was exchanged. Put the right one back: see "A missing deployment key" in docs/operations/keys.md. If another vault was restored on purpose, run npm run restore -- --adopt --reason TEXT.';

export const ORG_KEY_MISSING =
  'The key of this organisation is missing from the database, so none of its data can be decrypted. Put its row of org_keys back from a backup: see "A missing deployment key" in docs/operations/keys.md.';

export const DATABASE_LOST =
  'The database is empty, but this deployment has had organisations: it was lost or emptied. A new deployment key would hide that, so none is created. Restore a backup: see "A lost database" in docs/operations/backup-and-restore.md.';

/** How long an isolate caches an organisation's key before it checks that it still exists. */
const HELD_FOR = 600_000;
const MOST_HELD = 1000;

interface Held {
  deployment: DeploymentKeys | null;
  /** The master keys that were seen to open what their ids wrap. */
  masters: Set<MasterKey>;
  orgs: Map<string, { keys: OrgKeys; until: number }>;
}
const isolate = new WeakMap<D1Database, Held>();
const keyrings = new WeakMap<D1Database, { masters: MasterKey[]; keyring: Keyring }>();

export interface Keyring {
  /** The deployment's keys; with `org`, the same query also reads that organisation's. */
  deployment(org?: string): Promise<DeploymentKeys>;
  /** An organisation's keys; null if it has none: it does not exist or was deleted. */
  org(id: string): Promise<OrgKeys | null>;
  /** Creates keys for a new organisation; the wrapped key must be stored with it. */
  create(id: string): Promise<{ keys: OrgKeys; wrapped: WrappedKey }>;
}

type Where = Pick<Env, 'DB' | 'GATE'>;

/** The keyring of this isolate, read from D1 on first use. */
export function keyringOf(env: Where, masters: MasterKey[]): Keyring {
  const known = keyrings.get(env.DB);
  if (known?.masters === masters) return known.keyring;
  const keyring = createKeyring(env, masters);
  keyrings.set(env.DB, { masters, keyring });
  return keyring;
}

/** The condition that a database has neither an organisation nor the key of one. */
// safety: deployment-key-not-replaced
const IS_EMPTY = 'not exists (select 1 from orgs) and not exists (select 1 from org_keys)';

/** Refuses because the deployment key is missing from a database that has organisations. */
function keyMissing(): never {
  console.error(JSON.stringify({ level: 'error', event: 'deployment_key_missing' }));
  throw new ApiError(refuse('MISCONFIGURED', { message: DEPLOYMENT_KEY_MISSING }));
}

/** Refuses a vault that had organisations before. Who cannot tell creates no key either. */
async function requireNew({ DB, GATE: gates }: Where): Promise<void> {
  const hadOrgs = await gates
    .getByName('health')
    .hadOrgs()
    .catch(() => {
      throw new ApiError(refuse('UNAVAILABLE', { retry_after: 2 }));
    });
  // safety: lost-database-gets-no-key
  if (!hadOrgs) return;
  // The two are mended differently: a lost row is put back, and nothing else is.
  const [isEmpty] = (await DB.prepare(`select ${IS_EMPTY} as n`).all<{ n: number }>().catch(unavailable))
    .results;
  if (isEmpty?.n !== 1) keyMissing();
  console.error(JSON.stringify({ level: 'error', event: 'database_lost' }));
  throw new ApiError(refuse('MISCONFIGURED', { message: DATABASE_LOST }));
}

/** The key rows of the deployment and, if given, of one organisation, in one query. */
const keyRows = (orm: DrizzleD1Database, org: string) =>
  orm
    .select({
      owner: deploymentKeys.id,
      master_id: deploymentKeys.master_id,
      key_sealed: deploymentKeys.key_sealed,
    })
    .from(deploymentKeys)
    .unionAll(
      orm
        .select({ owner: orgKeys.org_id, master_id: orgKeys.master_id, key_sealed: orgKeys.key_sealed })
        .from(orgKeys)
        .where(eq(orgKeys.org_id, org)),
    )
    .all()
    .catch(unavailable);

/** How many keys under a master key are tried: any of them may have been altered. */
const TRIED = 20;

/**
 * Refuses a current master key that opens nothing of what its id wraps, so has other bytes than the key that
 * did: what it wrapped would be lost once the right one is back.
 */
async function requireKnown(orm: DrizzleD1Database, masters: MasterKey[]): Promise<void> {
  const [{ id: current }] = masters as [MasterKey];
  const rows = await orm
    .select({
      owner: deploymentKeys.id,
      master_id: deploymentKeys.master_id,
      key_sealed: deploymentKeys.key_sealed,
    })
    .from(deploymentKeys)
    .where(eq(deploymentKeys.master_id, current))
    .unionAll(
      orm
        .select({ owner: orgKeys.org_id, master_id: orgKeys.master_id, key_sealed: orgKeys.key_sealed })
        .from(orgKeys)
        .where(eq(orgKeys.master_id, current)),
    )
    .limit(TRIED)
    .all()
    .catch(unavailable);
  const doesOpen = ({ owner, ...wrapped }: (typeof rows)[number]) =>
    opens(masters, owner === 'deployment' ? 'deployment key' : 'org key', owner, wrapped);
  if (rows.length === 0 || rows.some(doesOpen)) return;
  console.error(
    JSON.stringify({
      level: 'error',
      event: 'wrapped_key_does_not_open',
      owner: rows[0]?.owner,
      master_id: current,
    }),
  );
  throw new ApiError(refuse('MISCONFIGURED', { message: whyClosed(masters, { master_id: current }) }));
}

function createKeyring(where: Where, masters: MasterKey[]): Keyring {
  const { DB: db } = where;
  const held = isolate.get(db) ?? { deployment: null, masters: new Set<MasterKey>(), orgs: new Map() };
  isolate.set(db, held);
  const orm = drizzle(db);

  const hold = (id: string, root: Uint8Array): OrgKeys => {
    const keys = deriveOrg(root);
    if (held.orgs.size >= MOST_HELD) held.orgs.delete(held.orgs.keys().next().value as string);
    held.orgs.set(id, { keys, until: Date.now() + HELD_FOR });
    return keys;
  };
  const found = async (): Promise<WrappedKey> => {
    await requireNew(where);
    const { master_id, key_sealed } = wrap(masters, 'deployment key', 'deployment', randomBytes(32));
    // Only an empty vault gets a key, and the statement itself decides: elsewhere, a new key would invalidate
    // every credential.
    await db
      .prepare(
        `insert into deployment_keys (id, master_id, key_sealed, created_at) select 'deployment', ?, ?, ? where ${IS_EMPTY} on conflict do nothing`,
      )
      .bind(master_id, key_sealed, Date.now())
      .run()
      .catch(unavailable);
    // Another isolate may have been first: the stored key counts.
    const [stored] = await keyRows(orm, '');
    return stored ?? keyMissing();
  };

  /**
   * Refuses unless the stored deployment key is the one that this isolate knows: what it creates would not
   * outlive it.
   */
  const requireDeployment = async (): Promise<void> => {
    const [stored] = await keyRows(orm, '');
    // safety: no-org-without-deployment-key
    if (!stored) keyMissing();
    const { digest } = deriveDeployment(unwrap(masters, 'deployment key', 'deployment', stored));
    // safety: no-org-under-another-deployment-key
    if (!held.deployment || !equal(digest, held.deployment.digest)) {
      console.error(
        JSON.stringify({ level: 'error', event: 'wrapped_key_does_not_open', owner: 'deployment' }),
      );
      throw new ApiError(refuse('MISCONFIGURED', { message: ANOTHER_DEPLOYMENT_KEY }));
    }
  };

  return {
    async deployment(org = '') {
      if (held.deployment) return held.deployment;
      const rows = await keyRows(orm, org);
      const wrapped = rows.find(({ owner }) => owner === 'deployment') ?? (await found());
      held.deployment = deriveDeployment(unwrap(masters, 'deployment key', 'deployment', wrapped));
      for (const master of masters) if (master.id === wrapped.master_id) held.masters.add(master);
      const mine = rows.find(({ owner }) => owner === org);
      if (mine) hold(org, unwrap(masters, 'org key', org, mine));
      return held.deployment;
    },
    async org(id) {
      const at = held.orgs.get(id);
      if (at && at.until > Date.now()) return at.keys;
      const row = await orm
        .select({ master_id: orgKeys.master_id, key_sealed: orgKeys.key_sealed })
        .from(orgKeys)
        .where(eq(orgKeys.org_id, id))
        .get()
        .catch(unavailable);
      if (!row) {
        held.orgs.delete(id);
        return null;
      }
      return hold(id, unwrap(masters, 'org key', id, row));
    },
    async create(id) {
      await requireDeployment();
      const [current] = masters as [MasterKey];
      // safety: org-key-under-known-master
      if (!held.masters.has(current)) await requireKnown(orm, masters);
      held.masters.add(current);
      const root = randomBytes(32);
      return { keys: deriveOrg(root), wrapped: wrap(masters, 'org key', id, root) };
    },
  };
}

/** Keys that one call of `rewrap` processes. */
const REWRAPPED_AT_ONCE = 100;

export interface Rewrapped {
  /** Wrapped keys under the current master key, and all wrapped keys. */
  done: number;
  total: number;
  /** The last owner that this call processed, or null if it processed the last one. */
  next: string | null;
  /** How many keys this call re-wrapped. */
  changed: number;
}

/**
 * Re-wraps the keys of owners after `after` with the current master key, at most 100 per call. The keys
 * themselves do not change, so nothing else is affected. Each is replaced only if it is unchanged since it
 * was read, so calls may race or be interrupted. Keys already under the current master key are decrypted too,
 * so a full walk verifies each. If one does not decrypt, it stays, the others are re-wrapped, and the call
 * throws MISCONFIGURED. With a current master key that has other bytes than its id, nothing is re-wrapped.
 */
export async function rewrap(db: D1Database, masters: MasterKey[], after: string): Promise<Rewrapped> {
  const orm = drizzle(db);
  const current = (masters[0] as MasterKey).id;
  // safety: rewrap-under-known-master
  await requireKnown(orm, masters);
  const columns = { master_id: deploymentKeys.master_id, key_sealed: deploymentKeys.key_sealed };
  // 'deployment' sorts before every 'org_…'.
  const rows = await orm
    .select({ owner: sql<string>`${deploymentKeys.id}`.as('owner'), ...columns })
    .from(deploymentKeys)
    .where(gt(deploymentKeys.id, after))
    .unionAll(
      orm
        .select({
          owner: sql<string>`${orgKeys.org_id}`.as('owner'),
          master_id: orgKeys.master_id,
          key_sealed: orgKeys.key_sealed,
        })
        .from(orgKeys)
        .where(gt(orgKeys.org_id, after)),
    )
    .orderBy(asc(sql`owner`))
    .limit(REWRAPPED_AT_ONCE + 1)
    .all()
    .catch(unavailable);
  const here = rows.slice(0, REWRAPPED_AT_ONCE);

  let closed: ApiError | null = null;
  const swaps: { owner: string; from: string; to: string }[] = [];
  for (const { owner, ...wrapped } of here) {
    const purpose = owner === 'deployment' ? 'deployment key' : 'org key';
    try {
      const key = unwrap(masters, purpose, owner, wrapped);
      if (wrapped.master_id !== current)
        swaps.push({ owner, from: wrapped.key_sealed, to: wrap(masters, purpose, owner, key).key_sealed });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      closed = error;
    }
  }

  const swap = (table: string, owner: string) =>
    db
      .prepare(
        `update ${table} set master_id = ?1, key_sealed = swap.value ->> 'to' from json_each(?2) as swap
         where ${table}.${owner} = swap.value ->> 'owner' and ${table}.key_sealed = swap.value ->> 'from'`,
      )
      .bind(current, JSON.stringify(swaps));
  const count = db
    .prepare(
      `select count(*) as total, coalesce(sum(master_id = ?1), 0) as done
       from (select master_id from deployment_keys union all select master_id from org_keys)`,
    )
    .bind(current);
  const results = await db
    .batch<{ total: number; done: number }>([
      ...(swaps.length ? [swap('deployment_keys', 'id'), swap('org_keys', 'org_id')] : []),
      count,
    ])
    .catch(unavailable);
  if (closed) throw closed;
  const [counts] = results.at(-1)?.results ?? [];
  const changed = results.slice(0, -1).reduce((sum, { meta }) => sum + meta.changes, 0);
  if (!counts) throw new Error('counting gave no row');
  return { ...counts, next: rows.length > here.length ? (here.at(-1)?.owner ?? null) : null, changed };
}
