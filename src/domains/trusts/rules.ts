// What a trust may accept. Pure. Invariant: a trust names the workload that it accepts; a trust that would accept every account of a shared
// platform is refused.
import { globsOf } from '../../auth/trusts';
import type { Claims } from '../../db/trusts';

/** Claims that name a workload or its owner on some platform. */
const NAMING = new Set([
  ...['sub', 'email', 'azp', 'appid', 'oid', 'client_id'],
  ...['repository', 'repository_id', 'repository_owner', 'repository_owner_id', 'job_workflow_ref', 'workflow_ref'],
  ...['project_path', 'project_id', 'namespace_path', 'namespace_id', 'ci_config_ref_uri'],
  ...['oidc.circleci.com/project-id', 'owner_id', 'owner', 'project', 'app_id', 'app_name', 'org_id', 'org_name', 'machine_id'],
]);

/** Claims that have their own fields in a trust, or say nothing about the workload. */
const RESERVED = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** Whether a glob has more than wildcards. */
const isSpecific = (glob: string) => /[^*?]/.test(glob);

/** A first path segment without wildcards: the owner on a shared platform. */
const OWNED = /^[^*?/]+\//;
const WHOLE = /^[^*?]+$/;

/** Issuers that sign tokens for every account of their platform, and the claims that tell accounts apart. */
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

/** What is wrong with the claims of a trust, worded to follow the field's name; null if nothing is. */
export function problemOf(claims: Claims): { claim: string | null; problem: string } | null {
  const reserved = Object.keys(claims).find((claim) => RESERVED.has(claim));
  if (reserved !== undefined) return { claim: reserved, problem: 'is not allowed here: use issuer and audiences' };
  const isNamed = (claim: string) => globsOf(claims[claim] as string | string[]).every(isSpecific);
  const naming = Object.keys(claims).filter((claim) => NAMING.has(claim));
  // Of any other claim, and beside one that names the workload, * says that the token must have it.
  const wild = Object.hasOwn(claims, 'sub') ? ['sub'] : naming;
  // safety: trust-names-workload
  if (wild.length && !wild.some(isNamed)) return { claim: wild[0] as string, problem: 'must not consist only of wildcards' };
  if (naming.length) return null;
  return { claim: null, problem: 'must contain sub, or another claim that names the workload, such as repository or project_path' };
}

/** The same for the claims that an issuer of many accounts needs. */
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
