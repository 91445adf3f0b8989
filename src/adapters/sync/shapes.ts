// Paths of calls, and bodies in the documented shapes. Invariant: a body with another shape ends the sync, so
// no listing is read as empty.
import type { z } from '@hono/zod-openapi';
import type { Reply } from './call';
import { unreadable } from './target-error';

/** A body that must be an object; throws otherwise, so that a listing is never read as empty. */
export function object(reply: Reply): Record<string, unknown> {
  if (typeof reply.body === 'object' && reply.body !== null && !Array.isArray(reply.body))
    return reply.body as Record<string, unknown>;
  throw unreadable();
}

/** A value that must be a list. */
export function array<T = Record<string, unknown>>(value: unknown): T[] {
  if (Array.isArray(value)) return value as T[];
  throw unreadable();
}

/** A part of a response in its documented shape, without other fields. */
export function shaped<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw unreadable();
}

/** A path of segments, each encoded. */
export const path = (...segments: (string | number)[]): string =>
  segments.map((segment) => encodeURIComponent(segment)).join('/');

/**
 * A code that the vendor documents; null for any other text. A server that the config chooses may answer with
 * what it was sent in an earlier sync.
 */
export const documented = (codes: readonly string[], code: unknown): string | null =>
  // safety: codes-of-chosen-hosts-documented
  codes.find((one) => one === code) ?? null;
