// Log streams for tests: targets that speak the vendors' formats behind a stubbed `fetch`, and sending as the
// gate and the queue do it. Each target is as strict as its documentation.

import { env } from 'cloudflare:workers';
import { createHash, createHmac } from 'node:crypto';
import { vi } from 'vitest';
import { z } from 'zod';
import type { Env } from '../../../src/env';
import type { Entry } from '../../../src/gate/audit/entry';
import { runTasks } from '../../../src/gate/tasks/run';
import { runJob } from '../../../src/queue';
import { faults, faulty } from '../faults';
import { inCore } from '../gate';
import { type Caller, db } from '../world';

/** A request that a target got. */
export interface Got {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string;
  redirect: string | undefined;
}

export type Kind = 'splunk' | 'datadog' | 's3' | 'otlp' | 'https';

/** The entries of a request, by the kind's wire format. Throws where the request is not of that format. */
export const parsers: Record<Kind, (got: Got) => Entry[]> = {
  splunk({ url, method, headers, body }) {
    if (method !== 'POST' || url.pathname !== '/services/collector/event') throw new Error('not HEC');
    if (headers.authorization !== 'Splunk hec-token') throw new Error('not authorized');
    const event = z.strictObject({
      time: z.number().max(1e11),
      host: z.string(),
      source: z.string(),
      sourcetype: z.string(),
      index: z.string().optional(),
      event: z.record(z.string(), z.unknown()),
    });
    return concatenated(body).map((one) => event.parse(one).event as unknown as Entry);
  },
  datadog({ url, headers, body }) {
    if (url.pathname !== '/api/v2/logs' || headers['dd-api-key'] !== 'dd-key') throw new Error('not Datadog');
    const item = z.strictObject({
      ddsource: z.string(),
      ddtags: z.string().optional(),
      hostname: z.string(),
      service: z.string(),
      message: z.string().max(1_000_000),
    });
    return z
      .array(item)
      .max(1000)
      .parse(JSON.parse(body))
      .map(({ message }) => JSON.parse(message));
  },
  s3(got) {
    if (got.method !== 'PUT') throw new Error('not PUT');
    verifyV4(got);
    return lines(got.body);
  },
  otlp({ url, headers, body }) {
    if (url.pathname !== '/v1/logs' || headers['content-type'] !== 'application/json')
      throw new Error('not OTLP');
    const value = z.strictObject({ stringValue: z.string() });
    const record = z.strictObject({
      timeUnixNano: z.string().regex(/^\d{19}$/),
      observedTimeUnixNano: z.string().regex(/^\d{19}$/),
      severityNumber: z.int().min(1).max(24),
      severityText: z.string(),
      body: value,
      attributes: z.array(
        z.strictObject({
          key: z.literal('svc.sequence'),
          value: z.strictObject({ intValue: z.string().regex(/^\d+$/) }),
        }),
      ),
    });
    const attributes = z.array(z.strictObject({ key: z.string(), value }));
    const scopeLogs = z.array(
      z.strictObject({
        scope: z.strictObject({ name: z.string(), version: z.string() }),
        logRecords: z.array(record),
      }),
    );
    const request = z.strictObject({
      resourceLogs: z.array(z.strictObject({ resource: z.strictObject({ attributes }), scopeLogs })),
    });
    return request
      .parse(JSON.parse(body))
      .resourceLogs.flatMap((one) => one.scopeLogs.flatMap(({ logRecords }) => logRecords))
      .map(({ body: { stringValue } }) => JSON.parse(stringValue));
  },
  https({ headers, body }) {
    if (headers['content-type'] !== 'application/x-ndjson') throw new Error('not NDJSON');
    return lines(body);
  },
};

const lines = (body: string): Entry[] =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** JSON values one after the other, with white space between them or none. */
function concatenated(text: string): unknown[] {
  const values: unknown[] = [];
  let depth = 0;
  let isText = false;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isText) {
      if (char === '\\') at++;
      else if (char === '"') isText = false;
      continue;
    }
    if (char === '"') isText = true;
    if (char === '{' && depth++ === 0) start = at;
    if (char === '}' && --depth === 0) values.push(JSON.parse(text.slice(start, at + 1)));
  }
  return values;
}

export const S3_SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

/** Signature Version 4, computed here from the specification alone. */
function verifyV4({ url, method, headers, body }: Got): void {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (!found) throw new Error('no signature');
  const [, key, day, region, signedHeaders, signature] = found as unknown as string[];
  const hash = createHash('sha256').update(body).digest('hex');
  if (headers['x-amz-content-sha256'] !== hash) throw new Error('another content');
  const names = (signedHeaders as string).split(';');
  if (!names.includes('host') || !names.includes('x-amz-content-sha256'))
    throw new Error('headers not signed');
  const canonical = [
    method,
    url.pathname,
    '',
    ...names.map((name) => `${name}:${name === 'host' ? url.host : headers[name]}`),
    '',
    signedHeaders,
    hash,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = [
    'AWS4-HMAC-SHA256',
    headers['x-amz-date'],
    scope,
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const mac = (by: string | Uint8Array, text: string) =>
    new Uint8Array(createHmac('sha256', by).update(text).digest());
  const signing = [region, 's3', 'aws4_request'].reduce(
    (by, text) => mac(by, text as string),
    mac(`AWS4${S3_SECRET}`, day as string),
  );
  const expected = createHmac('sha256', signing).update(toSign).digest('hex');
  if (key !== 'AKIDEXAMPLE' || signature !== expected) throw new Error('SignatureDoesNotMatch');
}

const taken: Record<Kind, () => Response> = {
  splunk: () => Response.json({ text: 'Success', code: 0 }),
  datadog: () => Response.json({}, { status: 202 }),
  s3: () => new Response(null, { status: 200 }),
  otlp: () => Response.json({ partialSuccess: {} }),
  https: () => new Response('ok'),
};

/**
 * Targets. `got` has every request; `answers` replaces the usual answer, by host; `entries` are what each
 * host has taken, in the order in which it did. `names` lead elsewhere, and `lookedUp` is waited for.
 */
export function useTargets() {
  // Tests send by themselves: the queue would send as well, from a request of its own.
  faults.isAlarmHeld = true;
  const got: Got[] = [];
  const answers: Record<string, (got: Got, signal: AbortSignal) => Response | Promise<Response>> = {};
  const entries: Record<string, Entry[]> = {};
  const names: Record<string, string> = {};
  const world = { got, answers, entries, names, lookedUp: async (): Promise<void> => {} };
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const at = new URL(url);
    if (at.hostname === 'cloudflare-dns.com') {
      await world.lookedUp();
      const address = names[at.searchParams.get('name') ?? ''] ?? '93.184.215.14';
      const isA = at.searchParams.get('type') === 'A';
      return Response.json({ Status: 0, Answer: isA ? [{ type: 1, data: address }] : [] });
    }
    const one: Got = {
      url: at,
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers).entries()),
      body: init.body as string,
      redirect: init.redirect,
    };
    got.push(one);
    const special = await answers[at.host]?.(one, init.signal as AbortSignal);
    if (special && (special.status > 299 || special.headers.has('x-not-taken'))) return special;
    const kind = at.host.split('-')[0] as Kind;
    entries[at.host] = [...(entries[at.host] ?? []), ...parsers[kind](one)];
    return special ?? taken[kind]();
  });
  return world;
}

let hosts = 0;

export const configOf = (kind: Kind): Record<string, unknown> => {
  const url = `https://${kind}-${++hosts}.example.com`;
  return {
    splunk: { url, token: 'hec-token', index: 'audit' },
    datadog: { url, api_key: 'dd-key', tags: ['env:prod', 'team:sec'] },
    s3: {
      endpoint: url,
      region: 'eu-west-1',
      bucket: 'audit-log',
      prefix: 'svc/acme',
      access_key_id: 'AKIDEXAMPLE',
      secret_access_key: S3_SECRET,
    },
    otlp: { url, headers: { Authorization: 'Bearer otlp-token' } },
    https: { url: `${url}/in`, headers: { 'X-Tenant': 'acme' } },
  }[kind];
};

export interface Stream {
  id: string;
  host: string;
  secret?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  [field: string]: any;
}

/** A new stream; answers what the service said. */
export async function newStream(
  o: Caller,
  kind: Kind = 'https',
  fields: Record<string, unknown> = {},
): Promise<Stream> {
  const config = configOf(kind);
  const { json, status, text } = await o.post('/log-streams', {
    name: `To ${kind}`,
    kind,
    config,
    ...fields,
  });
  if (status !== 201) throw new Error(`no stream: ${status} ${text}`);
  return { ...json, host: new URL(String(config.url ?? config.endpoint)).host };
}

/** Runs the tasks that are due; answers which streams the Worker is asked to send. */
export const askedFor = (o: Caller): Promise<string[]> =>
  inCore(o, async (core) => {
    const asked: string[] = [];
    const { enqueue } = core;
    core.enqueue = async (job, id) => {
      if (job === 'log_stream' && id !== undefined) asked.push(id);
    };
    for (let turn = 0; turn < 3; turn++) await runTasks(core);
    core.enqueue = enqueue;
    return asked;
  });

/** Sends for one stream, as the queue has the Worker do it. */
export const sendFor = (o: { id: string }, id: string) =>
  runJob(faulty(env as unknown as Env, db), { kind: 'job', job: 'log_stream', org: o.id, id });

/** Sends what is due, until nothing is. */
export async function sendAll(o: Caller, most = 30): Promise<void> {
  for (let round = 0; round < most; round++) {
    const asked = await askedFor(o);
    if (asked.length === 0) return;
    await Promise.all(asked.map((id) => sendFor(o, id)));
  }
}
