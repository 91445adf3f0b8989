// Bindings and deployment variables. Every variable is validated before any request is served; an error names
// the variable, never its value.
import { z } from 'zod';
import type { SamlCalls } from '../packages/saml/src/calls';
import { notifyPlatforms, syncPlatforms } from './adapters/platforms';
import type { Asking, Decision, Polled, Started } from './auth/authentication/terminal-login';
import { fromBase64 } from './crypto/bytes';
import type { IssuerKey } from './db/trusts';
import { checkTarget } from './delivery/egress';
import type { QueueMessage } from './gate/queue-messages';
import type { ReplicaCalls, ReplicatedCalls } from './gate/replicas/messages';
import type { GateCalls } from './gate/request/call';
import type { MetricsCalls } from './metrics/collect';
import type { AgreementCalls } from './objects/row-comparison';

export type { SamlAssertion, SamlCalls, SamlProvider } from '../packages/saml/src/calls';

/** The calls of a throttle: see `objects/throttle.ts`. */
export interface ThrottleCalls extends Rpc.DurableObjectBranded {
  refused(most?: number): Promise<number>;
  counted(most: number): Promise<number>;
  forget(): Promise<void>;
}

/** The calls of a terminal login: see `objects/terminal-login.ts`. */
export interface DeviceLoginCalls extends Rpc.DurableObjectBranded {
  start(started: Started): Promise<boolean>;
  asking(): Promise<Asking | null>;
  claim(org: string): Promise<Asking | null>;
  decide(session: string, decision: Decision): Promise<boolean>;
  poll(hash: string): Promise<Polled>;
}

/** The calls of an issuer's keys: see `objects/issuer-keys.ts`. */
export interface IssuerKeysCalls extends Rpc.DurableObjectBranded {
  keys(issuer: string, kid: string | undefined, now?: number): Promise<IssuerKey[] | string>;
  renewed(issuer: string, now?: number): Promise<IssuerKey[] | string>;
}

/** A claim of a domain, for a row of an organisation. Numbers of claims of a domain only grow. */
export interface Claim {
  org: string;
  id: string;
  number: number;
}

/** The calls of the object of a domain: see `objects/domain-owner.ts`. */
export interface DomainOwnerCalls extends Rpc.DurableObjectBranded {
  owner(): Promise<Claim | null>;
  claim(
    by: { org: string; id: string },
    over: number | null,
  ): Promise<{ claimed: number } | { owner: Claim }>;
}

export interface Env {
  DB: D1Database;
  GATE: DurableObjectNamespace<GateCalls & AgreementCalls & ReplicatedCalls>;
  REPLICA: DurableObjectNamespace<ReplicaCalls>;
  THROTTLE: DurableObjectNamespace<ThrottleCalls>;
  DEVICE_LOGIN: DurableObjectNamespace<DeviceLoginCalls>;
  ISSUER_KEYS: DurableObjectNamespace<IssuerKeysCalls>;
  DOMAIN_OWNER: DurableObjectNamespace<DomainOwnerCalls>;
  METRICS: DurableObjectNamespace<MetricsCalls>;
  QUEUE: Queue<QueueMessage>;
  ASSETS: Fetcher;
  /** The SAML Worker; without it nobody signs in by SAML. */
  SAML?: SamlCalls;
  MASTER_KEYS?: string;
  BOOTSTRAP_TOKEN?: string;
  PUBLIC_URL?: string;
  ALLOW_PRIVATE_TARGETS?: string;
  PLATFORM_BASE_URLS?: string;
  DNS_OVER_HTTPS_URL?: string;
  /** What `GET /metrics` asks for; without it there is no such path. */
  METRICS_TOKEN?: string;
  /** The commit that runs, from `npm start` and `npm run deploy`. */
  COMMIT?: string;
  /** The name of this Worker, from `npm run deploy`: other Workers bind to it. */
  WORKER_NAME?: string;
  /** `true` under `npm start`: see index.ts. */
  LOCAL_QUEUE?: string;
}

/** The environment whose stored secrets were read: see stored-secrets.ts. */
export interface ReadEnv extends Env {
  /** A secret that Cloudflare's Secrets Store did not give. */
  UNREADABLE?: string;
}

/** A secret of Cloudflare's Secrets Store. */
interface StoredSecret {
  get(): Promise<string>;
}

/** The environment as the platform gives it. */
export type DeployedEnv = Omit<Env, 'MASTER_KEYS' | 'BOOTSTRAP_TOKEN'> & {
  MASTER_KEYS?: string | StoredSecret;
  BOOTSTRAP_TOKEN?: string | StoredSecret;
};

export interface MasterKey {
  id: string;
  key: Uint8Array;
}

export interface Settings {
  /** The current key first; the others are only for decryption. */
  masterKeys: MasterKey[];
  bootstrapToken: string;
  /** The name of this Worker on its account. */
  workerName: string;
  /** Origin of this deployment, or null to use the origin of each request. */
  publicUrl: string | null;
  /** Whether user-chosen targets may be http or private addresses. */
  allowPrivate: boolean;
  /** Overrides of platforms' base URLs, by platform. */
  platformBaseUrls: Record<string, string>;
  /** Where domains are looked up, and whether that may be http or a private address. */
  resolver: { url: string; allowPrivate: boolean };
}

const masterKeys = z.string().transform((text, context): MasterKey[] => {
  const keys = text.split(',').map((part) => {
    const [, id, spelled] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(part.trim()) ?? [];
    const key = spelled ? fromBase64(spelled) : null;
    return id && key?.length === 32 ? { id, key } : null;
  });
  const whole = keys.filter((key) => key !== null);
  if (whole.length < keys.length || new Set(whole.map(({ id }) => id)).size < keys.length)
    context.addIssue({ code: 'custom', message: 'malformed' });
  return whole;
});

const isOrigin = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    !url.username &&
    !url.password &&
    url.pathname === '/' &&
    !url.search &&
    !url.hash
  );
};
const isLoopback = (text: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(text).hostname);

/** Rejects anything that the parser would have to repair (spaces, backslashes, a bare `?`). */
const isBaseUrl = (value: unknown) => {
  const url = typeof value === 'string' && /^https?:\/\/[^\s\\?#]+$/i.test(value) ? URL.parse(value) : null;
  return url !== null && !url.username && !url.password;
};

/** The base URLs in a variable, by platform; null if it is malformed. */
function baseUrlsIn(text: string | undefined): Record<string, string> | null {
  if (!text) return {};
  try {
    const map = JSON.parse(text) as Record<string, string>;
    if (typeof map !== 'object' || map === null || Array.isArray(map)) return null;
    const platforms: readonly string[] = [...syncPlatforms, ...notifyPlatforms];
    return Object.entries(map).every(([platform, url]) => platforms.includes(platform) && isBaseUrl(url))
      ? map
      : null;
  } catch {
    return null;
  }
}

/** What each variable must be, as worded in the error message. */
const checks: [keyof Env, string, (env: Env) => boolean][] = [
  [
    'MASTER_KEYS',
    'a comma-separated list of id:key, each key 32 bytes in base64',
    (env) => masterKeys.safeParse(env.MASTER_KEYS).success,
  ],
  [
    'BOOTSTRAP_TOKEN',
    'at least 32 printable characters without spaces',
    (env) => /^[\x21-\x7e]{32,}$/.test(env.BOOTSTRAP_TOKEN ?? ''),
  ],
  [
    'METRICS_TOKEN',
    'at least 32 printable characters without spaces, or absent',
    (env) => !env.METRICS_TOKEN || /^[\x21-\x7e]{32,}$/.test(env.METRICS_TOKEN),
  ],
  [
    'PUBLIC_URL',
    'an http or https origin, such as https://vault.example.com',
    (env) => !env.PUBLIC_URL || isOrigin(env.PUBLIC_URL),
  ],
  [
    'ALLOW_PRIVATE_TARGETS',
    'true or false, and true only if PUBLIC_URL is a loopback address',
    ({ ALLOW_PRIVATE_TARGETS: allow, PUBLIC_URL: url }) =>
      ['', 'false', undefined].includes(allow) || (allow === 'true' && (!url || isLoopback(url))),
  ],
  [
    'PLATFORM_BASE_URLS',
    'a JSON object that maps platform names to base URLs without credentials, query or fragment',
    (env) => baseUrlsIn(env.PLATFORM_BASE_URLS) !== null,
  ],
  [
    'WORKER_NAME',
    'the name of this Worker: letters, digits, hyphens and underscores',
    ({ WORKER_NAME: name }) => !name || isWorkerName(name),
  ],
  [
    'DNS_OVER_HTTPS_URL',
    'the https URL of a public resolver; http and private addresses only if PUBLIC_URL is a loopback address',
    (env) =>
      !env.DNS_OVER_HTTPS_URL || checkTarget(env.DNS_OVER_HTTPS_URL, { allowPrivate: isLocal(env) }) === null,
  ],
];

/** The name in wrangler.toml. */
const WORKER = 'secrets-vault-service';
/** What Cloudflare accepts as the name of a Worker. */
const isWorkerName = (name: string): boolean => /^[A-Za-z0-9_-]{1,255}$/.test(name);

/** The resolver without DNS_OVER_HTTPS_URL. */
const RESOLVER = 'https://cloudflare-dns.com/dns-query';

/** Whether this deployment says that only its own machine can reach it. */
export const isLocal = ({ PUBLIC_URL: url }: Env): boolean => !!url && isOrigin(url) && isLoopback(url);

function problemOf(env: ReadEnv): string | null {
  if (env.UNREADABLE)
    return `The deployment variable ${env.UNREADABLE} is a secret that Cloudflare's Secrets Store does not give: check its binding.`;
  const broken = checks.find(([, , holds]) => !holds(env));
  return broken ? `The deployment variable ${broken[0]} must be ${broken[1]}.` : null;
}

const known = new WeakMap<Env, Settings | { problem: string }>();

/** Validates the deployment's variables, once per isolate. */
export function settingsOf(env: Env): Settings | { problem: string } {
  const before = known.get(env);
  if (before) return before;
  const problem = problemOf(env);
  const settings = problem
    ? { problem }
    : {
        masterKeys: masterKeys.parse(env.MASTER_KEYS),
        bootstrapToken: env.BOOTSTRAP_TOKEN as string,
        workerName: env.WORKER_NAME || WORKER,
        publicUrl: env.PUBLIC_URL ? new URL(env.PUBLIC_URL).origin : null,
        allowPrivate: env.ALLOW_PRIVATE_TARGETS === 'true',
        platformBaseUrls: baseUrlsIn(env.PLATFORM_BASE_URLS) as Record<string, string>,
        resolver: { url: env.DNS_OVER_HTTPS_URL || RESOLVER, allowPrivate: isLocal(env) },
      };
  known.set(env, settings);
  return settings;
}
