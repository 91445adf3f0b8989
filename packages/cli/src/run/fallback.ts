// The encrypted copy of values for when the vault is unreachable. Invariants: the key is never stored beside
// the copy; a copy is valid only for the caller who wrote it, the same vault, organisation, environment and
// prefixes, and until its maximum age; a secret in it serves no longer than until it expires; it is deleted
// when the vault refuses.
import { createHash, webcrypto } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { readForeign, readPrivate, writePrivate } from '../settings/files.ts';
import { clean } from '../text.ts';

/** The scope a copy is bound to. It cannot be read with any other scope. */
export interface Scope {
  origin: string;
  org: string;
  environment: string;
  prefixes: string[];
  /** The caller, as a digest or an id. */
  caller: string;
}

interface Stored {
  version: 2;
  saved_at: string;
  iv: string;
  data: string;
}

/** The most bytes of a copy. */
const MOST = 256 * 1024 * 1024;
const ACCOUNT = 'fallback copies';
/** A copy from the future means that the clock was set back, so its age is unknown. */
const MOST_AHEAD = 300_000;

/** Identifies the caller for the scope of a copy. */
export async function callerMark(context: Context, origin: string): Promise<string> {
  const identity = context.identity();
  const digest = (token: string) => `token:${createHash('sha256').update(token).digest('hex')}`;
  if (identity?.kind === 'variable') return digest(identity.token);
  if (identity?.kind === 'ci') return `trust:${identity.trustId}`;
  const stored = await context.store.load(origin, context.profile);
  if (stored?.kind === 'token') return digest(stored.token);
  return `member:${stored?.session.member?.id ?? 'unknown'}`;
}

export class Fallback {
  private readonly file: string;

  constructor(
    private readonly context: Context,
    file: string,
    private readonly scope: Scope,
    /** The maximum age of a copy, in seconds. */
    private readonly maxAge: number,
  ) {
    this.file = path.resolve(context.host.cwd, file);
    const dir = placeOf(path.dirname(this.file));
    const own = fs.existsSync(context.configDir) ? fs.realpathSync(context.configDir) : context.configDir;
    // safety: cli-fallback-place
    if (dir === own || dir.startsWith(`${own}${path.sep}`))
      throw usage(
        '--fallback must not be in the configuration directory of svc, which holds its key.',
        'Choose another directory',
      );
    // It would be replaced, and deleted when the vault refuses.
    // safety: cli-fallback-other-file
    if (isOther(this.file))
      throw usage(`${clean(file)} is no fallback copy, and is not replaced.`, 'Choose another file');
  }

  /** Replaces the copy. */
  async save(values: ReadonlyMap<string, string>, ends: ReadonlyMap<string, Date>): Promise<void> {
    const key = await this.key(true);
    const saved_at = new Date().toISOString();
    const iv = webcrypto.getRandomValues(new Uint8Array(12));
    const text = new TextEncoder().encode(
      JSON.stringify([...values].map((entry) => [...entry, ends.get(entry[0])])),
    );
    const data = await webcrypto.subtle.encrypt(
      { name: 'AES-GCM', iv, additionalData: this.bound(saved_at) },
      key as CryptoKey,
      text,
    );
    const stored: Stored = { version: 2, saved_at, iv: base64(iv), data: base64(new Uint8Array(data)) };
    const copy = `${JSON.stringify(stored)}\n`;
    // What could not be read again later is not written.
    if (copy.length > MOST) throw usage('The values are too large for a fallback copy.');
    writePrivate(this.file, copy);
  }

  /**
   * The values of the copy, which of its secrets have expired since, and the time they were saved; or why the
   * copy cannot be used.
   */
  async load(): Promise<
    { values: Map<string, string>; expired: string[]; savedAt: string } | { why: string }
  > {
    const text = readPrivate(this.file, MOST);
    if (text === undefined) return { why: 'there is no fallback copy yet' };
    try {
      const { version, saved_at, iv, data } = JSON.parse(text) as Stored;
      if (version !== 2) return { why: 'the fallback copy was written by another version of svc' };
      const key = await this.key(false);
      if (!key) return { why: 'the key of the fallback copy is missing' };
      const plain = await webcrypto.subtle.decrypt(
        { name: 'AES-GCM', iv: bytes(iv), additionalData: this.bound(saved_at) },
        key,
        bytes(data),
      );
      const age = Date.now() - Date.parse(saved_at);
      // safety: cli-fallback-age
      if (!(age <= this.maxAge * 1000 && age >= -MOST_AHEAD))
        return { why: `the fallback copy of ${saved_at} is too old` };
      const entries = JSON.parse(new TextDecoder().decode(plain)) as [string, string, (string | null)?][];
      // safety: cli-fallback-expired
      const hasEnded = (entry: (typeof entries)[number]) => entry[2] && !(Date.now() < Date.parse(entry[2]));
      return {
        values: new Map(
          entries.filter((entry) => !hasEnded(entry)).map(([name, value]) => [name, value] as const),
        ),
        expired: entries.filter(hasEnded).map(([name]) => name),
        savedAt: saved_at,
      };
    } catch {
      return {
        why: 'the fallback copy is damaged, or is for another vault, environment, prefix or credential',
      };
    }
  }

  /** Deletes the copy. @returns whether there was one */
  destroy(): boolean {
    const was = fs.existsSync(this.file);
    fs.rmSync(this.file, { force: true });
    return was;
  }

  /** The scope and time that the copy is bound to. */
  private bound(saved_at: string): Uint8Array {
    const { origin, org, environment, prefixes, caller } = this.scope;
    return new TextEncoder().encode(
      JSON.stringify(['svc fallback', 2, origin, org, environment, prefixes, caller, saved_at]),
    );
  }

  /** The key: in the keychain, or in a private file in the directory of svc. */
  private async key(create: boolean): Promise<CryptoKey | undefined> {
    const file = path.join(this.context.configDir, 'fallback.key');
    const keychain = await this.context.host.keychain();
    let text = readPrivate(file)?.trim();
    try {
      text ??= keychain?.get(ACCOUNT) ?? undefined;
    } catch {
      // The keychain does not contain the key, or is locked.
    }
    if (!text && !create) return undefined;
    if (!text) {
      text = base64(webcrypto.getRandomValues(new Uint8Array(32)));
      try {
        keychain?.set(ACCOUNT, text);
        if (keychain?.get(ACCOUNT) !== text) throw new Error('not kept');
      } catch {
        writePrivate(file, `${text}\n`);
      }
    }
    return webcrypto.subtle.importKey('raw', bytes(text), 'AES-GCM', false, [
      'encrypt',
      'decrypt',
    ]) as Promise<CryptoKey>;
  }
}

/** Whether there is a file that is no copy, of any version. */
function isOther(file: string): boolean {
  const text = readForeign(file, { most: MOST });
  if (text === undefined) return false;
  try {
    const { version, saved_at, data } = JSON.parse(text) as Record<string, unknown>;
    return !(typeof version === 'number' && typeof saved_at === 'string' && typeof data === 'string');
  } catch {
    return true;
  }
}

/** Where a directory is, or will be once it is created: without the links that lead there. */
function placeOf(dir: string): string {
  const above = path.dirname(dir);
  return fs.existsSync(dir) || above === dir
    ? fs.realpathSync(dir)
    : path.join(placeOf(above), path.basename(dir));
}

const base64 = (data: Uint8Array) => Buffer.from(data).toString('base64');
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
