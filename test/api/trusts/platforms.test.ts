// Workload identity: the trusts of the guide, with tokens as each platform documents them. Each is refused
// with one claim of somebody else's.
import { describe, expect, it } from 'vitest';
import guide from '../../../docs/guides/workload-identity.md?raw';
import { AUDIENCE, exchange, newIssuer } from '../../support/signin/issuers';
import { few } from '../../support/slow';
import { codeOf, newOrg, useWorld } from '../../support/world';

useWorld();

interface Platform {
  /** Where the platform documents the token. */
  source: string;
  claims: Record<string, unknown>;
  /** What a token says that must not be accepted. */
  others: Record<string, unknown>[];
}

const CIRCLE = '1b1f8e1c-6c0b-4a3f-9d5c-0a5b8c7d6e5f';
const project = '8d6a3b2c-1f0e-4d9c-8b7a-6f5e4d3c2b1a';

const platforms: Record<string, Platform> = {
  github: {
    source: 'https://docs.github.com/en/actions/reference/security/oidc',
    claims: {
      sub: 'repo:acme/app:ref:refs/heads/main',
      ref: 'refs/heads/main',
      sha: 'f1e2d3',
      repository: 'acme/app',
      repository_owner: 'acme',
      actor_id: '12',
      repository_visibility: 'private',
      repository_id: '74',
      repository_owner_id: '65',
      run_id: '99',
      run_number: '10',
      run_attempt: '2',
      runner_environment: 'github-hosted',
      actor: 'ann',
      workflow: 'deploy',
      head_ref: '',
      base_ref: '',
      event_name: 'push',
      ref_type: 'branch',
      job_workflow_ref: 'acme/app/.github/workflows/deploy.yml@refs/heads/main',
    },
    others: [
      { repository: 'evil/app', repository_owner_id: '66' },
      { repository_owner_id: '66' },
      { ref: 'refs/pull/7/merge', event_name: 'pull_request' },
      { event_name: 'pull_request_target' },
      { ref: 'refs/heads/main2' },
    ],
  },
  gitlab: {
    source: 'https://docs.gitlab.com/ci/secrets/id_token_authentication',
    claims: {
      namespace_id: '72',
      namespace_path: 'acme',
      project_id: '20',
      project_path: 'acme/app',
      user_id: '1',
      user_login: 'ann',
      user_email: 'ann@example.com',
      user_access_level: 'developer',
      job_project_id: '20',
      pipeline_id: '574',
      pipeline_source: 'push',
      job_id: '302',
      ref: 'main',
      ref_type: 'branch',
      ref_path: 'refs/heads/main',
      ref_protected: 'true',
      runner_id: 1,
      runner_environment: 'gitlab-hosted',
      sha: '714a629c',
      project_visibility: 'private',
      ci_config_ref_uri: 'gitlab.com/acme/app//.gitlab-ci.yml@refs/heads/main',
      sub: 'project_path:acme/app:ref_type:branch:ref:main',
    },
    others: [
      { project_id: '21' },
      { ref_protected: 'false' },
      { ref: 'topic' },
      { ref_type: 'tag' },
      { project_id: ['2', '0'] },
    ],
  },
  circleci: {
    source: 'https://circleci.com/docs/guides/permissions-authentication/openid-connect-tokens/',
    claims: {
      sub: `org/${CIRCLE}/project/${project}/user/5c4b3a29-1807-4f6e-9d5c-4b3a29180706`,
      'oidc.circleci.com/project-id': project,
      'oidc.circleci.com/context-ids': ['a74579f1-2e7d-451e-b009-5c082ad2729e'],
      'oidc.circleci.com/ssh-rerun': false,
      'oidc.circleci.com/vcs-origin': 'github.com/acme/app',
      'oidc.circleci.com/vcs-ref': 'refs/heads/main',
      jti: undefined,
    },
    others: [
      { 'oidc.circleci.com/project-id': CIRCLE },
      { 'oidc.circleci.com/ssh-rerun': true },
      { 'oidc.circleci.com/vcs-ref': 'refs/pull/1' },
      { 'oidc.circleci.com/vcs-ref': undefined },
    ],
  },
  kubernetes: {
    source: 'https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/',
    claims: {
      sub: 'system:serviceaccount:shop:api',
      'kubernetes.io': {
        namespace: 'shop',
        node: { name: 'node-1', uid: 'n' },
        pod: { name: 'api', uid: 'p' },
        serviceaccount: { name: 'api', uid: '14ee3fa4-a7e2-420f-9f9a-dbc4507c3798' },
      },
    },
    others: [
      { sub: 'system:serviceaccount:shop:other' },
      { sub: 'system:serviceaccount:other:api' },
      { sub: 'system:serviceaccount:shop:api2' },
    ],
  },
  google: {
    source: 'https://cloud.google.com/compute/docs/instances/verifying-instance-identity',
    claims: {
      azp: '107517467455664443766',
      sub: '107517467455664443766',
      email: 'deploy@acme.iam.gserviceaccount.com',
      email_verified: true,
      google: {
        compute_engine: {
          project_id: 'acme',
          project_number: 739419398126,
          zone: 'us-west1-a',
          instance_id: '1',
        },
      },
      jti: undefined,
      nbf: undefined,
    },
    others: [{ sub: '107517467455664443767' }, { sub: 107517467455664, azp: '107517467455664443766' }],
  },
  azure: {
    source:
      'https://learn.microsoft.com/rest/api/azure/devops/distributedtask/oidctoken/create?view=azure-devops-rest-7.1',
    claims: {
      sub: 'p://acme/app/deploy',
      org_id: '7f1b4c2d-9e8a-4b6c-8d7e-5f4a3b2c1d0e',
      prj_id: project,
      def_id: '7',
      rpo_id: project,
      rpo_uri: 'https://dev.azure.com/acme/app/_git/app',
      rpo_ver: 'f1e2d3',
      rpo_ref: 'refs/heads/main',
      run_id: '42',
    },
    others: [
      { sub: 'p://acme/app/other' },
      { sub: 'sc://acme/app/deploy' },
      { rpo_ref: 'refs/pull/3/merge' },
    ],
  },
  fly: {
    source: 'https://fly.io/docs/security/openid-connect/',
    claims: {
      app_id: '11111111',
      app_name: 'api',
      image: 'registry.fly.io/api:latest',
      image_digest: 'sha256:2c1c',
      machine_id: '148e21ea7e46e8',
      machine_name: 'm',
      machine_version: '01HTGGC1TZ2JHK83J4AC0R3VET',
      org_id: '11111111',
      org_name: 'acme',
      region: 'sea',
      sub: 'acme:api:m',
    },
    others: [{ sub: 'acme:other:m' }, { sub: 'other:api:m' }, { app_id: '22222222' }],
  },
  vercel: {
    source: 'https://vercel.com/docs/oidc/reference',
    claims: {
      scope: 'owner:acme:project:site:environment:production',
      owner: 'acme',
      owner_id: 'team_7Gw5',
      project: 'site',
      project_id: 'prj_7Q2mXcVbN4kLpRtYwZaSdFgHjK1e',
      environment: 'production',
      jti: undefined,
      sub: 'owner:acme:project:site:environment:production',
    },
    others: [
      { sub: 'owner:acme:project:site:environment:preview', environment: 'preview' },
      { sub: 'owner:acme:project:other:environment:production' },
      { project_id: 'prj_other' },
    ],
  },
};

/** The trusts of the guide, by platform. */
const trusts = Object.fromEntries(
  [...guide.matchAll(/<!-- token: (\w+) -->\n```json\n([\s\S]*?)```/g)].map(([, name, body]) => [
    name as string,
    JSON.parse(body as string),
  ]),
);

describe('workload identity: the trusts of the guide', () => {
  it('there is one for each platform, and the guide links to the documentation of its token', () => {
    expect(Object.keys(trusts)).toEqual(Object.keys(platforms));
    const text = guide.replaceAll('\n', ' ');
    for (const { source } of Object.values(platforms)) expect(text).toContain(source);
  });

  it.each(few(Object.entries(platforms), 2))(
    '%s: accepts a token as documented, and none that says something else',
    async (name, { claims, others }) => {
      const o = await newOrg();
      const body = trusts[name];
      const issuer = await newIssuer({ alg: 'RS256', url: body.issuer });
      // The same body, with the keys of the stand-in.
      const made = await o.post('/trusts', { ...body, jwks: issuer.jwks });
      expect([made.status, made.json.claims]).toEqual([201, body.claims]);
      // The issuer of the guide is one whose keys can be fetched, or has its keys along.
      expect((await o.post('/trusts', body)).status).toBe(201);
      const said = { ...claims, aud: body.audiences?.[0] ?? AUDIENCE };
      const given = await exchange(o, made.json, await issuer.sign(said));
      expect(given.status).toBe(201);
      expect(Date.parse(given.json.expiresAt) - Date.now()).toBeLessThanOrEqual(body.ttlSeconds * 1000);
      for (const other of [...others, { aud: 'https://other.example.com' }, { iss: `${body.issuer}/` }])
        expect([
          other,
          ...codeOf(await exchange(o, made.json, await issuer.sign({ ...said, ...other }))),
        ]).toEqual([other, 401, 'UNAUTHENTICATED']);
    },
  );
});
