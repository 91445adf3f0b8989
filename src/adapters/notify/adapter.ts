// What a notification is, and what an adapter is. Invariant: an adapter is pure. It makes a request and judges a response, and never
// sends anything.
import { z } from '@hono/zod-openapi';
import type { NotifyPlatform } from '../platforms';

export const severities = ['critical', 'error', 'warning', 'info'] as const;
export type Severity = (typeof severities)[number];

/** An event, as the feed and webhooks give it. */
export interface EventPayload {
  id: string;
  type: string;
  timestamp: string;
  org_id: string;
  data: Record<string, unknown>;
}

export interface Message {
  severity: Severity;
  /** A fixed title of ours. */
  title: string;
  /** The text. It may contain foreign text. */
  text: string;
  event: EventPayload | null;
  /** Where to find out more. */
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

/** A response, as far as it is judged. */
export interface Received {
  status: number;
  headers: Headers;
  /** The start of the body. */
  text: string;
}

/** Whether a platform took a message. `retry_after` in seconds, where it named a time. */
export interface Verdict {
  delivered: boolean;
  status: number;
  retry_after: number | null;
}

/** What every adapter is, whatever its config. */
export interface Adapter {
  platform: NotifyPlatform;
  /** What its config holds. */
  config: z.ZodObject;
  /** Fields of the config that are encrypted and never shown. Of those that are a URL the host is shown. */
  credentials: readonly string[];
  request(config: never, message: Message): Sent;
  /** A refusal that a platform states in the body of a 2xx. */
  refusal?(received: Received): { status: number; retry_after: number | null } | null;
}

/** Declares an adapter; the type of its config follows from its schema. */
export const adapter = <S extends z.ZodObject>(
  declared: Omit<Adapter, 'config' | 'request'> & { config: S; request(config: z.output<S>, message: Message): Sent },
): Adapter => declared as unknown as Adapter;

/** A POST of JSON. */
export const post = (url: string, body: object, headers: Record<string, string> = {}): Sent => ({
  url,
  method: 'POST',
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

// ---------------------------------------------------------------- configs

/**
 * A URL that is itself a credential. Its target is checked later, with the address override of the deployment, which would drop a user name.
 * So a user name is refused here.
 */
export const SecretUrl = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s\\#/?][^\s\\#]{0,2039}$/i, 'must be an https URL without spaces, backslashes or fragment')
  .refine((text) => !/\p{C}/u.test(text), 'must not contain control characters')
  // safety: notification-no-user-info
  .refine((text) => URL.canParse(text) && !/^https?:\/\/[^/?]*@/i.test(text), 'must not contain a user name or password');

/** A credential that is sent in a header or a body. */
export const SecretText = z.string().regex(/^[\x21-\x7e]{1,512}$/, 'must be 1 to 512 printable ASCII characters without spaces');

export const Region = z.enum(['us', 'eu']);

// ---------------------------------------------------------------- responses

/** The longest retry time that is passed on, in seconds. */
const LONGEST_WAIT = 86_400;

/** Seconds as a whole number, upwards; null for what is none. */
export const seconds = (value: unknown): number | null => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && number >= 0 ? Math.min(Math.ceil(number), LONGEST_WAIT) : null;
};

/** The retry time of a header: seconds, or a date (RFC 9110 §10.2.3). */
function retryAfter(headers: Headers, now: number): number | null {
  const header = headers.get('retry-after');
  if (header === null) return null;
  const date = /^[A-Z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return seconds(header) ?? (Number.isNaN(date) ? null : seconds(Math.max(0, date - now) / 1000));
}

/** A body as an object; empty for what is none. */
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
  const told = refusal?.(received) ?? null;
  const wait = told?.retry_after ?? retryAfter(headers, now);
  if (status >= 200 && status <= 299 && !told) return { delivered: true, status, retry_after: null };
  // Discord names the time in the body too.
  return { delivered: false, status: told?.status ?? status, retry_after: wait ?? seconds(fieldsOf(text).retry_after) };
}
