// Finds the OIDC token that a platform gives to a job or a workload. Invariant: tokens come from where the platform documents them, and go
// into no error and no log.
import { CredentialError } from './errors.js';

type Variables = Record<string, string | undefined>;

/** The variables of the process, where there is one. */
const variablesOf = (): Variables => (globalThis as { process?: { env?: Variables } }).process?.env ?? {};

/**
 * The OIDC token of the platform that this process runs on.
 * @param audience who the token is for, on platforms that ask
 */
export async function platformToken(audience: string, env: Variables = variablesOf()): Promise<string> {
  // Set by hand: GitLab's id_tokens and Buildkite's request-token end here, and so does a projected file of Kubernetes.
  if (env.SVC_ID_TOKEN) return env.SVC_ID_TOKEN;
  if (env.SVC_ID_TOKEN_FILE) return fileToken(env.SVC_ID_TOKEN_FILE);
  if (env.ACTIONS_ID_TOKEN_REQUEST_URL && env.ACTIONS_ID_TOKEN_REQUEST_TOKEN)
    return githubToken(env.ACTIONS_ID_TOKEN_REQUEST_URL, env.ACTIONS_ID_TOKEN_REQUEST_TOKEN, audience);
  if (env.GITHUB_ACTIONS) throw none('GitHub Actions gives none to this job: add `permissions: { id-token: write }` to it.');
  const own = env.CIRCLE_OIDC_TOKEN_V2 ?? env.BITBUCKET_STEP_OIDC_TOKEN ?? env.VERCEL_OIDC_TOKEN;
  if (own) return own;
  if (env.GITLAB_CI) throw none('GitLab gives none to this job: add `id_tokens: { SVC_ID_TOKEN: { aud: … } }` to it.');
  // Cloud Run, its jobs, and Cloud Functions.
  if (env.K_SERVICE || env.CLOUD_RUN_JOB) return googleToken(audience, env.GCE_METADATA_HOST);
  throw none('Set SVC_ID_TOKEN or SVC_ID_TOKEN_FILE, or pass a function as oidc.');
}

const none = (why: string) => new CredentialError(`No OIDC token was found. ${why}`, { code: 'NO_CREDENTIAL', status: 0 });

/** A projected token of Kubernetes, which the kubelet renews in place: it is read anew each time. */
export async function fileToken(file: string): Promise<string> {
  const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${'fs/promises'}`);
  const text = await (readFile as (path: string, encoding: string) => Promise<string>)(file, 'utf8').catch(() => '');
  if (!text.trim()) throw none(`There is none in ${file}: is SVC_ID_TOKEN_FILE right?`);
  return text.trim();
}

/** https://docs.github.com/actions/reference/security/oidc */
async function githubToken(url: string, token: string, audience: string): Promise<string> {
  const asked = new URL(url);
  asked.searchParams.set('audience', audience);
  const answer = await fetch(asked, { headers: { Authorization: `bearer ${token}`, Accept: 'application/json; api-version=2.0' } });
  const body = (await answer.json().catch(() => null)) as { value?: string } | null;
  if (!answer.ok || !body?.value) throw none(`GitHub Actions answered ${answer.status} instead of one.`);
  return body.value;
}

/** https://cloud.google.com/compute/docs/instances/verifying-instance-identity */
async function googleToken(audience: string, host = 'metadata.google.internal'): Promise<string> {
  const at = `http://${host}/computeMetadata/v1/instance/service-accounts/default/identity?audience=${encodeURIComponent(audience)}`;
  const answer = await fetch(at, { headers: { 'Metadata-Flavor': 'Google' } });
  const token = await answer.text();
  if (!answer.ok || !token) throw none(`The metadata server answered ${answer.status} instead of one.`);
  return token.trim();
}
