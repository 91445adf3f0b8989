// Which claims of an issuer's tokens name the caller: the workload that got the token. Pure. Invariant: a
// trust names a caller in at least one of these claims; where one issuer serves many customers, the part that
// names the customer has no wildcard. Claims that name something else count for nothing: the workflow that is
// called (`job_workflow_ref`), a client that anybody can sign in at (`azp`), a branch.
import type { Claims } from '../../db/trusts';

/** Claims that name the caller, each with the form of its globs. */
type Callers = Record<string, RegExp>;

export interface KnownIssuer {
  name: string;
  /** Issuers that this row applies to. Where a customer has an issuer of its own, that names the customer. */
  issuer: RegExp;
  callers: Callers;
}

/** A text without wildcards. */
const WHOLE = /^[^*?]+$/;
/** More than wildcards: enough where the issuer serves one customer. */
const SPECIFIC = /[^*?]/;
/** A first path segment without wildcards: the owner. */
const OWNED = /^[^*?/]+\//;

const each = (form: RegExp, ...claims: string[]): Callers =>
  Object.fromEntries(claims.map((claim) => [claim, form]));

export const GOOGLE = /^https:\/\/accounts\.google\.com$/;

/** Known issuers. The table in docs/guides/workload-identity.md says the same. */
export const issuers: readonly KnownIssuer[] = [
  {
    // Also an enterprise's own issuer, ghe.com and GitHub Enterprise Server.
    name: 'GitHub Actions',
    issuer:
      /^https:\/\/(token\.actions\.(githubusercontent\.com(\/[^/]+)?|[a-z0-9-]+\.ghe\.com)|[^/]+\/_services\/token)$/,
    callers: {
      sub: /^(repo:[^*?/]+\/|(repository_owner|repository_owner_id|repository_id):[^*?:]+(:|$))/,
      ...each(OWNED, 'repository', 'workflow_ref'),
      ...each(WHOLE, 'repository_id', 'repository_owner', 'repository_owner_id'),
    },
  },
  {
    name: 'GitLab.com',
    issuer: /^https:\/\/gitlab\.com$/,
    callers: {
      sub: /^project_path:[^*?/]+\//,
      project_path: OWNED,
      namespace_path: /^[^*?/]+(\/|$)/,
      ...each(WHOLE, 'project_id', 'namespace_id'),
    },
  },
  { name: 'Google', issuer: GOOGLE, callers: each(WHOLE, 'sub', 'email') },
  {
    name: 'Google Cloud Attestation',
    issuer: /^https:\/\/confidentialcomputing\.googleapis\.com$/,
    callers: {
      sub: /^https:\/\/www\.googleapis\.com\/compute\/v1\/projects\/[^*?/]+\//,
      google_service_accounts: WHOLE,
    },
  },
  {
    // Codeberg serves many; an instance of one's own is treated alike.
    name: 'Forgejo Actions',
    issuer: /^https:\/\/[^?#]+\/api\/actions$/,
    callers: {
      sub: /^repo:[^*?/]+\//,
      ...each(OWNED, 'repository', 'workflow_ref'),
      ...each(WHOLE, 'repository_id', 'repository_owner', 'repository_owner_id'),
    },
  },
  {
    name: 'Depot CI',
    issuer: /^https:\/\/identity\.depot\.dev$/,
    callers: {
      sub: /^spiffe:\/\/identity\.depot\.dev\/org\/[^*?/]+\//,
      ...each(OWNED, 'repository', 'workflow_ref'),
      ...each(WHOLE, 'org_id', 'repository_id', 'repository_owner', 'repository_owner_id'),
    },
  },
  {
    name: 'Buildkite',
    issuer: /^https:\/\/agent\.buildkite\.com$/,
    callers: {
      sub: /^(organization:[^*?:]+:|[0-9a-f-]{36}$)/,
      ...each(WHOLE, 'organization_slug', 'organization_id', 'pipeline_id'),
    },
  },
  {
    name: 'CircleCI',
    issuer: /^https:\/\/oidc\.circleci\.com(\/org\/[^/]+)?$/,
    callers: { sub: /^org\/[^*?/]+\//, 'oidc.circleci.com/project-id': WHOLE },
  },
  {
    name: 'Codefresh',
    issuer: /^https:\/\/oidc\.codefresh\.io$/,
    callers: { sub: /^account:[^*?:]+:/, ...each(WHOLE, 'account_id', 'pipeline_id') },
  },
  {
    name: 'HCP Terraform',
    issuer: /^https:\/\/app\.(eu\.)?terraform\.io$/,
    callers: {
      sub: /^organization:[^*?:]+:/,
      ...each(
        WHOLE,
        'terraform_organization_id',
        'terraform_organization_name',
        'terraform_project_id',
        'terraform_workspace_id',
      ),
    },
  },
  {
    name: 'Pulumi Cloud',
    issuer: /^https:\/\/api\.pulumi\.com\/oidc$/,
    callers: { sub: /^pulumi:(deploy:org|environments:(org|pulumi\.organization\.login)):[^*?:]+(:|$)/ },
  },
  {
    name: 'Pulumi Cloud, version 2',
    issuer: /^https:\/\/api\.pulumi\.com\/oidc\/v2$/,
    callers: each(WHOLE, 'sub', 'https://pulumi.com/org', 'https://pulumi.com/org_id'),
  },
  {
    name: 'Modal',
    issuer: /^https:\/\/oidc\.modal\.com$/,
    callers: { sub: /^modal:workspace_id:[^*?:]+:/, ...each(WHOLE, 'workspace_id', 'app_id', 'function_id') },
  },
  {
    name: 'Gitpod, Ona',
    issuer: /^https:\/\/([a-z0-9-]+\.)?(gitpod\.io|ona\.com)(\/.*)?$/,
    callers: { sub: /^org:[^*?/]+\// },
  },
  { name: 'Chainguard', issuer: /^https:\/\/issuer\.enforce\.dev\/?$/, callers: { sub: /^[^*?/]+(\/|$)/ } },
  {
    // The service signs alike for the user pools, identity pools and projects of everybody, and whoever signs
    // up gets a token.
    name: 'Amazon Cognito, Firebase',
    issuer:
      /^https:\/\/(cognito-identity[a-z0-9.-]*\.amazonaws\.com(\.cn)?|(issuer-)?cognito-idp\.[a-z0-9-]+\.amazonaws\.com(\.cn)?\/[^/]+|(securetoken\.google\.com|session\.firebase\.google\.com)\/[^/]+)$/,
    callers: each(WHOLE, 'sub'),
  },
  {
    // Their issuers are often a customer's own, but tokens of people and of all applications come from one.
    name: 'Auth0, Okta, env zero',
    issuer:
      /^https:\/\/([a-z0-9-]+(\.[a-z0-9-]+)?\.auth0\.com\/?|[a-z0-9-]+\.okta(preview|-emea)?\.com(\/oauth2\/[^/]+)?|login\.app\.env0\.com\/?)$/,
    callers: each(WHOLE, 'sub'),
  },
  {
    name: 'Sign-in of people: Apple, Facebook, GitHub, Hugging Face, LinkedIn, Salesforce, Sigstore, Slack',
    issuer:
      /^https:\/\/(appleid\.apple\.com|www\.facebook\.com|github\.com\/login\/oauth|huggingface\.co|www\.linkedin\.com(\/oauth)?|(login|test)\.salesforce\.com|oauth2\.sigstore\.dev\/auth|slack\.com)$/,
    callers: each(WHOLE, 'sub'),
  },
  {
    name: 'Vercel, issuer mode Global',
    issuer: /^https:\/\/oidc\.vercel\.com$/,
    callers: { sub: /^owner:[^*?:]+:/, ...each(WHOLE, 'owner', 'owner_id', 'project_id') },
  },
  {
    name: 'Vercel, issuer mode Team',
    issuer: /^https:\/\/oidc\.vercel\.com\/[^/]+$/,
    callers: each(SPECIFIC, 'sub', 'owner', 'owner_id', 'project', 'project_id'),
  },
  {
    name: 'Bitbucket Pipelines',
    issuer: /^https:\/\/api\.bitbucket\.org\/2\.0\/workspaces\/[^/]+\/pipelines-config\/identity\/oidc$/,
    callers: each(SPECIFIC, 'sub', 'repositoryUuid', 'workspaceUuid'),
  },
  {
    name: 'Azure Pipelines',
    issuer: /^https:\/\/vstoken\.dev\.azure\.com\/[^/]+$/,
    callers: each(SPECIFIC, 'sub', 'prj_id'),
  },
  {
    name: 'Microsoft Entra',
    issuer:
      /^https:\/\/((login\.microsoftonline\.(com|us)|login\.partner\.microsoftonline\.cn|[a-z0-9-]+\.ciamlogin\.com|[a-z0-9-]+\.b2clogin\.com)\/[^/]+\/v2\.0\/?|(sts\.windows\.net|sts\.chinacloudapi\.cn)\/[^/]+\/?)$/,
    callers: each(WHOLE, 'sub', 'oid'),
  },
  {
    name: 'Fly',
    issuer: /^https:\/\/oidc\.fly\.io\/[^/]+$/,
    callers: each(SPECIFIC, 'sub', 'app_id', 'app_name', 'machine_id', 'org_id', 'org_name'),
  },
  // Of the account that runs the service. The name is whatever the Worker's configuration says.
  {
    name: 'Cloudflare service bindings',
    issuer: /^cloudflare:service-binding$/,
    callers: each(SPECIFIC, 'name'),
  },
  {
    name: 'Kubernetes',
    issuer:
      /^https:\/\/(kubernetes\.default\.svc(\.[a-z0-9.-]+)?|oidc\.eks\.[^/]+\/id\/[^/]+|container\.googleapis\.com\/v1\/projects\/.+|[a-z0-9.-]+\.prod-aks\.azure\.com\/.+)$/,
    callers: each(SPECIFIC, 'sub'),
  },
];

/** Any other issuer: claims that name a workload or its owner on some platform. */
const OTHERS: Callers = each(
  SPECIFIC,
  ...[
    'sub',
    'email',
    'oid',
    'repository',
    'repository_id',
    'repository_owner',
    'repository_owner_id',
    'workflow_ref',
  ],
  ...[
    'project_path',
    'project_id',
    'namespace_path',
    'namespace_id',
    'owner_id',
    'owner',
    'project',
    'app_id',
    'app_name',
  ],
  ...['org_id', 'org_name', 'machine_id'],
);

/** All claims that name callers somewhere. */
export const callerClaims: ReadonlySet<string> = new Set(
  [OTHERS, ...issuers.map(({ callers }) => callers)].flatMap(Object.keys),
);

/** The globs of a claim, which are one or a list. */
export const globsOf = (globs: string | string[]): string[] => (typeof globs === 'string' ? [globs] : globs);

const isKnown = (issuer: string): boolean => issuers.some((row) => row.issuer.test(issuer));

/**
 * Another spelling of the same address: host in lower case, without the default port, dot segments and final
 * dots or slashes.
 */
function plainSpelling(issuer: string): string | null {
  const url = URL.parse(issuer);
  return (
    url &&
    `${url.protocol}//${url.hostname.replace(/\.+$/, '')}${url.port && `:${url.port}`}${url.pathname.replace(/\/+$/, '')}`
  );
}

/**
 * What is wrong with the spelling of an issuer; null if nothing is. The tokens of a known issuer have one
 * spelling: with another the trust would accept none of them, and its claims would not be judged by that
 * issuer.
 */
export function spellingProblem(issuer: string): string | null {
  const plain = plainSpelling(issuer);
  // safety: known-issuer-as-spelled
  return plain !== null && !isKnown(issuer) && isKnown(plain)
    ? `must be ${plain}, as in the iss claim of its tokens`
    : null;
}

/**
 * What is wrong with the claims of a trust in this issuer, worded to follow the field's name; null if they
 * name a caller.
 */
export function callerProblem(issuer: string, claims: Claims): string | null {
  const known = issuers.find((row) => row.issuer.test(issuer));
  const callers = known?.callers ?? OTHERS;
  const isNamed = Object.entries(callers).some(
    ([claim, form]) =>
      Object.hasOwn(claims, claim) &&
      globsOf(claims[claim] as string | string[]).every((glob) => form.test(glob)),
  );
  // safety: trust-names-caller
  if (isNamed) return null;
  const names = Object.keys(callers).join(', ');
  return known
    ? `must name the caller in one of ${names}, and its account without wildcards: other claims of ${known.name} do not say whose workload it is`
    : `must name the caller in one of ${names}, by more than wildcards`;
}
