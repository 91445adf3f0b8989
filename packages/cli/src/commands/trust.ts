// svc trust: trusts, which let workloads of a platform sign in with OIDC tokens.
import fs from 'node:fs';
import path from 'node:path';
import type { CommonOptions, Context } from '../context.ts';
import { BOUNDS, type Bounds, scopesOf, time } from '../credentials/created.ts';
import { duration, type Group, list, member, tag } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { pages } from '../secrets/lookup.ts';
import { clean, counted } from '../text.ts';
import { tomlOf } from '../worker-config.ts';
import { BINDING, SERVICE } from '../worker-init.ts';

/** Short names for common issuers. */
const ISSUERS: Record<string, string> = {
  github: 'https://token.actions.githubusercontent.com',
  gitlab: 'https://gitlab.com',
  google: 'https://accounts.google.com',
};

interface CreateOptions extends CommonOptions, Bounds {
  issuer?: string;
  claim?: [string, string][];
  audiences?: string[];
  jwks?: string;
  worker?: string;
}

const spelled = (claims: Record<string, string | string[]>) =>
  Object.entries(claims)
    .map(([name, globs]) => `${name}=${[globs].flat().join('|')}`)
    .join(' ');

function platformOf({ issuer, claim }: CreateOptions) {
  if (!issuer || !claim)
    throw usage(
      '--issuer and --claim are required.',
      'For example: --issuer github --claim sub=repo:acme/app:ref:refs/heads/main',
    );
  return { issuer: ISSUERS[issuer] ?? issuer, claims: claimsOf(claim) };
}

function bindingOf(worker: string, { issuer, claim }: CreateOptions) {
  if (issuer || claim) throw usage('--worker stands in place of --issuer and --claim.');
  return { issuer: BINDING, claims: { name: worker } };
}

/** The lines of the Worker's wrangler.toml. */
function tellBinding(
  { out }: Context,
  service: string,
  props: { org: string; trust: string; name: string },
): void {
  out.success(`Created trust ${props.trust}. Add this binding to the wrangler.toml of the Worker:`);
  const written = tomlOf({ binding: 'VAULT', service, entrypoint: 'Vault', props });
  for (const line of written.trimEnd().split('\n')) out.line(line);
  out.note('In the directory of the Worker, svc init --worker adds it');
}

const group: Group = {
  commands: {
    list: member('List trusts', {
      needs: 'vault',
      examples: { 'trust list': 'List trusts' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/trusts', {
            params: { path: { org_id }, query: { limit, cursor } },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            name: (row) => row.name,
            issuer: (row) => row.issuer,
            claims: (row) => spelled(row.claims),
            scopes: (row) => row.scopes.join(' '),
            'last used': (row) => time(row.last_used_at),
          },
          'There are no trusts.',
        );
        return 0;
      },
    }),
    create: member<CreateOptions>('Create a trust for the OIDC tokens of a platform, or for a Worker', {
      needs: 'vault',
      args: { '<name>': 'a name that says what it is for' },
      options: {
        '--issuer <issuer>': `iss claim of the platform, or ${Object.keys(ISSUERS).join(', ')}`,
        '--claim <name=glob>': {
          description:
            'claim that tokens must have; at least one must identify the workload; may be repeated',
          parse: tag,
          repeat: true,
        },
        '--audiences <list>': {
          description: 'accepted aud claims, separated by commas; default: the address of the vault',
          parse: list,
        },
        '--worker <name>':
          'a Worker of the Cloudflare account that runs the vault, in place of --issuer and --claim',
        '--jwks <file>': 'public keys of an issuer that the vault cannot reach, as a JSON Web Key Set',
        ...BOUNDS,
        '--ttl <duration>': {
          description: 'lifetime of its session tokens, 1m to 1d; default: 1h',
          parse: duration,
        },
      },
      examples: {
        "trust create 'deploy job' --issuer github --claim sub=repo:acme/app:ref:refs/heads/main --scopes secrets:read --environments production":
          'Let jobs on one branch read production',
        'trust create billing --worker billing --scopes secrets:read':
          'Let a Worker read, and print the binding for its wrangler.toml',
      },
      notes: [
        'Set SVC_TRUST_ID, SVC_ORG_ID and SVC_URL in the job. Every svc command there exchanges the OIDC token of the platform automatically.',
      ],
      async run(context, { args: [name = ''], options }) {
        const { worker, audiences, environments, secrets, upstreams, ttl, addresses } = options;
        const { issuer, claims } = worker === undefined ? platformOf(options) : bindingOf(worker, options);
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/trusts', {
          params: { path: { org_id } },
          body: {
            name,
            issuer,
            audiences,
            claims,
            scopes: scopesOf(options),
            environments,
            secrets,
            upstreams,
            allowed_addresses: addresses,
            jwks: options.jwks === undefined ? undefined : keysIn(context, options.jwks),
            ttlSeconds: ttl,
          },
        });
        context.out.result(data, () => {
          if (worker !== undefined)
            return tellBinding(context, data.service ?? SERVICE, {
              org: org_id,
              trust: data.id,
              name: worker,
            });
          context.out.success(`Created trust ${data.id}. Set these variables in the job:`);
          for (const line of [`SVC_URL=${context.origin}`, `SVC_ORG_ID=${org_id}`, `SVC_TRUST_ID=${data.id}`])
            context.out.line(line);
        });
        return 0;
      },
    }),
    show: member('Show a trust', {
      needs: 'vault',
      args: { '<id>': 'id of the trust, trs_…' },
      examples: { 'trust show trs_0HrZKtC4bqXw2vJm8yNd1L': 'See which tokens it accepts' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.GET('/orgs/{org_id}/trusts/{id}', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () =>
          context.out.fields({
            id: data.id,
            name: data.name,
            issuer: data.issuer,
            audiences: data.audiences.join(', '),
            claims: spelled(data.claims),
            scopes: data.scopes.join(', '),
            environments: data.environments?.join(', ') ?? 'all',
            secrets: data.secrets?.join(', ') ?? 'all',
            upstreams: data.upstreams?.join(', ') ?? 'all',
            addresses: data.allowed_addresses?.join(', ') ?? 'all',
            'token lifetime': data.issuer === BINDING ? undefined : `${data.ttlSeconds} s`,
            used: counted(data.use_count, 'time'),
          }),
        );
        return 0;
      },
    }),
    delete: member('Delete a trust', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'id of the trust, trs_…' },
      examples: { 'trust delete trs_0HrZKtC4bqXw2vJm8yNd1L': 'Delete a trust and revoke its session tokens' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This deletes the trust ${clean(id)} and revokes the session tokens of its workloads.`,
          ['trusts', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/trusts/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, deleted: true }, () => context.out.success(`Deleted ${id}.`));
        return 0;
      },
    }),
  },
};

/** The keys in a file. */
function keysIn({ host }: Context, file: string) {
  try {
    return JSON.parse(fs.readFileSync(path.resolve(host.cwd, file), 'utf8'));
  } catch {
    throw usage(
      `${clean(file)} cannot be read as JSON.`,
      'It must hold { "keys": […] }, as the jwks_uri of the issuer answers',
    );
  }
}

/** The claims by name. Several globs for one claim become a list. */
function claimsOf(pairs: [string, string][]): Record<string, string | string[]> {
  const claims = new Map<string, string[]>();
  for (const [name, glob] of pairs) claims.set(name, [...(claims.get(name) ?? []), glob]);
  return Object.fromEntries(
    [...claims].map(([name, globs]) => [name, globs.length === 1 ? (globs[0] as string) : globs]),
  );
}

export default group;
