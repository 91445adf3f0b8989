// Stored credentials: in the system keychain, or in a 0600 file if there is none. Each belongs to one profile
// and one origin. Invariant: a credential is looked up by the origin it was issued for, so it is never sent
// to another.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { CliError } from '../errors.ts';
import { readPrivate, writePrivate } from './files.ts';

/** The session of a terminal login: the tokens that the client renews, and the member. */
export interface TerminalSession {
  token: string;
  expiresAt: string;
  refresh_token: string;
  member?: { id?: string };
}

export type Credential = { kind: 'token'; token: string } | { kind: 'terminal'; session: TerminalSession };

interface Stored {
  version: 1;
  origin: string;
  profile: string;
  place: 'keychain' | 'file';
  credential?: Credential;
}

/** The keychain functions that svc uses. */
export interface Keychain {
  get(account: string): string | null;
  set(account: string, secret: string): void;
  delete(account: string): void;
}

const SERVICE = 'svc: Secrets Vault Service';

/** The system keychain; undefined if there is none that survives a restart. */
export async function systemKeychain(env: NodeJS.ProcessEnv): Promise<Keychain | undefined> {
  if (env.SVC_KEYCHAIN === 'off') return undefined;
  // Without a session bus, Linux has only the kernel keyring, which is lost on restart.
  if (
    process.platform === 'linux' &&
    !env.DBUS_SESSION_BUS_ADDRESS &&
    !fs.existsSync(`/run/user/${process.getuid?.()}/bus`)
  )
    return undefined;
  try {
    const { Entry } = await import('@napi-rs/keyring');
    const entry = (account: string) => new Entry(SERVICE, account);
    return {
      get: (account) => entry(account).getPassword(),
      set: (account, secret) => entry(account).setPassword(secret),
      delete: (account) => void entry(account).deletePassword(),
    };
  } catch {
    return undefined;
  }
}

export class CredentialStore {
  constructor(
    private readonly dir: string,
    private readonly keychain: () => Promise<Keychain | undefined>,
  ) {}

  private file(origin: string, profile: string): string {
    const digest = sha256(origin).slice(0, 24);
    return path.join(this.dir, 'credentials', `${profile}.${digest}.json`);
  }

  /** The stored file, if it belongs to this origin and profile. */
  private read(origin: string, profile: string): Stored | undefined {
    const text = readPrivate(this.file(origin, profile));
    if (text === undefined) return undefined;
    try {
      const stored = JSON.parse(text) as Stored;
      // safety: cli-origin-bound
      return stored.version === 1 && stored.origin === origin && stored.profile === profile
        ? stored
        : undefined;
    } catch {
      return undefined;
    }
  }

  /** Where the credential is stored: the keychain, a file, or nowhere. */
  place(origin: string, profile: string): 'keychain' | 'file' | undefined {
    return this.read(origin, profile)?.place;
  }

  /** The file of a credential, for messages. */
  fileOf(origin: string, profile: string): string {
    return this.file(origin, profile);
  }

  async load(origin: string, profile: string): Promise<Credential | undefined> {
    const stored = this.read(origin, profile);
    if (!stored || stored.place === 'file') return stored?.credential;
    try {
      return JSON.parse((await this.keychain())?.get(account(origin, profile)) ?? '') as Credential;
    } catch {
      // The error of the parser would quote the credential.
      // safety: cli-keychain-quote
      throw new CliError('The keychain does not have the stored credential.', {
        exit: 'signedOut',
        code: 'KEYCHAIN_LOCKED',
        next: 'Unlock the keychain, or sign in again: svc login',
      });
    }
  }

  /** Stores a credential and returns where. */
  async save(origin: string, profile: string, credential: Credential): Promise<'keychain' | 'file'> {
    const text = JSON.stringify(credential);
    const place = (await this.intoKeychain(account(origin, profile), text)) ? 'keychain' : 'file';
    const stored: Stored = { version: 1, origin, profile, place, ...(place === 'file' && { credential }) };
    writePrivate(this.file(origin, profile), `${JSON.stringify(stored)}\n`);
    return place;
  }

  /** Whether a keychain stored the text and returns it unchanged. */
  private async intoKeychain(name: string, text: string): Promise<boolean> {
    try {
      const keychain = await this.keychain();
      keychain?.set(name, text);
      return keychain?.get(name) === text;
    } catch {
      return false;
    }
  }

  /** Deletes a credential. @returns whether there was one */
  async delete(origin: string, profile: string): Promise<boolean> {
    const place = this.place(origin, profile);
    if (place === 'keychain') {
      try {
        (await this.keychain())?.delete(account(origin, profile));
      } catch {
        // The entry or the keychain is already gone: only the file is left.
      }
    }
    fs.rmSync(this.file(origin, profile), { force: true });
    return place !== undefined;
  }
}

const account = (origin: string, profile: string) => `${profile} ${origin}`;

/**
 * SHA-256 in hex. node:crypto is loaded by the first call: commands that need no credential start without it.
 */
function sha256(text: string): string {
  const { createHash } = createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
  return createHash('sha256').update(text).digest('hex');
}
