// A small world for tests: one org with its first key, and calls on it through the public interface.
import { applyD1Migrations } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { reset } from './faults';

const bindings = env as unknown as {
  DB: D1Database;
  MIGRATIONS: Parameters<typeof applyD1Migrations>[1];
  BOOTSTRAP_TOKEN: string;
};
export const BOOTSTRAP = bindings.BOOTSTRAP_TOKEN;
export const db = bindings.DB;

/** Prepares D1 once a file, and mends all faults before each test. */
export function useWorld() {
  beforeAll(() => applyD1Migrations(bindings.DB, bindings.MIGRATIONS));
  beforeEach(reset);
  afterAll(reset);
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  json: any;
  text: string;
  headers: Headers;
}

/** What an answer says, for comparison: its status, and the code of a refusal. */
export const codeOf = ({ status, json }: Answer) => [status, json?.error?.code];

export async function send(
  method: string,
  path: string,
  {
    token,
    body,
    headers = {},
    redirect,
  }: {
    token?: string;
    body?: unknown;
    headers?: Record<string, string>;
    redirect?: 'manual';
  } = {},
): Promise<Answer> {
  const raw =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array
      ? body
      : JSON.stringify(body);
  const response = await exports.default.fetch(`http://localhost${path}`, {
    method,
    ...(redirect && { redirect }),
    body: raw as BodyInit | undefined,
    headers: {
      'CF-Connecting-IP': '203.0.113.7',
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(raw !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
  });
  const text = new TextDecoder().decode(await response.arrayBuffer());
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {}
  return { status: response.status, json, text, headers: response.headers };
}

export const whoami = ({ token }: { token: string }) => send('GET', '/api/v1/whoami', { token });

/** Calls on one org's paths with one credential. */
export function callerOf(id: string, token: string) {
  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    send(method, `/api/v1/orgs/${id}${path}`, { token, body, headers });
  return {
    id,
    token,
    call,
    as: (other: string) => callerOf(id, other),
    get: (path: string, headers?: Record<string, string>) => call('GET', path, undefined, headers),
    post: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('POST', path, body, headers),
    patch: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('PATCH', path, body, headers),
    del: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('DELETE', path, body, headers),
  };
}
export type Caller = ReturnType<typeof callerOf>;

let founded = 0;

/** A new org, with its first key. */
export async function newOrg(): Promise<Caller & { keyId: string }> {
  const { json, status, text } = await send('POST', '/api/v1/orgs', {
    token: BOOTSTRAP,
    body: { name: `org ${++founded}`, owner: { email: 'ann@example.com', name: 'Ann' } },
  });
  if (status !== 201) throw new Error(`no org: ${status} ${text}`);
  return { ...callerOf(json.org.id, json.api_key.token), keyId: json.api_key.id };
}

/**
 * A new secret; answers what the service said, and the value. With `...GENERATED` the service generates it.
 */
export async function newSecret(o: Caller, fields: Record<string, unknown> = {}) {
  const sent = { name: `s-${crypto.randomUUID()}`, type: 'generic', value: crypto.randomUUID(), ...fields };
  const { json, status, text } = await o.post('/secrets', sent);
  if (status !== 201) throw new Error(`no secret: ${status} ${text}`);
  return { ...json, value: sent.value ?? json.value } as {
    id: string;
    name: string;
    value: string;
    version: number;
    environment: string;
  };
}

/** Fields of a secret whose value the service generates. */
export const GENERATED = { type: 'password', value: undefined, generate: {} };
