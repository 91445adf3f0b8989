// Finds the OIDC token that a platform issues to a job or workload. Invariants: tokens come from the sources
// that the platform documents, and never appear in an error or a log; a platform that does not respond is an
// outage, and a platform that refuses is not.
import { ConnectionError, CredentialError } from '../api/errors.js';
import { sleep } from '../wait.js';

type Variables = Record<string, string | undefined>;

/** The environment variables of the process, on platforms that have them. */
const variablesOf = (): Variables => (globalThis as { process?: { env?: Variables } }).process?.env ?? {};

/** The socket of the Fly Machines API, inside a Machine. */
const FLY_SOCKET = '/.fly/api';
/** The time limit of one request, and the pauses before it is repeated, in milliseconds. */
const TIMEOUT = 10_000;
const PAUSES = [300, 1_000];

/**
 * The OIDC token of the platform that this process runs on.
 * @param audience the aud claim, on platforms that let a job choose it
 * @param flySocket the socket of the Fly Machines API
 */
export async function platformToken(
  audience: string,
  env: Variables = variablesOf(),
  flySocket = FLY_SOCKET,
): Promise<string> {
  // Set explicitly, for example from GitLab's id_tokens, Buildkite's request-token, or a projected token file
  // in Kubernetes.
  if (env.SVC_ID_TOKEN) return env.SVC_ID_TOKEN;
  if (env.SVC_ID_TOKEN_FILE) return fileToken(env.SVC_ID_TOKEN_FILE);
  if (env.ACTIONS_ID_TOKEN_REQUEST_URL && env.ACTIONS_ID_TOKEN_REQUEST_TOKEN)
    return githubToken(env.ACTIONS_ID_TOKEN_REQUEST_URL, env.ACTIONS_ID_TOKEN_REQUEST_TOKEN, audience);
  if (env.GITHUB_ACTIONS)
    throw none(
      'GitHub Actions does not issue one to this job: add `permissions: { id-token: write }` to the job.',
    );
  if (env.SYSTEM_OIDCREQUESTURI && env.SYSTEM_ACCESSTOKEN)
    return azureToken(env.SYSTEM_OIDCREQUESTURI, env.SYSTEM_ACCESSTOKEN);
  if (env.TF_BUILD)
    throw none(
      'Azure Pipelines does not issue one to this step: add `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` to its env.',
    );
  const own =
    env.CIRCLE_OIDC_TOKEN_V2 ??
    env.CIRCLE_OIDC_TOKEN ??
    env.BITBUCKET_STEP_OIDC_TOKEN ??
    vercelToken() ??
    env.VERCEL_OIDC_TOKEN;
  if (own) return own;
  if (env.GITLAB_CI)
    throw none(
      'GitLab does not issue one to this job: add `id_tokens: { SVC_ID_TOKEN: { aud: … } }` to the job.',
    );
  if (env.FLY_APP_NAME) return flyToken(audience, flySocket);
  // Cloud Run services and jobs, Cloud Functions and App Engine. Elsewhere on Google Cloud, GCE_METADATA_HOST
  // selects the metadata server.
  if (env.K_SERVICE || env.CLOUD_RUN_JOB || env.GAE_SERVICE || env.GCE_METADATA_HOST)
    return googleToken(audience, env.GCE_METADATA_HOST);
  throw none('Set SVC_ID_TOKEN or SVC_ID_TOKEN_FILE, or pass a function as oidc.');
}

const none = (why: string) =>
  new CredentialError(`No OIDC token was found. ${why}`, { code: 'NO_CREDENTIAL', status: 0 });

interface Reply {
  status: number;
  text: string;
}

/**
 * The body of a platform's response. Repeats the request while the platform does not respond or responds with
 * 429 or 5xx.
 */
async function bodyFrom(platform: string, send: (signal: AbortSignal) => Promise<Reply>): Promise<string> {
  for (const pause of [...PAUSES, null]) {
    const reply = await send(AbortSignal.timeout(TIMEOUT)).catch(() => null);
    if (reply && reply.status < 300 && reply.text) return reply.text;
    if (reply && reply.status < 500 && reply.status !== 429)
      throw none(`${platform} responded with status ${reply.status}.`);
    if (pause !== null) await sleep(pause);
  }
  const message = `${platform} did not respond to the request for an OIDC token.`;
  throw new ConnectionError(message, { code: 'PLATFORM_UNREACHABLE', status: 0 });
}

/** The same over HTTP. It follows no redirect, because the request can contain a token. */
const fetchFrom = (platform: string, url: string | URL, init: RequestInit): Promise<string> =>
  bodyFrom(platform, async (signal) => {
    const response = await fetch(url, { ...init, redirect: 'manual', signal });
    return { status: response.status, text: await response.text() };
  });

/** A field of a JSON body. */
function tokenIn(platform: string, body: string, field: string): string {
  let token: unknown;
  try {
    token = (JSON.parse(body) as Record<string, unknown>)[field];
  } catch {
    // The error below says it.
  }
  if (typeof token !== 'string' || !token) throw none(`${platform} responded without ${field}.`);
  return token;
}

/**
 * A module of Node.js, loaded when it is needed: browsers and Workers do not have it, and bundlers must not
 * look for it.
 */
// biome-ignore lint/suspicious/noExplicitAny: the package has no types of Node.js.
const nodeModule = (name: string): Promise<any> =>
  import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);

/** A projected token of Kubernetes. It is read each time, because the kubelet renews it in place. */
export async function fileToken(file: string): Promise<string> {
  const { readFile } = (await nodeModule('fs/promises')) as {
    readFile(path: string, encoding: string): Promise<string>;
  };
  const text = await readFile(file, 'utf8').catch(() => '');
  if (!text.trim()) throw none(`The file ${file} is missing or empty: check SVC_ID_TOKEN_FILE.`);
  return text.trim();
}

/** https://docs.github.com/actions/reference/security/oidc */
async function githubToken(url: string, token: string, audience: string): Promise<string> {
  const platform = 'GitHub Actions';
  const request = new URL(url);
  request.searchParams.set('audience', audience);
  const headers = { Authorization: `bearer ${token}`, Accept: 'application/json; api-version=2.0' };
  return tokenIn(platform, await fetchFrom(platform, request, { headers }), 'value');
}

/**
 * https://learn.microsoft.com/rest/api/azure/devops/distributedtask/oidctoken/create. The audience is always
 * api://AzureADTokenExchange.
 */
async function azureToken(url: string, token: string): Promise<string> {
  const platform = 'Azure Pipelines';
  const request = new URL(url);
  request.searchParams.set('api-version', '7.1-preview.1');
  // The last header makes a refusal a 401 and not a redirect to a sign-in page.
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'X-TFS-FedAuthRedirect': 'Suppress',
  };
  return tokenIn(platform, await fetchFrom(platform, request, { method: 'POST', headers }), 'oidcToken');
}

type VercelContext = { get?(): { headers?: Variables } | undefined };

/** The token of the request that a Vercel function handles: https://vercel.com/docs/oidc */
function vercelToken(): string | undefined {
  const context = (globalThis as Record<symbol, unknown>)[Symbol.for('@vercel/request-context')] as
    | VercelContext
    | undefined;
  return context?.get?.()?.headers?.['x-vercel-oidc-token'];
}

/** A response of node:http, as far as it is used here: the package has no types of Node.js. */
interface NodeResponse {
  statusCode: number;
  setEncoding(encoding: string): AsyncIterable<string>;
}

/**
 * https://fly.io/docs/security/openid-connect: the Machines API on a Unix socket responds with the token as
 * text.
 */
async function flyToken(audience: string, socketPath: string): Promise<string> {
  const { request } = await nodeModule('http');
  const send = (signal: AbortSignal) =>
    new Promise<Reply>((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json' };
      const options = { socketPath, method: 'POST', path: '/v1/tokens/oidc', headers, signal };
      const sent = request(options, (response: NodeResponse) => {
        const read = async () => {
          let text = '';
          for await (const part of response.setEncoding('utf8')) text += part;
          return { status: response.statusCode, text: text.trim() };
        };
        read().then(resolve, reject);
      });
      sent.on('error', reject).end(JSON.stringify({ aud: audience }));
    });
  return bodyFrom('Fly', send);
}

/** https://cloud.google.com/compute/docs/instances/verifying-instance-identity */
async function googleToken(audience: string, host = 'metadata.google.internal'): Promise<string> {
  const at = `http://${host}/computeMetadata/v1/instance/service-accounts/default/identity?audience=${encodeURIComponent(audience)}`;
  return (await fetchFrom('The metadata server', at, { headers: { 'Metadata-Flavor': 'Google' } })).trim();
}
