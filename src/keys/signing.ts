// The deployment's keys for JWTs: ES256 key pairs in D1, encrypted as a whole, a new one every thirty days.
// Invariants: a key is used only if its ciphertext decrypts, so a key written directly to the database signs
// nothing; key ids have a tag, so an invented id causes no query.
import { exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import QuickLRU from 'quick-lru';
import type { TokenRef } from '../auth/authentication/token';
import { fromUtf8, toBase62, utf8 } from '../crypto/bytes';
import { equal, hmac } from '../crypto/digest';
import { decrypt, encrypt } from '../crypto/envelope';
import { newId } from '../db/ids';
import { unavailable } from '../db/unavailable';
import type { DeploymentKeys } from './keyring';

const DAY = 86_400_000;
/**
 * How long a key signs, and how long its signatures are accepted, which is longer by more than a JWT's
 * lifetime.
 */
const SIGNS = 30 * DAY;
const STAYS = SIGNS + 3_600_000;
/** How long published keys are cached, in milliseconds; another isolate's new key appears after this time. */
const PUBLISHED = 60_000;
/** How often an isolate looks up an unknown key in D1, in milliseconds. */
const ASKS_EVERY = 10_000;

export interface SigningKey {
  id: string;
  created_at: number;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  jwk: JWK;
}

export interface SigningKeys {
  /** The key to sign with; creates one if the newest is too old. */
  current(now?: number): Promise<SigningKey>;
  /** The key with this id, if it belongs to this deployment and its JWTs may still be valid. */
  find(id: string, now?: number): Promise<SigningKey | null>;
  /** The public keys whose JWTs may still be valid, newest first, at most a minute old. */
  published(now?: number): Promise<JWK[]>;
  /** JWTs that this isolate has verified, by their digest. */
  verified: QuickLRU<string, { ref: TokenRef; until: number }>;
}

const isolate = new WeakMap<D1Database, SigningKeys>();

/** The signing keys, cached in this isolate. */
export function signingKeysOf(db: D1Database, deployment: DeploymentKeys): SigningKeys {
  const known = isolate.get(db) ?? createSigningKeys(db, deployment.signing);
  isolate.set(db, known);
  return known;
}

interface Stored {
  id: string;
  key_sealed: string;
  created_at: number;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its functions share the cached keys.
export function createSigningKeys(db: D1Database, root: Uint8Array): SigningKeys {
  let held: SigningKey[] = [];
  let looked = Number.NEGATIVE_INFINITY;
  const asked = new QuickLRU<string, number>({ maxSize: 50 });
  const tagOf = (id: string) => toBase62(hmac(root, utf8(`svc/v1/signing/${id}`)).subarray(0, 8));
  const isOurs = (id: string) => equal(id.slice(27), tagOf(id.slice(0, 26)));

  async function opened({ id, key_sealed, created_at }: Stored): Promise<SigningKey | null> {
    const known = held.find((key) => key.id === id);
    if (known) return known;
    const text = decrypt(root, 'signing key', [id, String(created_at)], key_sealed);
    if (!text) {
      console.error(
        JSON.stringify({ level: 'error', event: 'signing_key_does_not_open', id: id.slice(0, 64) }),
      );
      return null;
    }
    const { d, ...pair } = JSON.parse(fromUtf8(text) ?? '') as JWK;
    const [privateKey, publicKey] = await Promise.all([
      importJWK({ ...pair, d }, 'ES256'),
      importJWK(pair, 'ES256'),
    ]);
    const jwk = { ...pair, kid: id, alg: 'ES256', use: 'sig' };
    return { id, created_at, privateKey: privateKey as CryptoKey, publicKey: publicKey as CryptoKey, jwk };
  }
  /** Reads the keys in D1. Returns the ids of those that do not decrypt. */
  async function look(now: number): Promise<string[]> {
    const { results } = await db
      .prepare(
        'select id, key_sealed, created_at from signing_keys where created_at > ? order by created_at desc, id desc limit 20',
      )
      .bind(now - STAYS)
      .all<Stored>()
      .catch(unavailable);
    const keys = await Promise.all(results.map(opened));
    held = keys.filter((key) => key !== null);
    looked = now;
    return results.filter((_, at) => !keys[at]).map(({ id }) => id);
  }
  const fresh = (now: number) => held.find(({ created_at }) => created_at > now - SIGNS);
  const isAlive = ({ created_at }: SigningKey, now: number) => created_at > now - STAYS;

  /** Stores a new key, unless another isolate did first. */
  async function make(now: number, unreadable: string[]): Promise<void> {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const pair = await exportJWK(privateKey);
    const name = newId('jwk', now);
    const id = `${name}.${tagOf(name)}`;
    const { d: _, ...jwk } = pair;
    await db
      .batch([
        db
          .prepare(
            `insert into signing_keys (id, public_jwk, key_sealed, created_at) select ?1, ?2, ?3, ?4
             where not exists (select 1 from signing_keys where created_at > ?5 and id not in (select value from json_each(?6)))`,
          )
          .bind(
            id,
            JSON.stringify(jwk),
            encrypt(root, 'signing key', [id, String(now)], utf8(JSON.stringify(pair))),
            now,
            now - SIGNS,
            JSON.stringify(unreadable),
          ),
        db.prepare('delete from signing_keys where created_at <= ?').bind(now - STAYS),
      ])
      .catch(unavailable);
  }

  const current = async (now = Date.now()): Promise<SigningKey> => {
    if (!fresh(now)) {
      const unreadable = await look(now);
      if (!fresh(now)) {
        await make(now, unreadable);
        await look(now);
      }
    }
    return fresh(now) ?? unavailable(new Error('no signing key'));
  };
  return {
    current,
    async find(id, now = Date.now()) {
      if (!isOurs(id)) return null;
      const find = () => held.find((key) => key.id === id && isAlive(key, now)) ?? null;
      if (find() || now - (asked.get(id) ?? 0) < ASKS_EVERY) return find();
      await look(now);
      asked.set(id, now);
      return find();
    },
    async published(now = Date.now()) {
      await current(now);
      if (Math.abs(now - looked) >= PUBLISHED) await look(now);
      return held.filter((key) => isAlive(key, now)).map(({ jwk }) => jwk);
    },
    verified: new QuickLRU({ maxSize: 2500 }),
  };
}
