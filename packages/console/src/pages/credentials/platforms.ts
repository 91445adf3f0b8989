// Platforms whose jobs have an identity: the issuer, and the claims that identify a job. The same as in the
// guide on workload identity.
import type { components } from '@secrets-vault/client';

export type Claims = components['schemas']['TrustIn']['claims'];

/** The issuer of trusts that Workers use by a binding. */
export const BINDING = 'cloudflare:service-binding';

interface Field {
  id: string;
  label: string;
  placeholder: string;
  hint?: string;
}

export interface Platform {
  id: string;
  label: string;
  /** The issuer, or its prefix. */
  issuer: string;
  fields: Field[];
  claims: (values: Record<string, string>) => Record<string, string | string[]>;
  /** The audiences, if they differ from this deployment. */
  audiences?: (values: Record<string, string>) => string[];
  /** The issuer, if the values are part of it. */
  issuerOf?: (values: Record<string, string>) => string;
  /** Whether it is Workers of this deployment's own account, which show no token. */
  isBinding?: true;
  /** Whether its keys are usually not public and must be entered. */
  hasOwnKeys?: boolean;
}

export const platforms: Platform[] = [
  {
    id: 'github',
    label: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    fields: [
      { id: 'repository', label: 'Repository', placeholder: 'acme/app' },
      { id: 'branch', label: 'Branch', placeholder: 'main' },
      {
        id: 'owner',
        label: 'Owner ID',
        placeholder: '65',
        hint: 'The id at api.github.com/users/OWNER. It excludes a future owner of the same name.',
      },
    ],
    claims: ({ repository = '', branch = '', owner = '' }) => ({
      repository,
      repository_owner_id: owner,
      ref: `refs/heads/${branch}`,
      event_name: ['push', 'workflow_dispatch'],
    }),
  },
  {
    id: 'gitlab',
    label: 'GitLab CI',
    issuer: 'https://gitlab.com',
    fields: [
      {
        id: 'project',
        label: 'Project ID',
        placeholder: '20',
        hint: 'Shown at the top of the project’s settings.',
      },
      { id: 'branch', label: 'Protected branch', placeholder: 'main' },
    ],
    claims: ({ project = '', branch = '' }) => ({
      project_id: project,
      ref: branch,
      ref_type: 'branch',
      ref_protected: 'true',
    }),
  },
  {
    id: 'circleci',
    label: 'CircleCI',
    issuer: 'https://oidc.circleci.com/org/',
    fields: [
      { id: 'org', label: 'Organisation ID', placeholder: '1b1f8e1c-6c0b-4a3f-9d5c-0a5b8c7d6e5f' },
      { id: 'project', label: 'Project ID', placeholder: '8d6a3b2c-1f0e-4d9c-8b7a-6f5e4d3c2b1a' },
      { id: 'branch', label: 'Branch', placeholder: 'main' },
    ],
    issuerOf: ({ org = '' }) => `https://oidc.circleci.com/org/${org}`,
    audiences: ({ org = '' }) => [org],
    claims: ({ project = '', branch = '' }) => ({
      'oidc.circleci.com/project-id': project,
      'oidc.circleci.com/vcs-ref': `refs/heads/${branch}`,
      'oidc.circleci.com/ssh-rerun': 'false',
    }),
  },
  {
    id: 'kubernetes',
    label: 'Kubernetes',
    issuer: 'https://kubernetes.default.svc.cluster.local',
    fields: [
      { id: 'namespace', label: 'Namespace', placeholder: 'shop' },
      { id: 'account', label: 'Service account', placeholder: 'api' },
    ],
    claims: ({ namespace = '', account = '' }) => ({ sub: `system:serviceaccount:${namespace}:${account}` }),
    hasOwnKeys: true,
  },
  {
    id: 'google',
    label: 'Google Cloud',
    issuer: 'https://accounts.google.com',
    fields: [{ id: 'sub', label: 'Unique ID of the service account', placeholder: '107517467455664443766' }],
    claims: ({ sub = '' }) => ({ sub }),
  },
  {
    id: 'cloudflare',
    label: 'Cloudflare Workers',
    issuer: BINDING,
    isBinding: true,
    fields: [
      {
        id: 'name',
        label: 'Workers',
        placeholder: 'billing',
        hint: 'The names in their bindings. Patterns may use * and ?. Separate several with commas.',
      },
    ],
    issuerOf: () => BINDING,
    claims: ({ name = '' }) => ({
      name: name.includes(',') ? name.split(',').map((each) => each.trim()) : name,
    }),
  },
  { id: 'other', label: 'Other issuer', issuer: '', fields: [], claims: () => ({}), hasOwnKeys: true },
];

/** Claims as lines `claim: pattern`; a claim with several patterns has several lines. */
export const claimLines = (claims: Record<string, string | string[]>): string =>
  Object.entries(claims)
    .flatMap(([claim, patterns]) => [patterns].flat().map((pattern) => `${claim}: ${pattern}`))
    .join('\n');

/** The claims from such lines. */
export function claimsOf(lines: string): Record<string, string | string[]> {
  const claims = new Map<string, string[]>();
  for (const line of lines.split('\n').filter((each) => each.trim())) {
    const at = line.indexOf(': ');
    const claim = (at < 0 ? line : line.slice(0, at)).trim();
    claims.set(claim, [...(claims.get(claim) ?? []), at < 0 ? '' : line.slice(at + 2).trim()]);
  }
  return Object.fromEntries(
    [...claims].map(([claim, patterns]) => [claim, patterns.length === 1 ? (patterns[0] ?? '') : patterns]),
  );
}
