// The interface of sync adapters: how a platform names, validates, lists and writes secrets. Invariants: an
// adapter reaches its platform only through the given client; it does not decide what is written: steps.ts
// does this for all platforms.
import { z } from '@hono/zod-openapi';
import type { SyncPlatform } from '../platforms';
import type { Vendor } from './call';
import type { Client } from './client';
import type { Problem } from './target-error';

export { type Problem, type SyncCode, TargetError } from './target-error';

/** The name at the target, or why there is none. */
export type Mapped = { target: string } | Problem;

/** A name listed by the target. */
export interface Remote {
  /** The name as the target writes it. */
  target: string;
  /**
   * The value, if the target returns it in plain text; absent if it is masked, blank, digested or needs a
   * separate call. Null if it cannot equal a secret's value: a number, or bytes that are not text.
   */
  value?: string | null;
  /**
   * Whether it is stored in a different form than this service writes, such as in plain view or to be
   * expanded. It is then written even if the value is equal.
   */
  otherForm?: boolean;
  /**
   * What the adapter needs to write or delete this name later: an id, or any other text, stored with the
   * plan.
   */
  handle?: string;
}

/** A name to write. */
export interface Put {
  target: string;
  value: string;
  /** What the target listed under this name; null if the name is new there. */
  remote: Omit<Remote, 'value'> | null;
  /** The same UUID for every attempt of the same write, for vendors that recognise repeats. */
  token: string;
}

/** A name to delete. */
export interface Removal {
  target: string;
  remote: Omit<Remote, 'value'>;
}

/** The result of one write. `message` contains additional information for the caller. */
export type Written =
  | { action: 'created' | 'updated' | 'unchanged' | 'deleted'; message?: string }
  | ({ action: 'failed' } & Problem);

/** Writes name by name, at most `CONCURRENCY` at a time. Throws a `TargetError` if a name fails. */
export interface EachTarget {
  /** All pages of the target's names. */
  list(): Promise<Remote[]>;
  /**
   * The current value, or null for none: for vendors where each write creates a version. It is compared
   * before a write.
   */
  read?(remote: Omit<Remote, 'value'>): Promise<string | null>;
  /** Whether the listing contains the values: then `read` is called only for steps that were begun before. */
  listsValues?: boolean;
  put(put: Put): Promise<Written>;
  remove(removal: Removal): Promise<Written>;
}

/** Writes all names, or as many as one call accepts. */
export interface BatchTarget {
  list(): Promise<Remote[]>;
  /**
   * Writes and deletes in as few calls as the vendor allows. Returns one result per name, in any order; a
   * name without one has failed with the thrown error. An adapter that needs several calls adds each result
   * to `written` (see parts.ts), which survives an error. Null if the target has no such call: then the
   * adapter also writes name by name.
   */
  write(
    puts: Put[],
    removals: Removal[],
    written: Map<string, Written>,
  ): Promise<Map<string, Written> | null>;
}

export type Target = EachTarget | BatchTarget | (EachTarget & BatchTarget);

/** Whether values are read one by one, before each write. */
export const readsEach = (target: Target): boolean =>
  'read' in target && target.read !== undefined && !target.listsValues;

export const CONCURRENCY = 4;

export interface SyncAdapter {
  platform: SyncPlatform;
  /** The schema of its config: see `GET /integrations/platforms`. */
  config: z.ZodType<Record<string, unknown>>;
  /** Fields of the config that are encrypted and never shown. */
  credentials: readonly string[];
  /**
   * Groups of fields of which exactly one must be set, for the JSON Schema:
   * `[['serviceId'], ['envGroupId']]`.
   */
  oneOf?: readonly (readonly string[])[];
  /** The parts of the config, without its credentials, that identify a target; by default all of it. */
  identity?(config: never): unknown;
  /**
   * The vendor URLs that the config determines (a host, an API server), each with its field: they are checked
   * before any call.
   */
  urls?(config: never): { field: string; url: string }[];
  /** Well-known ports that its targets may use. */
  ports?: readonly number[];
  /** The full name at the target, including any prefix. */
  name(name: string, config: never): Mapped;
  /** Whether names at the target are case-insensitive. */
  folds?: boolean;
  /** Why a value cannot be written, or null. */
  value?(value: string, target: string, config: never): Problem | null;
  /** How many names one call of `write` accepts; all if absent. */
  most?: number;
  /** Whether written values take effect only with the next deployment. */
  redeploy: boolean;
  /** How the vendor authenticates calls and reports errors and rate limits. */
  vendor(config: never): Vendor;
  open(client: Client, config: never): Target;
}

type Declared<C> = Omit<
  SyncAdapter,
  'config' | 'identity' | 'urls' | 'name' | 'value' | 'vendor' | 'open'
> & {
  config: z.ZodType<C>;
  identity?(config: C): unknown;
  urls?(config: C): { field: string; url: string }[];
  name(name: string, config: C): Mapped;
  value?(value: string, target: string, config: C): Problem | null;
  vendor(config: C): Vendor;
  open(client: Client, config: C): Target;
};

/** Declares an adapter; the type of its config follows from its schema. */
export const syncAdapter = <C>(declared: Declared<C>): SyncAdapter => declared as unknown as SyncAdapter;

// ---------------------------------------------------------------- configs

/** A credential that is sent in a header. */
export const Token = z
  .string()
  .regex(/^[\x21-\x7e]{1,4096}$/, 'must be 1 to 4096 printable ASCII characters without spaces');

/** An id or a name used as one path segment: `client.path` encodes it. */
export const Segment = z
  .string()
  .regex(/^[^\s/\\?#\p{C}]{1,255}$/u, 'must be 1 to 255 characters without spaces, slashes, "?" or "#"')
  .refine((text) => text !== '.' && text !== '..', 'must not be "." or ".."');

/** A base URL for calls; the egress guard checks its target. */
export const Url = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s\\\p{C}]+$/u, 'must be a URL')
  .refine((text) => URL.canParse(text), 'must be a URL');

/** The byte length of a text as UTF-8. */
export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

export const KB = 1024;

/** Refuses a value with more than this many bytes. */
export const tooLarge = (value: string, most: number): Problem | null =>
  bytesOf(value) > most
    ? { code: 'VALUE_TOO_LARGE', message: `The value has more than ${most} bytes.` }
    : null;

/** Refuses an empty value. */
export const empty = (value: string): Problem | null =>
  value === '' ? { code: 'VALUE_NOT_ALLOWED', message: 'The target does not accept an empty value.' } : null;
