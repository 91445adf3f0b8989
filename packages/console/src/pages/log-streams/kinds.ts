// Kinds of targets of log streams, as the form shows them. The service validates the fields.
import type { components } from '@secrets-vault/client';

export type LogStream = components['schemas']['LogStream'];
export type Kind = LogStream['kind'];

export interface ConfigField {
  name: string;
  label: string;
  hint?: string;
  secret?: true;
  optional?: true;
  placeholder?: string;
}

const headers: ConfigField = {
  name: 'headers',
  label: 'Headers',
  hint: 'One a line, such as Authorization: Bearer …',
  secret: true,
  optional: true,
};

export const kinds: Record<Kind, { label: string; fields: ConfigField[] }> = {
  splunk: {
    label: 'Splunk (HTTP Event Collector)',
    fields: [
      { name: 'url', label: 'URL', placeholder: 'https://splunk.example.com:8088' },
      { name: 'token', label: 'Token', secret: true },
      { name: 'index', label: 'Index', optional: true },
      { name: 'source', label: 'Source', optional: true },
      { name: 'sourcetype', label: 'Source type', optional: true },
    ],
  },
  datadog: {
    label: 'Datadog',
    fields: [
      { name: 'url', label: 'URL', placeholder: 'https://http-intake.logs.datadoghq.eu' },
      { name: 'api_key', label: 'API key', secret: true },
      { name: 'service', label: 'Service', optional: true },
      { name: 'tags', label: 'Tags', hint: 'Separated by commas.', optional: true },
    ],
  },
  s3: {
    label: 'S3-compatible bucket',
    fields: [
      { name: 'endpoint', label: 'Endpoint', placeholder: 'https://s3.eu-west-1.amazonaws.com' },
      { name: 'region', label: 'Region', hint: 'For R2: auto.' },
      { name: 'bucket', label: 'Bucket' },
      { name: 'prefix', label: 'Prefix', optional: true },
      { name: 'access_key_id', label: 'Access key ID', secret: true },
      { name: 'secret_access_key', label: 'Secret access key', secret: true },
    ],
  },
  otlp: {
    label: 'OTLP',
    fields: [{ name: 'url', label: 'URL', placeholder: 'https://otlp.example.com/v1/logs' }, headers],
  },
  https: {
    label: 'HTTPS',
    fields: [{ name: 'url', label: 'URL', placeholder: 'https://siem.example.com/audit' }, headers],
  },
};

/** The config of a form's texts; empty ones are left out. */
export function configOf(kind: Kind, texts: Record<string, string>) {
  const config: Record<string, string | string[] | Record<string, string>> = {};
  for (const { name } of kinds[kind].fields) {
    const text = texts[name]?.trim() ?? '';
    if (text === '') continue;
    config[name] = name === 'headers' ? headersOf(text) : name === 'tags' ? listOf(text, ',') : text;
  }
  return config;
}

const listOf = (text: string, by: string): string[] =>
  text
    .split(by)
    .map((part) => part.trim())
    .filter(Boolean);

const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    listOf(text, '\n').map((line) => {
      const at = line.indexOf(':');
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
