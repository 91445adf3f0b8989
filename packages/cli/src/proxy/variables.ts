// The environment of a program of svc proxy. Invariant: it holds the token of the run in place of every key
// that it names, and no credential of svc.
import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { variablesOf } from '../run/variables.ts';
import type { Running } from './server.ts';
import type { Target } from './targets.ts';
import { CATALOGUE, type Sdk } from './upstream-catalogue.ts';

/** What programs call AWS's services in AWS_ENDPOINT_URL_…, where it is not the name in their addresses. */
const AWS_NAMES: Record<string, string> = {
  secretsmanager: 'SECRETS_MANAGER',
  logs: 'CLOUDWATCH_LOGS',
  monitoring: 'CLOUDWATCH',
  events: 'EVENTBRIDGE',
  email: 'SES',
  states: 'SFN',
};
const AWS_HOST = /^([a-z0-9-]+)(?:\.([a-z]{2}(?:-[a-z]+)+-\d))?\.amazonaws\.com$/;
/** Services that an upstream of their name is for. */
const AWS_SERVICES = [
  'dynamodb',
  's3',
  'sqs',
  'sns',
  'kms',
  'lambda',
  'kinesis',
  'secretsmanager',
  'ssm',
  'bedrock-runtime',
];

/** Variables of AWS that would go before the token, or with it. */
const AWS_OTHERS = ['AWS_SESSION_TOKEN', 'AWS_SECURITY_TOKEN', 'AWS_PROFILE', 'AWS_DEFAULT_PROFILE'];

/** The SDK that an upstream is for: by its host, else by its name. */
const sdkOf = ({ name, host }: Target): Sdk | undefined => {
  const ready = Object.values(CATALOGUE);
  const byHost = ready.find(({ fields }) => new URL(fields('X').base_url).hostname === host);
  const byName = Object.hasOwn(CATALOGUE, name) ? CATALOGUE[name] : undefined;
  return (byHost ?? byName)?.sdk;
};

function awsOf({ name, host }: Target): { id: string; region: string | undefined } | undefined {
  const [, service, region] = AWS_HOST.exec(host) ?? [];
  const found = service ?? AWS_SERVICES.find((one) => one === name);
  if (found === undefined) return undefined;
  return { id: AWS_NAMES[found] ?? found.toUpperCase().replaceAll('-', '_'), region };
}

/** Base URLs and keys for SDKs. What an earlier upstream set stays. */
export function sdkVariables(
  targets: readonly Target[],
  { urls }: Pick<Running, 'urls'>,
  token: string,
): Record<string, string> {
  const set: Record<string, string> = {};
  for (const target of targets) {
    const url = urls.get(target.name) as string;
    set[`SVC_UPSTREAM_${target.name.toUpperCase().replaceAll('-', '_')}`] = url;
    const sdk = sdkOf(target);
    for (const [name, base] of Object.entries(sdk?.urls ?? {}))
      set[name] ??= url + (base.startsWith(target.path) ? base.slice(target.path.length) : base);
    for (const name of sdk?.keys ?? []) set[name] ??= token;
    const aws = awsOf(target);
    if (!aws) continue;
    set[`AWS_ENDPOINT_URL_${aws.id}`] ??= url;
    set.AWS_ACCESS_KEY_ID ??= token;
    set.AWS_SECRET_ACCESS_KEY ??= token;
    if (aws.region) set.AWS_REGION ??= aws.region;
  }
  return { ...set, SVC_PROXY_TOKEN: token };
}

/** Files of certificates: the authority's beside those that a program adds, and beside all that it trusts. */
export interface Certificates {
  added: string;
  all: string;
}

const BUNDLES = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'AWS_CA_BUNDLE'];

/** Writes the files. @param folder is removed after the run */
export function writeCertificates(folder: string, certificate: string, own: NodeJS.ProcessEnv): Certificates {
  const textOf = (name: string): string => {
    try {
      return fs.readFileSync(own[name] ?? '', 'utf8');
    } catch {
      return '';
    }
  };
  const write = (name: string, parts: readonly string[]): string => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, parts.map((part) => `${part.trim()}\n`).join(''), { mode: 0o600 });
    return file;
  };
  const extra = textOf('NODE_EXTRA_CA_CERTS');
  return {
    added: write('authority.pem', [certificate, extra]),
    all: write('bundle.pem', [certificate, extra, ...BUNDLES.map(textOf), ...systemRoots()]),
  };
}

/** What the system trusts, else what Node.js does. */
function systemRoots(): readonly string[] {
  const { getCACertificates } = tls as { getCACertificates?: (of: 'system') => string[] };
  try {
    const found = getCACertificates?.('system') ?? [];
    if (found.length > 0) return found;
  } catch {
    // A store that cannot be read is as good as none.
  }
  return tls.rootCertificates;
}

/** The environment of the program. */
export function programEnv(
  own: NodeJS.ProcessEnv,
  sdk: Record<string, string>,
  { proxy, token, certificates }: { proxy: string; token: string; certificates: Certificates },
): NodeJS.ProcessEnv {
  const { env } = variablesOf(new Map(), own, {});
  if (sdk.AWS_ACCESS_KEY_ID) for (const name of AWS_OTHERS) delete env[name];
  const url = `http://${token}:proxy@${proxy}`;
  const direct = [own.NO_PROXY ?? own.no_proxy, 'localhost', '127.0.0.1', '::1'].filter(Boolean).join(',');
  return Object.assign(env, sdk, {
    ...(sdk.AWS_REGION && { AWS_REGION: own.AWS_REGION ?? sdk.AWS_REGION }),
    HTTPS_PROXY: url,
    https_proxy: url,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: '1',
    NODE_EXTRA_CA_CERTS: certificates.added,
    ...Object.fromEntries(BUNDLES.map((name) => [name, certificates.all])),
  });
}
