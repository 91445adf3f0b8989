// What a sync adapter is: how one platform names, checks, lists and writes secrets. Invariants: an adapter reaches its platform through the client that
// it is given, and nothing else; it decides nothing about what is to be written, which plan.ts does for all platforms.
import { z } from '@hono/zod-openapi';
import type { SyncPlatform } from '../platforms';
import type { Vendor } from './call';
import type { Client } from './client';
import type { Problem } from './target-error';

export { type Problem, type SyncCode, TargetError } from './target-error';

/** The text of an environment variable's name, or another name at the target; or why there can be none. */
export type Mapped = { target: string } | Problem;

/** A name that the target lists. */
export interface Remote {
  /** The name as the target spells it. */
  target: string;
  /**
   * The value, where the target gives it back in plain text; absent where it is masked, blank, digested or would need a call of its own. Null for
   * what equals no value of a secret: a number, or bytes that are no text.
   */
  value?: string | null;
  /** Whether it stands there in another form than this service writes: in plain view, or to be expanded. It is written, even where the value is equal. */
  otherForm?: boolean;
  /** What the adapter needs to write or delete this name later: an id, or any other text, stored with the plan. */
  handle?: string;
}

/** A name to write. */
export interface Put {
  target: string;
  value: string;
  /** What the target listed under this name; null where the name is new there. */
  remote: Omit<Remote, 'value'> | null;
  /** The same UUID for the same write, however often it is tried: for vendors that recognise repeats. */
  token: string;
}

/** A name to delete. */
export interface Removal {
  target: string;
  remote: Omit<Remote, 'value'>;
}

/** How one write ended. `message` adds something that the caller should know. */
export type Written = { action: 'created' | 'updated' | 'unchanged' | 'deleted'; message?: string } | ({ action: 'failed' } & Problem);

/** Writes name by name: at most `CONCURRENCY` at a time. Where a name fails it throws a `TargetError`. */
export interface EachTarget {
  /** Every page of what is there. */
  list(): Promise<Remote[]>;
  /** The value that stands there, or null for none: for vendors where each write makes a version. It is compared before a write. */
  read?(remote: Omit<Remote, 'value'>): Promise<string | null>;
  /** Whether the listing holds the values: then `read` is asked for what was begun before alone. */
  listsValues?: boolean;
  put(put: Put): Promise<Written>;
  remove(removal: Removal): Promise<Written>;
}

/** Writes all names, or as many as one call takes. */
export interface BatchTarget {
  list(): Promise<Remote[]>;
  /**
   * Writes and deletes in as few calls as the vendor allows. One result for each name, in any order; a name without one has failed as the
   * error that was thrown says. An adapter that needs several calls puts what each came to into `written` (see parts.ts), which outlives an error.
   * Null where the target has no such call: then the adapter also writes name by name.
   */
  write(puts: Put[], removals: Removal[], written: Map<string, Written>): Promise<Map<string, Written> | null>;
}

export type Target = EachTarget | BatchTarget | (EachTarget & BatchTarget);

/** Whether values are read one by one, before each write. */
export const readsEach = (target: Target): boolean => 'read' in target && target.read !== undefined && !target.listsValues;

export const CONCURRENCY = 4;

export interface SyncAdapter {
  platform: SyncPlatform;
  /** What its config holds: see `GET /integrations/platforms`. */
  config: z.ZodType<Record<string, unknown>>;
  /** Fields of the config that are encrypted and never shown. */
  credentials: readonly string[];
  /** Groups of fields of which exactly one is given, for the JSON Schema: `[['serviceId'], ['envGroupId']]`. */
  oneOf?: readonly (readonly string[])[];
  /** What tells one target from another, of the config without its credentials; by default all of it. */
  identity?(config: never): unknown;
  /** The vendor's URLs that the config chooses (a host, an API server), with the field that does: they are judged before anything is called. */
  urls?(config: never): { field: string; url: string }[];
  /** Ports that its targets may have although they are of a known service. */
  ports?: readonly number[];
  /** The name at the target, whole: with any prefix. */
  name(name: string, config: never): Mapped;
  /** Whether names at the target are the same in upper and lower case. */
  folds?: boolean;
  /** Why a value cannot be written, or null. */
  value?(value: string, target: string, config: never): Problem | null;
  /** How many names one call of `write` takes; all where it is absent. */
  most?: number;
  /** Whether what is written takes effect with the next deployment alone. */
  redeploy: boolean;
  /** How the vendor authenticates calls and tells errors and rate limits. */
  vendor(config: never): Vendor;
  open(client: Client, config: never): Target;
}

type Declared<C> = Omit<SyncAdapter, 'config' | 'identity' | 'urls' | 'name' | 'value' | 'vendor' | 'open'> & {
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
export const Token = z.string().regex(/^[\x21-\x7e]{1,4096}$/, 'must be 1 to 4096 printable ASCII characters without spaces');

/** An id or a name that becomes one segment of a path: `client.path` encodes it. */
export const Segment = z
  .string()
  .regex(/^[^\s/\\?#\p{C}]{1,255}$/u, 'must be 1 to 255 characters without spaces, slashes, "?" or "#"')
  .refine((text) => text !== '.' && text !== '..', 'must not be "." or ".."');

/** A URL that calls go to; the egress guard judges where it leads. */
export const Url = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s\\\p{C}]+$/u, 'must be a URL')
  .refine((text) => URL.canParse(text), 'must be a URL');

/** The byte length of a text as UTF-8. */
export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

export const KB = 1024;

/** Refuses a value of more than so many bytes. */
export const tooLarge = (value: string, most: number): Problem | null =>
  bytesOf(value) > most ? { code: 'VALUE_TOO_LARGE', message: `The value has more than ${most} bytes.` } : null;

/** Refuses an empty value. */
export const empty = (value: string): Problem | null =>
  value === '' ? { code: 'VALUE_NOT_ALLOWED', message: 'The target does not take an empty value.' } : null;
