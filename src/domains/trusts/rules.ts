// Which claims a trust may require. Pure. Invariant: a trust names the workload that it accepts. One that would accept every account of a platform
// is refused.
import { globsOf } from '../../auth/trusts';
import type { Claims } from '../../db/trusts';

/** Claims that name a workload, or who owns it, on some platform. */
const NAMING = new Set([
  ...['sub', 'email', 'azp', 'appid', 'oid', 'client_id'],
  ...['repository', 'repository_id', 'repository_owner', 'repository_owner_id', 'job_workflow_ref', 'workflow_ref'],
  ...['project_path', 'project_id', 'namespace_path', 'namespace_id', 'ci_config_ref_uri'],
  ...['oidc.circleci.com/project-id', 'owner_id', 'owner', 'project', 'app_id', 'app_name', 'org_id', 'org_name', 'machine_id'],
]);

/** Claims that have a field of their own in a trust, or that say nothing about the workload. */
const RESERVED = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** Whether a glob is more than wildcards. */
const isSpecific = (glob: string) => /[^*?]/.test(glob);

/** A first path segment without wildcards: the owner, on a platform with many. */
const OWNED = /^[^*?/]+\//;
const WHOLE = /^[^*?]+$/;

/** Issuers that sign tokens for every account of a platform, and the claims that tell its accounts apart. */
const SHARED: Record<string, Record<string, RegExp>> = {
  'https://token.actions.githubusercontent.com': {
    sub: /^(repo:[^*?/]+\/|repository_owner:[^*?:]+:)/,
    ...{ repository: OWNED, job_workflow_ref: OWNED, workflow_ref: OWNED },
    ...{ repository_owner: WHOLE, repository_id: WHOLE, repository_owner_id: WHOLE },
  },
  'https://gitlab.com': {
    sub: /^project_path:[^*?/]+\//,
    ...{ project_path: OWNED, namespace_path: /^[^*?/]+(\/|$)/, ci_config_ref_uri: /^gitlab\.com\/[^*?/]+\// },
    ...{ project_id: WHOLE, namespace_id: WHOLE },
  },
  'https://accounts.google.com': { sub: WHOLE, email: WHOLE, azp: WHOLE },
  'https://oidc.vercel.com': { sub: /^owner:[^*?:]+:/, owner: WHOLE, owner_id: WHOLE },
  'https://app.terraform.io': { sub: /^organization:[^*?:]+:/ },
};

/** What is wrong with the claims of a trust, in words that follow the field's name; null if nothing is. */
export function problemOf(claims: Claims): { claim: string | null; problem: string } | null {
  for (const [claim, globs] of Object.entries(claims)) {
    if (RESERVED.has(claim)) return { claim, problem: 'cannot be named here: issuer and audiences say it' };
    // safety: trust-names-workload
    if (!globsOf(globs).every(isSpecific)) return { claim, problem: 'must not consist of wildcards alone' };
  }
  if (Object.keys(claims).some((claim) => NAMING.has(claim))) return null;
  return { claim: null, problem: 'must contain sub, or another claim that names the workload, such as repository or project_path' };
}

/** The same for the claims that an issuer with many accounts requires. */
export function sharedProblem(issuer: string, claims: Claims): string | null {
  const owned = Object.hasOwn(SHARED, issuer) ? SHARED[issuer] : undefined;
  if (!owned) return null;
  const isOwned = Object.entries(owned).some(
    ([claim, form]) => Object.hasOwn(claims, claim) && globsOf(claims[claim] as string | string[]).every((glob) => form.test(glob)),
  );
  // safety: shared-issuer-owner
  return isOwned
    ? null
    : `must name the account without wildcards in one of ${Object.keys(owned).join(', ')}: this issuer signs tokens for every account of its platform`;
}
