// The requests of log streams, by kind, and how each target says that it has taken a batch. Invariants: a
// batch counts as taken only if the target says so by its own protocol; nothing of an answer is kept.
import { AwsV4Signer } from 'aws4fetch';
import { sha256 } from '../../crypto/digest';
import type { LogStreamKind } from '../../db/schema';
import type { Entry } from '../../gate/audit/entry';
import { version } from '../../version';
import { signedHeaders } from '../webhooks/signing';
import type { Config, Configs } from './config';
import type { Whole } from './encryption';
import { ocsfOf } from './ocsf';

/** An entry as a batch carries it: in its format, as text. */
export interface Line {
  sequence: number;
  time: string;
  outcome: Entry['outcome'];
  text: string;
}

export const lineOf = (org: string, format: 'svc' | 'ocsf', entry: Entry): Line => {
  const raw = JSON.stringify(entry);
  const text = format === 'svc' ? raw : JSON.stringify(ocsfOf(org, entry, raw));
  return { sequence: entry.sequence, time: entry.time, outcome: entry.outcome, text };
};

/** The line of a test, which is no entry of the log. */
export const testLine = (org: string, id: string, now: number): Line => {
  const time = new Date(now).toISOString();
  const text = JSON.stringify({ test: true, org_id: org, log_stream_id: id, time });
  return { sequence: 0, time, outcome: 'success', text };
};

export interface TargetRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

const NAME = 'secrets-vault-service';
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** The URL, with the usual path of the protocol where it has none. */
function at(url: string, path: string): string {
  const parsed = new URL(url);
  if (parsed.pathname !== '/') return url;
  parsed.pathname = path;
  return parsed.href;
}

/** One object after the other: https://help.splunk.com, "Format events for HTTP Event Collector". */
const splunk = (
  { url, token, index, source = NAME, sourcetype = 'svc:audit' }: Configs['splunk'],
  lines: Line[],
) => ({
  url: at(url, '/services/collector/event'),
  headers: { Authorization: `Splunk ${token}`, ...JSON_TYPE },
  body: lines
    .map(({ time, text }) => {
      const head = { time: Date.parse(time) / 1000, host: NAME, source, sourcetype, ...(index && { index }) };
      // The entry's text stays as it is.
      return `${JSON.stringify(head).slice(0, -1)},"event":${text}}`;
    })
    .join('\n'),
});

/** https://docs.datadoghq.com/api/latest/logs/#send-logs */
const datadog = ({ url, api_key, service = NAME, tags = [] }: Configs['datadog'], lines: Line[]) => ({
  url: at(url, '/api/v2/logs'),
  headers: { 'DD-API-KEY': api_key, ...JSON_TYPE },
  body: JSON.stringify(
    lines.map(({ text }) => ({
      ddsource: NAME,
      service,
      hostname: NAME,
      ...(tags.length && { ddtags: tags.join(',') }),
      message: text,
    })),
  ),
});

/** INFO, WARN and ERROR. */
const SEVERITIES = { success: [9, 'INFO'], denied: [13, 'WARN'], failed: [17, 'ERROR'] } as const;
const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** https://opentelemetry.io/docs/specs/otlp/#otlphttp-request, in JSON. */
const otlp = ({ url, headers = {} }: Configs['otlp'], lines: Line[], org: string) => ({
  url: at(url, '/v1/logs'),
  headers: { ...headers, ...JSON_TYPE },
  body: JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: [attribute('service.name', NAME), attribute('svc.org_id', org)] },
        scopeLogs: [
          {
            scope: { name: `${NAME}/audit`, version },
            logRecords: lines.map(({ sequence, time, outcome, text }) => ({
              timeUnixNano: `${Date.parse(time)}000000`,
              observedTimeUnixNano: `${Date.parse(time)}000000`,
              severityNumber: SEVERITIES[outcome][0],
              severityText: SEVERITIES[outcome][1],
              body: { stringValue: text },
              attributes: [{ key: 'svc.sequence', value: { intValue: String(sequence) } }],
            })),
          },
        ],
      },
    ],
  }),
});

const ndjson = (lines: readonly Line[]): string => lines.map(({ text }) => `${text}\n`).join('');

/** Twelve digits, so that objects are listed in order. */
const digits = (sequence: number) => String(sequence).padStart(12, '0');

/** One object a batch, by path, signed with its content: Signature Version 4, as S3 and R2 take it. */
async function s3(config: Configs['s3'], lines: readonly Line[], isTest: boolean): Promise<TargetRequest> {
  const { endpoint, region, bucket, prefix = '', access_key_id, secret_access_key } = config;
  const first = lines[0]?.sequence ?? 0;
  const last = lines.at(-1)?.sequence ?? 0;
  const name = isTest ? 'test.ndjson' : `${digits(first)}-${digits(last)}.ndjson`;
  const body = ndjson(lines);
  const folder = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
  const signer = new AwsV4Signer({
    method: 'PUT',
    url: `${new URL(endpoint).origin}/${bucket}/${folder}${name}`,
    headers: { 'Content-Type': 'application/x-ndjson', 'X-Amz-Content-Sha256': sha256(body) },
    body,
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    service: 's3',
    region,
  });
  const { method, url, headers } = await signer.sign();
  const { host: _, ...sent } = Object.fromEntries(headers);
  return { method, url: url.href, headers: sent, body };
}

/** `id` names the stream. A batch that is sent again has the same `webhook-id`. */
function https(
  { url, headers = {} }: Configs['https'],
  secret: string,
  lines: readonly Line[],
  id: string,
  now: number,
) {
  const body = ndjson(lines);
  const message = `${id}.${lines[0]?.sequence ?? 0}-${lines.at(-1)?.sequence ?? 0}`;
  const signed = signedHeaders(message, now, body, secret, null);
  return { url, headers: { ...headers, ...signed, 'Content-Type': 'application/x-ndjson' }, body };
}

export interface Batch {
  org: string;
  id: string;
  kind: LogStreamKind;
  lines: Line[];
  isTest?: boolean;
}

/** The request of a batch. */
export async function requestOf(
  { config, secret }: Whole,
  batch: Batch,
  now: number,
): Promise<TargetRequest> {
  const { org, id, kind, lines, isTest = false } = batch;
  const of = <K extends LogStreamKind>(_: K) => config as Config & Configs[K];
  switch (kind) {
    case 'splunk':
      return { method: 'POST', ...splunk(of(kind), lines) };
    case 'datadog':
      return { method: 'POST', ...datadog(of(kind), lines) };
    case 'otlp':
      return { method: 'POST', ...otlp(of(kind), lines, org) };
    case 'https':
      return { method: 'POST', ...https(of(kind), secret ?? '', lines, id, now) };
    case 's3':
      return s3(of(kind), lines, isTest);
  }
}

/** Whether a target has taken a whole batch, by its status and the start of its answer. */
export function isTaken(kind: LogStreamKind, status: number, text: string): boolean {
  // safety: log-batch-taken-by-2xx
  if (status < 200 || status > 299) return false;
  // safety: splunk-code-0
  if (kind === 'splunk') return parsed(text)?.code === 0;
  // safety: otlp-partly-taken-is-not-taken
  if (kind === 'otlp') return rejectedIn(parsed(text)) === 0;
  return true;
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** How many records an OTLP target refused. An answer without a body says none. */
const rejectedIn = (answer: Record<string, unknown> | null): number =>
  Number((answer?.partialSuccess as { rejectedLogRecords?: unknown } | undefined)?.rejectedLogRecords ?? 0);
