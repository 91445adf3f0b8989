// The settings of `npm start`: the variables of the shell and of .dev.vars, validated and completed. Pure: no
// file or process is used. Invariant: a problem names its variable and the next step, and never shows a
// value, because any value may be a secret.
import net from 'node:net';
import path from 'node:path';

/**
 * @typedef {Record<string, string | undefined>} Variables
 * @typedef {object} Settings
 * @property {string} host the IP address to listen on
 * @property {number} port
 * @property {string} stateDir absolute, or relative to the project's root
 * @property {Record<'MASTER_KEYS' | 'BOOTSTRAP_TOKEN' | 'PUBLIC_URL' | 'ALLOW_PRIVATE_TARGETS' |
 *   'PLATFORM_BASE_URLS' | 'METRICS_TOKEN' | 'DNS_OVER_HTTPS_URL', string>} worker
 */

export const PLATFORMS = [
  ...[
    'vercel',
    'netlify',
    'heroku',
    'fly',
    'render',
    'railway',
    'cloudflare-workers',
    'cloudflare-pages',
    'cloudflare-secrets-store',
    'digitalocean',
    'supabase',
  ],
  ...['github-actions', 'gitlab-ci', 'circleci', 'bitbucket-pipelines', 'buildkite', 'hcp-terraform'],
  ...['aws-secrets-manager', 'aws-ssm', 'gcp-secret-manager', 'azure-key-vault', 'kubernetes'],
  ...[
    'slack',
    'microsoft-teams',
    'discord',
    'google-chat',
    'mattermost',
    'telegram',
    'pagerduty',
    'opsgenie',
    'webhook',
    'email',
  ],
];

class Problem extends Error {}

/**
 * The shell's value takes precedence, even an empty one. An empty value means the default, except for the two
 * secrets, which have none.
 * @param {Variables} env the shell's variables
 * @param {Variables} devVars those of .dev.vars
 * @returns {{ settings: Settings, problem?: undefined } | { problem: string, settings?: undefined }}
 */
export function readSettings(env, devVars) {
  const given = (name) => env[name] ?? devVars[name] ?? '';
  try {
    const port = readPort(given('PORT') || '8787');
    const host = readHost(given('HOST') || '127.0.0.1');
    const worker = {
      MASTER_KEYS: readMasterKeys(given('MASTER_KEYS')),
      BOOTSTRAP_TOKEN: readBootstrapToken(given('BOOTSTRAP_TOKEN')),
      ALLOW_PRIVATE_TARGETS: readSwitch('ALLOW_PRIVATE_TARGETS', given('ALLOW_PRIVATE_TARGETS')),
      PLATFORM_BASE_URLS: readPlatformBaseUrls(given('PLATFORM_BASE_URLS')),
      METRICS_TOKEN: readMetricsToken(given('METRICS_TOKEN')),
      DNS_OVER_HTTPS_URL: readResolver(given('DNS_OVER_HTTPS_URL')),
      PUBLIC_URL: readPublicUrl(given('PUBLIC_URL') || originAt(host, port)),
    };
    if (worker.ALLOW_PRIVATE_TARGETS === 'true' && !isLoopback(new URL(worker.PUBLIC_URL).hostname)) {
      throw new Problem(
        'ALLOW_PRIVATE_TARGETS is only for development: unset it, or set PUBLIC_URL to an address of this machine, such as http://localhost:8787',
      );
    }
    return {
      settings: { host, port, stateDir: given('STATE_DIR') || path.join('.wrangler', 'state'), worker },
    };
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message };
    throw error;
  }
}

function readPort(text) {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535)
    throw new Problem('PORT is not a port: set it to an integer from 1 to 65535, or unset it for 8787');
  return port;
}

function readHost(text) {
  // A zone (`fe80::1%eth0`) is not valid in a URL.
  if (net.isIP(text) === 0 || text.includes('%'))
    throw new Problem(
      'HOST is not an IP address: set it to one of this machine, such as 0.0.0.0 for all, or unset it for 127.0.0.1',
    );
  return text;
}

/** The address at which this machine reaches a service that listens on `host`. @param {string} host */
export const reachedAt = (host) => ({ '0.0.0.0': '127.0.0.1', '::': '::1' })[host] ?? host;

/**
 * The origin at which this machine reaches a service that listens on `host`.
 * @param {string} host
 * @param {number | string} port
 */
export function originAt(host, port) {
  const address = reachedAt(host);
  if (address === '127.0.0.1' || address === '::1') return `http://localhost:${port}`;
  return `http://${net.isIPv6(address) ? `[${address}]` : address}:${port}`;
}

/** Whether only this machine can reach an address. @param {string} host */
export const isLocalHost = (host) => /^127\./.test(host) || host === '::1';

function readMasterKeys(text) {
  const make = 'MASTER_KEYS=k1:$(openssl rand -base64 32) creates one';
  if (text === '') {
    throw new Problem(
      `MASTER_KEYS is missing: set it, or add it to .dev.vars, with the keys that this vault was created with; for a new vault, ${make}`,
    );
  }
  const ids = new Set();
  text.split(',').forEach((entry, at) => {
    const [, id, key] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry) ?? [];
    // Base64 of 32 bytes has two spare bits: only zero is accepted for them, so that a key has one form.
    if (!id || Buffer.from(key, 'base64').toString('base64') !== key) {
      throw new Problem(
        `MASTER_KEYS is malformed at key ${at + 1}: write comma-separated id:base64, each of exactly 32 bytes, the current one first; put back the list that this vault was created with; for a new vault, ${make}`,
      );
    }
    if (ids.has(id))
      throw new Problem(`MASTER_KEYS has the id of key ${at + 1} twice: give each key a unique id`);
    ids.add(id);
  });
  return text;
}

function readBootstrapToken(text) {
  if (text === '')
    throw new Problem(
      'BOOTSTRAP_TOKEN is missing: set it, or add it to .dev.vars; BOOTSTRAP_TOKEN=$(openssl rand -hex 32) creates one',
    );
  if (!/^[\x21-\x7e]{32,}$/.test(text)) {
    throw new Problem(
      'BOOTSTRAP_TOKEN is too weak or unusable in a header: set it to 32 or more printable ASCII characters without spaces; openssl rand -hex 32 creates one',
    );
  }
  return text;
}

function readMetricsToken(text) {
  if (text !== '' && !/^[\x21-\x7e]{32,}$/.test(text)) {
    throw new Problem(
      'METRICS_TOKEN is too weak or unusable in a header: set it to 32 or more printable ASCII characters without spaces, or unset it for no /metrics; openssl rand -hex 32 creates one',
    );
  }
  return text;
}

/** Only its form: the Worker checks that the resolver may be reached. */
function readResolver(text) {
  if (text !== '' && (!/^https?:\/\/[^\s\\#@]+$/.test(text) || !URL.canParse(text))) {
    throw new Problem(
      'DNS_OVER_HTTPS_URL is not the URL of a resolver: set it to one such as https://dns.example.com/dns-query, or unset it for the default',
    );
  }
  return text;
}

function readSwitch(name, text) {
  if (!['', 'true', 'false'].includes(text))
    throw new Problem(`${name} is neither true nor false: set it to one of them, or unset it for false`);
  return text;
}

function readPlatformBaseUrls(text) {
  if (text === '') return text;
  let given;
  try {
    given = JSON.parse(text);
  } catch {}
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    throw new Problem(
      'PLATFORM_BASE_URLS is not a JSON object: write it as {"vercel":"http://localhost:9000"}, or unset it',
    );
  }
  for (const [platform, url] of Object.entries(given)) {
    if (!PLATFORMS.includes(platform))
      throw new Problem(`PLATFORM_BASE_URLS names an unknown platform: use only ${PLATFORMS.join(', ')}`);
    if (typeof url !== 'string' || !plainUrl(url)) {
      throw new Problem(
        `PLATFORM_BASE_URLS has no usable URL for ${platform}: set it to an http or https URL without credentials, query or fragment`,
      );
    }
  }
  return text;
}

function readPublicUrl(text) {
  const url = plainUrl(text);
  if (url?.pathname !== '/') {
    throw new Problem(
      'PUBLIC_URL is not an origin: set it to only scheme, host and port, such as https://vault.example.com, or unset it for the address that npm start listens on',
    );
  }
  return url.origin;
}

/**
 * The URL parser accepts too much (spaces, backslashes, `http:host`, a bare `?`): a URL that it would have to
 * repair is refused.
 */
function plainUrl(text) {
  const url = /^https?:\/\/[^\s\\?#]+$/i.test(text) ? URL.parse(text) : null;
  return url && !url.username && !url.password ? url : null;
}

export const isLoopback = (hostname) => /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname);
