// Issuers of workload identity: which claims name the caller, and which part of them must be literal; and
// that the guide says the same.
import { describe, expect, it } from 'vitest';
import { callerProblem, issuers, spellingProblem } from '../../../src/auth/authentication/issuers';
import { refusedBy, stillAccepts } from '../../../src/auth/authentication/trusts';
import type { CredentialRow } from '../../../src/db/schema';
import type { Claims, Trust } from '../../../src/db/trusts';

const guides = import.meta.glob<string>('../../../docs/guides/workload-identity.md', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const guide = Object.values(guides)[0] ?? '';

interface Examples {
  issuers: string[];
  accepted: Claims[];
  refused: Claims[];
}

const UUID = '1b1f8e1c-6c0b-4a3f-9d5c-0a5b8c7d6e5f';

const examples: Record<string, Examples> = {
  'GitHub Actions': {
    issuers: [
      ...['https://token.actions.githubusercontent.com', 'https://token.actions.githubusercontent.com/acme'],
      ...['https://token.actions.acme.ghe.com', 'https://github.acme.example/_services/token'],
    ],
    accepted: [
      ...[
        { sub: 'repo:acme/app:*' },
        { sub: 'repo:acme/*:environment:production' },
        { sub: ['repo:acme/a:*', 'repo:acme/b:*'] },
      ],
      ...[
        { sub: 'repository_owner:acme:*' },
        { sub: 'repository_id:74' },
        { repository: 'acme/*' },
        { repository_id: '74' },
      ],
      ...[
        { repository_owner: 'acme' },
        { repository_owner_id: '65' },
        { workflow_ref: 'acme/app/.github/workflows/*' },
      ],
      { repository: 'acme/app', job_workflow_ref: 'shared/ci/.github/workflows/deploy.yml@*' },
    ],
    refused: [
      ...[
        { job_workflow_ref: 'acme/app/.github/workflows/deploy.yml@refs/heads/main' },
        { sub: 'repo:*' },
        { sub: '*:acme/app:*' },
      ],
      ...[
        { sub: ['repo:acme/app:*', 'repo:*/app:*'] },
        { sub: 'repo:acme*/app:*' },
        { sub: 'job_workflow_ref:acme/app/x' },
      ],
      ...[
        { repository: 'acme*' },
        { repository: '*/app' },
        { repository_owner: 'acme*' },
        { repository_id: '7?' },
        { actor: 'ann' },
      ],
      ...[
        { ref: 'refs/heads/main' },
        { workflow_ref: '*/deploy.yml@refs/heads/main' },
        { environment: 'production' },
      ],
    ],
  },
  'GitLab.com': {
    issuers: ['https://gitlab.com'],
    accepted: [
      ...[
        { sub: 'project_path:acme/app:*' },
        { project_path: 'acme/*' },
        { namespace_path: 'acme' },
        { namespace_path: 'acme/*' },
      ],
      ...[{ project_id: '20' }, { namespace_id: '72', ref: 'main' }],
    ],
    refused: [
      ...[
        { sub: 'project_path:*:ref_type:branch:ref:main' },
        { sub: 'project_path:acme*' },
        { project_path: '*' },
        { project_id: '2*' },
      ],
      ...[
        { ci_config_ref_uri: 'gitlab.com/acme/app//.gitlab-ci.yml@refs/heads/main' },
        { user_login: 'ann' },
        { namespace_path: 'acme*' },
      ],
    ],
  },
  Google: {
    issuers: ['https://accounts.google.com'],
    accepted: [
      { sub: '107517467455664443766' },
      { email: 'ci@acme.iam.gserviceaccount.com' },
      { sub: '1', azp: '*' },
    ],
    refused: [
      { azp: '107517467455664443766' },
      { email: '*@acme.iam.gserviceaccount.com' },
      { sub: '1*' },
      { hd: 'acme.com' },
      { client_id: 'x' },
    ],
  },
  'Google Cloud Attestation': {
    issuers: ['https://confidentialcomputing.googleapis.com'],
    accepted: [
      ...[{ sub: 'https://www.googleapis.com/compute/v1/projects/acme/zones/*' }],
      { google_service_accounts: 'ci@acme.iam.gserviceaccount.com', swname: 'CONFIDENTIAL_SPACE' },
    ],
    refused: [
      ...[{ swname: 'CONFIDENTIAL_SPACE' }, { sub: 'https://www.googleapis.com/compute/v1/projects/*' }],
      ...[
        { sub: 'https://www.googleapis.com/compute/v1/projects/a*/zones/z' },
        { google_service_accounts: '*@acme.iam.gserviceaccount.com' },
      ],
    ],
  },
  'Forgejo Actions': {
    issuers: ['https://codeberg.org/api/actions', 'https://git.acme.example/forgejo/api/actions'],
    accepted: [
      ...[
        { sub: 'repo:acme/app:*' },
        { sub: 'repo:acme-65/app-74:ref:refs/heads/main' },
        { repository: 'acme/*' },
      ],
      ...[
        { repository_owner: 'acme' },
        { repository_id: '74' },
        { repository_owner_id: '65' },
        { workflow_ref: 'acme/app/*' },
      ],
    ],
    refused: [
      ...[
        { sub: 'repo:*' },
        { sub: 'repo:*/app:ref:refs/heads/main' },
        { repository: '*/app' },
        { ref: 'refs/heads/main' },
      ],
      ...[{ actor: 'ann' }, { workflow: 'deploy.yml' }, { sub: 'repo:acme*/app:*' }],
    ],
  },
  'Depot CI': {
    issuers: ['https://identity.depot.dev'],
    accepted: [
      ...[
        { sub: 'spiffe://identity.depot.dev/org/org_1/ci/github/acme/app/*' },
        { org_id: 'org_1' },
        { repository: 'acme/*' },
      ],
      ...[{ repository_owner_id: '65' }, { repository_id: '74' }],
    ],
    refused: [
      ...[
        { sub: 'spiffe://identity.depot.dev/org/*/ci/github/acme/app/*' },
        { org_id: 'org_*' },
        { repository: '*/app' },
      ],
      ...[{ ref: 'refs/heads/main' }, { workflow: '.depot/workflows/ci.yaml' }],
    ],
  },
  Buildkite: {
    issuers: ['https://agent.buildkite.com'],
    accepted: [
      ...[
        { sub: 'organization:acme:pipeline:app:*' },
        { organization_slug: 'acme' },
        { organization_id: UUID },
        { pipeline_id: UUID },
      ],
      { sub: UUID },
    ],
    refused: [
      ...[
        { sub: 'organization:*:pipeline:app:*' },
        { sub: '*pipeline:app*' },
        { sub: 'organization:acme*' },
        { organization_slug: 'ac?e' },
      ],
      ...[{ pipeline_slug: 'app' }, { build_branch: 'main' }],
    ],
  },
  CircleCI: {
    issuers: [`https://oidc.circleci.com/org/${UUID}`, 'https://oidc.circleci.com'],
    accepted: [{ sub: `org/${UUID}/project/*` }, { 'oidc.circleci.com/project-id': UUID }],
    refused: [
      { sub: 'org/*/project/x/user/y' },
      { sub: '*' },
      { 'oidc.circleci.com/project-id': '*' },
      { 'oidc.circleci.com/vcs-ref': 'x' },
    ],
  },
  Codefresh: {
    issuers: ['https://oidc.codefresh.io'],
    accepted: [{ sub: 'account:5f30:pipeline:*' }, { account_id: '5f30' }, { pipeline_id: '64f0' }],
    refused: [
      { sub: 'account:*:pipeline:64f0' },
      { account_id: '*' },
      { pipeline_name: 'oidc/git-run' },
      { scm_repo_url: 'https://x' },
    ],
  },
  'HCP Terraform': {
    issuers: ['https://app.terraform.io', 'https://app.eu.terraform.io'],
    accepted: [
      ...[
        { sub: 'organization:acme:project:*:workspace:app:run_phase:*' },
        { terraform_organization_id: 'org-a' },
      ],
      ...[
        { terraform_workspace_id: 'ws-a' },
        { terraform_project_id: 'prj-a' },
        { terraform_organization_name: 'acme' },
      ],
    ],
    refused: [
      ...[
        { sub: 'organization:*:project:Default Project:workspace:app:run_phase:apply' },
        { terraform_workspace_name: 'app' },
      ],
      ...[{ terraform_organization_id: 'org-*' }, { terraform_run_phase: 'apply' }],
    ],
  },
  'Pulumi Cloud': {
    issuers: ['https://api.pulumi.com/oidc'],
    accepted: [
      ...[
        { sub: 'pulumi:deploy:org:acme:project:*' },
        { sub: 'pulumi:environments:org:acme:env:production' },
      ],
      { sub: 'pulumi:environments:pulumi.organization.login:acme:*' },
    ],
    refused: [
      { sub: 'pulumi:deploy:org:*:project:app:*' },
      { sub: 'pulumi:environments:*' },
      { project: 'app' },
      { sub: 'pulumi:deploy:org:a*' },
    ],
  },
  'Pulumi Cloud, version 2': {
    issuers: ['https://api.pulumi.com/oidc/v2'],
    accepted: [
      { sub: 'anything whole' },
      { 'https://pulumi.com/org': 'acme' },
      { 'https://pulumi.com/org_id': 'o-1' },
    ],
    refused: [
      { sub: 'pulumi:*' },
      { 'https://pulumi.com/org': '*' },
      { 'https://pulumi.com/current_env': 'app/production' },
    ],
  },
  Modal: {
    issuers: ['https://oidc.modal.com'],
    accepted: [
      { sub: 'modal:workspace_id:ac-1:environment_name:main:*' },
      { workspace_id: 'ac-1' },
      { app_id: 'ap-1' },
    ],
    refused: [
      { sub: 'modal:workspace_id:*:app_name:app' },
      { workspace_id: 'ac-*' },
      { app_name: 'app' },
      { environment_name: 'main' },
    ],
  },
  'Gitpod, Ona': {
    issuers: ['https://api.gitpod.io/idp', 'https://app.gitpod.io', 'https://app.ona.com'],
    accepted: [{ sub: 'org:1/prj:2/*' }],
    refused: [{ sub: 'org:*' }, { sub: 'org:*/prj:2' }, { email: 'ann@example.com' }],
  },
  Chainguard: {
    issuers: ['https://issuer.enforce.dev'],
    accepted: [{ sub: '1a2b/3c4d' }, { sub: '1a2b/*' }],
    refused: [{ sub: '*/3c4d' }, { sub: '1a*' }, { email: 'ann@example.com' }],
  },
  'Amazon Cognito, Firebase': {
    issuers: [
      ...['https://cognito-identity.amazonaws.com', 'https://cognito-identity.cn-north-1.amazonaws.com.cn'],
      ...[
        'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_1',
        'https://issuer-cognito-idp.eu-west-1.amazonaws.com/eu-west-1_1',
      ],
      ...['https://securetoken.google.com/acme', 'https://session.firebase.google.com/acme'],
    ],
    accepted: [{ sub: `eu-west-1:${UUID}` }],
    // Whoever signs up has an address and a client; the pool may give identities to guests.
    refused: [
      ...[{ sub: 'eu-west-1:*' }, { amr: 'authenticated' }, { email: 'ann@example.com' }, { client_id: 'x' }],
      {
        'https://cognito-identity.amazonaws.com/identity-pool-arn':
          'arn:aws:cognito-identity:eu-west-1:1:identitypool/*',
      },
    ],
  },
  'Auth0, Okta, env zero': {
    issuers: [
      ...[
        'https://acme.auth0.com/',
        'https://acme.eu.auth0.com/',
        'https://acme.okta.com',
        'https://acme.okta.com/oauth2/default',
      ],
      'https://login.app.env0.com/',
    ],
    accepted: [{ sub: 'x1@clients' }],
    refused: [
      { sub: '*@clients' },
      { azp: 'x1' },
      { client_id: 'x1' },
      { email: '*@acme.com' },
      { email: 'ann@acme.com' },
    ],
  },
  'Sign-in of people: Apple, Facebook, GitHub, Hugging Face, LinkedIn, Salesforce, Sigstore, Slack': {
    issuers: [
      ...[
        'https://appleid.apple.com',
        'https://www.facebook.com',
        'https://github.com/login/oauth',
        'https://huggingface.co',
      ],
      ...[
        'https://www.linkedin.com/oauth',
        'https://login.salesforce.com',
        'https://oauth2.sigstore.dev/auth',
        'https://slack.com',
      ],
    ],
    accepted: [{ sub: '1' }],
    refused: [{ sub: '1*' }, { email: 'ann@acme.com' }, { hd: 'acme.com' }],
  },
  'Vercel, issuer mode Global': {
    issuers: ['https://oidc.vercel.com'],
    accepted: [
      { sub: 'owner:acme:project:*' },
      { owner: 'acme' },
      { owner_id: 'team_1' },
      { project_id: 'prj_1' },
    ],
    refused: [
      { sub: 'owner:*:project:site:environment:production' },
      { owner: '*' },
      { project: 'site' },
      { environment: 'production' },
    ],
  },
  'Vercel, issuer mode Team': {
    issuers: ['https://oidc.vercel.com/acme'],
    accepted: [{ sub: 'owner:acme:project:site:*' }, { project: 'site' }],
    refused: [{ sub: '*' }, { environment: 'production' }],
  },
  'Bitbucket Pipelines': {
    issuers: ['https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc'],
    accepted: [{ sub: `{${UUID}}:*` }, { repositoryUuid: `{${UUID}}` }],
    refused: [{ sub: '*' }, { branchName: 'main' }, { deploymentEnvironmentUuid: UUID }],
  },
  'Azure Pipelines': {
    issuers: [`https://vstoken.dev.azure.com/${UUID}`],
    accepted: [{ sub: 'p://acme/app/deploy' }, { prj_id: UUID }],
    refused: [{ sub: '?*' }, { rpo_ref: 'refs/heads/main' }],
  },
  'Microsoft Entra': {
    issuers: [
      `https://login.microsoftonline.com/${UUID}/v2.0`,
      `https://sts.windows.net/${UUID}/`,
      `https://acme.ciamlogin.com/${UUID}/v2.0`,
    ],
    accepted: [{ sub: UUID }, { oid: UUID }, { oid: UUID, azp: UUID }],
    refused: [{ azp: UUID }, { appid: UUID }, { tid: UUID }, { oid: '1*' }],
  },
  Fly: {
    issuers: ['https://oidc.fly.io/acme'],
    accepted: [{ sub: 'acme:api:*' }, { app_id: '1' }, { app_name: 'api' }],
    refused: [{ sub: '*' }, { region: 'sea' }, { image: 'registry.fly.io/api:latest' }],
  },
  'Cloudflare service bindings': {
    issuers: ['cloudflare:service-binding'],
    accepted: [{ name: 'billing' }, { name: ['billing', 'api-*'] }],
    refused: [{ name: '*' }, { name: ['billing', '**'] }, { sub: 'billing' }],
  },
  Kubernetes: {
    issuers: [
      ...[
        'https://kubernetes.default.svc.cluster.local',
        'https://kubernetes.default.svc',
        `https://oidc.eks.eu-west-1.amazonaws.com/id/1A`,
      ],
      ...[
        'https://container.googleapis.com/v1/projects/p/locations/l/clusters/c',
        `https://eastus.oic.prod-aks.azure.com/${UUID}/${UUID}/`,
      ],
    ],
    accepted: [{ sub: 'system:serviceaccount:shop:api' }, { sub: 'system:serviceaccount:shop:*' }],
    refused: [{ sub: '*' }, { email: 'x' }, { repository: 'acme/app' }],
  },
};

describe('workload identity: issuers', () => {
  it('there are examples of each', () => {
    expect(Object.keys(examples)).toEqual(issuers.map(({ name }) => name));
  });

  it.each(Object.entries(examples))(
    '%s: claims that name the caller are accepted, others refused',
    (name, { issuers: all, ...claims }) => {
      for (const issuer of all) {
        expect(issuers.filter((row) => row.issuer.test(issuer)).map((row) => row.name)).toEqual([name]);
        for (const one of claims.accepted)
          expect([issuer, one, callerProblem(issuer, one)]).toEqual([issuer, one, null]);
        for (const one of claims.refused)
          expect([issuer, one, callerProblem(issuer, one)]).toEqual([issuer, one, expect.any(String)]);
      }
    },
  );

  it.each(issuers)('$name: the guide says which claims name the caller', ({ name, callers }) => {
    const line = guide.split('\n').find((row) => row.startsWith(`| ${name} |`)) ?? '';
    for (const claim of Object.keys(callers)) expect(line).toContain(`\`${claim}\``);
    for (const claim of ['job_workflow_ref', 'azp', 'ci_config_ref_uri']) expect(line).not.toContain(claim);
  });

  it('a known issuer has one spelling: others are refused, with the right one', () => {
    const github = 'https://token.actions.githubusercontent.com';
    const { length } = github;
    const others = ['/', '//', ':443', '.', '/acme/..'].map((end) => `${github}${end}`);
    for (const one of [
      ...others,
      github.toUpperCase().replace('HTTPS', 'https'),
      `https://%74${github.slice(9, length)}`,
    ])
      expect([one, spellingProblem(one)]).toEqual([
        one,
        `must be ${github}, as in the iss claim of its tokens`,
      ]);
    expect(spellingProblem('https://login.microsoftonline.com/t/v2.0//')).toContain(
      'must be https://login.microsoftonline.com/t/v2.0,',
    );
    const all = Object.values(examples).flatMap((one) => one.issuers);
    for (const one of [...all, 'https://issuer.example.com/', 'https://Issuer.example.com:443/x/'])
      expect([one, spellingProblem(one)]).toEqual([one, null]);
  });

  it('any other issuer needs a claim that names a workload, not a client or a called workflow', () => {
    const issuer = 'https://issuer.example.com';
    for (const claims of [{ sub: 'x*' }, { repository: 'acme/app' }, { email: 'x' }] as Claims[])
      expect(callerProblem(issuer, claims)).toBe(null);
    for (const claims of [
      { sub: '*' },
      { azp: 'x' },
      { appid: 'x' },
      { client_id: 'x' },
      { job_workflow_ref: 'acme/app/x' },
      { ref: 'x' },
    ] as Claims[])
      expect([claims, callerProblem(issuer, claims)]).toEqual([claims, expect.any(String)]);
  });

  it('a stored trust that names no caller accepts nothing, also for session tokens that it gave', () => {
    const issuer = 'https://token.actions.githubusercontent.com';
    const claims = { job_workflow_ref: 'acme/ci/.github/workflows/deploy.yml@*' };
    const trust: Trust = { issuer, claims, audiences: ['a'], ttl: 60, keys: null, changed_at: 0 };
    const given = { job_workflow_ref: ['acme/ci/.github/workflows/deploy.yml@x'], repository: ['acme/app'] };
    const workload = { issuer, audiences: ['a'], claims: given, key: null };
    const reason = 'the trust does not name the caller: change its claims';
    expect(refusedBy(trust, workload)).toBe(reason);
    expect(refusedBy({ ...trust, claims: { ...claims, repository: 'acme/app' } }, workload)).toBe(null);
    expect(stillAccepts({ trust } as CredentialRow, { workload } as unknown as CredentialRow)).toBe(false);
  });
});
