// The types of notifications and notification adapters. Invariant: an adapter is pure. It builds a request
// and evaluates a response, and never sends anything.
import { z } from '@hono/zod-openapi';
import type { NotifyPlatform } from '../platforms';

export const severities = ['critical', 'error', 'warning', 'info'] as const;
export type Severity = (typeof severities)[number];

/** An event, as in the feed and in webhooks. */
export interface EventPayload {
  id: string;
  type: string;
  timestamp: string;
  org_id: string;
  data: Record<string, unknown>;
}

export interface Message {
  severity: Severity;
  /** One of our fixed titles. */
  title: string;
  /** The text, which may contain user input. */
  text: string;
  event: EventPayload | null;
  /** A link with more information. */
  link: string | null;
  /** The same for repeats about one subject, which paging services combine into one incident. */
  key: string;
  /** When it happened, in milliseconds. */
  time: number;
}

export interface Sent {
  url: string;
  method: 'POST';
  headers: Record<string, string>;
  body: string;
}

/** The parts of a response that are evaluated. */
export interface Received {
  status: number;
  headers: Headers;
  /** The start of the body. */
  text: string;
}

/** Whether a platform accepted a message. `retry_after` in seconds, if it sent a time. */
export interface Verdict {
  delivered: boolean;
  status: number;
  retry_after: number | null;
}

/** The common interface of adapters, regardless of their config. */
export interface Adapter {
  platform: NotifyPlatform;
  /** The schema of its config. */
  config: z.ZodObject;
  /** Fields of the config that are encrypted and never shown. For those that are URLs, the host is shown. */
  credentials: readonly string[];
  request(config: never, message: Message): Sent;
  /** A refusal that a platform reports in the body of a 2xx. */
  refusal?(received: Received): { status: number; retry_after: number | null } | null;
}

/** Declares an adapter; the type of its config follows from its schema. */
export const adapter = <S extends z.ZodObject>(
  declared: Omit<Adapter, 'config' | 'request'> & {
    config: S;
    request(config: z.output<S>, message: Message): Sent;
  },
): Adapter => declared as unknown as Adapter;

/** A JSON POST. */
export const post = (url: string, body: object, headers: Record<string, string> = {}): Sent => ({
  url,
  method: 'POST',
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

// ---------------------------------------------------------------- configs

/**
 * A URL that is itself a credential. Its target is checked later, with the deployment's address override,
 * which would drop a user name; so a user name is refused here.
 */
export const SecretUrl = z
  .string()
  .max(2048)
  .regex(
    /^https?:\/\/[^\s\\#/?][^\s\\#]{0,2039}$/i,
    'must be an https URL without spaces, backslashes or fragment',
  )
  .refine((text) => !/\p{C}/u.test(text), 'must not contain control characters')
  // safety: notification-no-user-info
  .refine(
    (text) => URL.canParse(text) && !/^https?:\/\/[^/?]*@/i.test(text),
    'must not contain a user name or password',
  );

/** A credential that is sent in a header or a body. */
export const SecretText = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/, 'must be 1 to 512 printable ASCII characters without spaces');

export const Region = z.enum(['us', 'eu']);

// ---------------------------------------------------------------- responses

/** The longest retry time that is passed on, in seconds. */
const LONGEST_WAIT = 86_400;

/** Seconds as an integer, rounded up; null if the value is not a number of seconds. */
export const seconds = (value: unknown): number | null => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && number >= 0 ? Math.min(Math.ceil(number), LONGEST_WAIT) : null;
};

/** The retry time in a header: seconds, or a date (RFC 9110 §10.2.3). */
function retryAfter(headers: Headers, now: number): number | null {
  const header = headers.get('retry-after');
  if (header === null) return null;
  const date = /^[A-Z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return seconds(header) ?? (Number.isNaN(date) ? null : seconds(Math.max(0, date - now) / 1000));
}

/** A body as an object; empty if it is not one. */
export function fieldsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The verdict on a response: any 2xx is a success unless the adapter finds a refusal in it. */
export function outcome({ refusal }: Adapter, received: Received, now: number): Verdict {
  const { status, headers, text } = received;
  const refused = refusal?.(received) ?? null;
  const wait = refused?.retry_after ?? retryAfter(headers, now);
  if (status >= 200 && status <= 299 && !refused) return { delivered: true, status, retry_after: null };
  // Discord sends the time in the body too.
  return {
    delivered: false,
    status: refused?.status ?? status,
    retry_after: wait ?? seconds(fieldsOf(text).retry_after),
  };
}
