// Finds the OIDC token that a platform issues to a job or workload. Invariant: tokens come from the sources that the platform documents, and
// never appear in an error or a log.
import { CredentialError } from './errors.js';

type Variables = Record<string, string | undefined>;

/** The environment variables of the process, on platforms that have them. */
const variablesOf = (): Variables => (globalThis as { process?: { env?: Variables } }).process?.env ?? {};

/**
 * The OIDC token of the platform that this process runs on.
 * @param audience the aud claim, on platforms that let a job choose it
 */
export async function platformToken(audience: string, env: Variables = variablesOf()): Promise<string> {
  // Set explicitly, for example from GitLab's id_tokens, Buildkite's request-token, or a projected token file in Kubernetes.
  if (env.SVC_ID_TOKEN) return env.SVC_ID_TOKEN;
  if (env.SVC_ID_TOKEN_FILE) return fileToken(env.SVC_ID_TOKEN_FILE);
  if (env.ACTIONS_ID_TOKEN_REQUEST_URL && env.ACTIONS_ID_TOKEN_REQUEST_TOKEN)
    return githubToken(env.ACTIONS_ID_TOKEN_REQUEST_URL, env.ACTIONS_ID_TOKEN_REQUEST_TOKEN, audience);
  if (env.GITHUB_ACTIONS) throw none('GitHub Actions does not issue one to this job: add `permissions: { id-token: write }` to the job.');
  const own = env.CIRCLE_OIDC_TOKEN_V2 ?? env.BITBUCKET_STEP_OIDC_TOKEN ?? env.VERCEL_OIDC_TOKEN;
  if (own) return own;
  if (env.GITLAB_CI) throw none('GitLab does not issue one to this job: add `id_tokens: { SVC_ID_TOKEN: { aud: … } }` to the job.');
  // Cloud Run services and jobs, and Cloud Functions.
  if (env.K_SERVICE || env.CLOUD_RUN_JOB) return googleToken(audience, env.GCE_METADATA_HOST);
  throw none('Set SVC_ID_TOKEN or SVC_ID_TOKEN_FILE, or pass a function as oidc.');
}

const none = (why: string) => new CredentialError(`No OIDC token was found. ${why}`, { code: 'NO_CREDENTIAL', status: 0 });

/** A projected token of Kubernetes. It is read each time, because the kubelet renews it in place. */
export async function fileToken(file: string): Promise<string> {
  const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${'fs/promises'}`);
  const text = await (readFile as (path: string, encoding: string) => Promise<string>)(file, 'utf8').catch(() => '');
  if (!text.trim()) throw none(`The file ${file} is missing or empty: check SVC_ID_TOKEN_FILE.`);
  return text.trim();
}

/** https://docs.github.com/actions/reference/security/oidc */
async function githubToken(url: string, token: string, audience: string): Promise<string> {
  const asked = new URL(url);
  asked.searchParams.set('audience', audience);
  const answer = await fetch(asked, { headers: { Authorization: `bearer ${token}`, Accept: 'application/json; api-version=2.0' } });
  const body = (await answer.json().catch(() => null)) as { value?: string } | null;
  if (!answer.ok || !body?.value) throw none(`GitHub Actions responded with status ${answer.status}.`);
  return body.value;
}

/** https://cloud.google.com/compute/docs/instances/verifying-instance-identity */
async function googleToken(audience: string, host = 'metadata.google.internal'): Promise<string> {
  const at = `http://${host}/computeMetadata/v1/instance/service-accounts/default/identity?audience=${encodeURIComponent(audience)}`;
  const answer = await fetch(at, { headers: { 'Metadata-Flavor': 'Google' } });
  const token = await answer.text();
  if (!answer.ok || !token) throw none(`The metadata server responded with status ${answer.status}.`);
  return token.trim();
}
