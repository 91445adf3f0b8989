// svc member: members of the organisation.
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { type Group, list, member } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { pages } from '../secrets/lookup.ts';
import { clean, counted } from '../text.ts';

const ROLES = ['owner', 'admin', 'developer', 'viewer', 'auditor'] as const;
type Role = (typeof ROLES)[number];
const ROLE = { '--role <role>': { description: 'role of the member', choices: ROLES } };
const WHERE = {
  '--environments <slugs>': {
    description: 'the role holds in these, separated by commas; default: all',
    parse: list,
  },
};

/** Where a role holds, in words. */
const where = ({ environments }: { environments: string[] | null }) =>
  environments === null ? 'all environments' : environments.map(clean).join(', ');

const group: Group = {
  commands: {
    list: member('List members', {
      needs: 'vault',
      examples: { 'member list': 'List members' },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/members', {
            params: { path: { org_id }, query: { limit, cursor } },
          });
          return data;
        });
        context.out.list(rows, {
          id: (row) => row.id,
          name: (row) => row.name,
          email: (row) => row.email,
          role: (row) => row.role,
          environments: (row) => row.environments?.join(' ') ?? 'all',
          status: (row) => row.status,
          passkeys: (row) => row.passkeys,
          enrolled: (row) => time(row.enrolled_at),
        });
        return 0;
      },
    }),
    links: member('List the identities that a member signs in with by single sign-on', {
      needs: 'vault',
      args: { '<id>': 'id of the member, mem_…' },
      examples: { 'member links mem_0HrZKtC4bqXw2vJm8yNd1L': 'List the identities of a member' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const rows = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/members/{id}/links', {
            params: { path: { org_id, id }, query: { limit, cursor } },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            connection: (row) => row.connection_id,
            issuer: (row) => row.issuer,
            subject: (row) => row.subject,
            live: (row) => (row.live ? 'yes' : 'no'),
            created: (row) => time(row.created_at),
          },
          'The member is linked to no identity.',
        );
        return 0;
      },
    }),
    invite: member<CommonOptions & { role?: Role; name?: string; environments?: string[] }>(
      'Invite a member',
      {
        needs: 'vault',
        args: { '<email>': 'their e-mail address' },
        options: { '--name <name>': 'their name', ...ROLE, ...WHERE },
        examples: {
          'member invite bea@example.com --name Bea --role viewer': 'Invite a viewer',
          'member invite bo@example.com --name Bo --role developer --environments development,staging':
            'Invite a developer who does not reach production',
        },
        notes: [
          'Only the enrolment link is written to stdout. It works once, within 24 hours. The vault does not send it: give it to the person yourself.',
        ],
        async run(context, { args: [email = ''], options }) {
          if (!options.role || !options.name) throw usage('--name and --role are required.');
          const { vault, org_id } = await context.vault();
          const { data } = await vault.api.POST('/orgs/{org_id}/members', {
            params: { path: { org_id } },
            headers: context.approved(),
            body: { email, name: options.name, role: options.role, environments: options.environments },
          });
          context.out.result(data, () => {
            context.out.success(
              `Invited ${data.name} as ${data.role} in ${where(data)} (${data.id}). This link is shown only once:`,
            );
            context.out.line(data.enrolment_url ?? '');
          });
          return 0;
        },
      },
    ),
    role: member<CommonOptions>('Change the role of a member', {
      needs: 'vault',
      args: { '<id>': 'their id, mem_…', '<role>': ROLES.join(', ') },
      examples: { 'member role mem_0HrZKtC4bqXw2vJm8yNd1L developer': 'Make a member a developer' },
      async run(context, { args: [id = '', role = ''] }) {
        if (!ROLES.includes(role as Role)) throw usage(`The role must be one of ${ROLES.join(', ')}.`);
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.PATCH('/orgs/{org_id}/members/{id}', {
          params: { path: { org_id, id } },
          headers: context.approved(),
          // An owner is not limited to environments.
          body: { role: role as Role, ...(role === 'owner' && { environments: null }) },
        });
        context.out.result(data, () => {
          context.out.success(`${data.name} now has the role ${data.role} in ${where(data)}.`);
          sayIfLapsed(context, data);
        });
        return 0;
      },
    }),
    environments: member<CommonOptions & { only?: string[]; all?: boolean }>(
      'Change in which environments the role of a member holds',
      {
        needs: 'vault',
        args: { '<id>': 'their id, mem_…' },
        options: {
          '--only <slugs>': { description: 'in these environments, separated by commas', parse: list },
          '--all': 'in all environments, later ones included',
        },
        examples: {
          'member environments mem_0HrZKtC4bqXw2vJm8yNd1L --only development,staging':
            'Limit a role to two environments',
          'member environments mem_0HrZKtC4bqXw2vJm8yNd1L --all': 'Lift the limit',
        },
        notes: [
          'The change applies from their next request. Outside these environments they hold what grants give them. Credentials that they created before keep what they hold.',
        ],
        async run(context, { args: [id = ''], options: { only, all } }) {
          if ((only === undefined) === (all !== true)) throw usage('Pass either --only or --all.');
          const { vault, org_id } = await context.vault();
          const { data } = await vault.api.PATCH('/orgs/{org_id}/members/{id}', {
            params: { path: { org_id, id } },
            headers: context.approved(),
            body: { environments: only ?? null },
          });
          context.out.result(data, () => {
            context.out.success(`${data.name} is now ${data.role} in ${where(data)}.`);
            sayIfLapsed(context, data);
          });
          return 0;
        },
      },
    ),
    access: member<CommonOptions & { environment?: string; secret?: string; upstream?: string }>(
      'Explain what a member may do',
      {
        needs: 'vault',
        args: { '<id>': 'their id, mem_…', '<scope>': 'such as secrets:read' },
        options: {
          '--environment <slug>': 'in this environment',
          '--secret <name>': 'for this name',
          '--upstream <name>': 'through this upstream, with secrets:use',
        },
        examples: {
          'member access mem_0HrZKtC4bqXw2vJm8yNd1L secrets:read --environment production --secret DATABASE_URL':
            'See whether a member can read a secret, and why',
        },
        async run(context, { args: [id = '', action = ''], options: { environment, secret, upstream } }) {
          const { vault, org_id } = await context.vault();
          const query = { action, environment, secret, upstream };
          const { data } = await vault.api.GET('/orgs/{org_id}/members/{id}/access', {
            params: { path: { org_id, id }, query },
          });
          context.out.result(data, () => {
            context.out.line(data.allowed ? 'allowed' : 'not allowed');
            if (data.suspended) context.out.line('  the member is suspended');
            for (const { source, role, grant_id } of data.reasons)
              context.out.line(`  by ${source} ${clean(String(role ?? grant_id))}`);
            for (const { name } of data.upstreams ?? []) context.out.line(`  through ${clean(name)}`);
          });
          return 0;
        },
      },
    ),
    suspend: member<CommonOptions & { revokeCredentials?: boolean }>('Suspend a member', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'their id, mem_…' },
      options: { '--revoke-credentials': 'also revoke the credentials that they created' },
      examples: { 'member suspend mem_0HrZKtC4bqXw2vJm8yNd1L': 'Suspend a member' },
      notes: [
        'Their sessions, share links and devices end at once and for good. Role, teams, grants and passkeys are kept for svc member resume.',
      ],
      async run(context, { args: [id = ''], options }) {
        const { vault, org_id } = await context.vault();
        const known = await confirmEnd(context, id, 'suspends', options.revokeCredentials);
        const query = { revoke_credentials: options.revokeCredentials ? ('true' as const) : undefined };
        const { data } = await vault.api.POST('/orgs/{org_id}/members/{id}/suspend', {
          params: { path: { org_id, id }, query },
          headers: context.approved(),
        });
        context.out.result(data, () => {
          context.out.success(`Suspended ${known.name}.`);
          sayLeft(context, data);
        });
        return 0;
      },
    }),
    resume: member<CommonOptions>('Resume a suspended member', {
      needs: 'vault',
      args: { '<id>': 'their id, mem_…' },
      examples: { 'member resume mem_0HrZKtC4bqXw2vJm8yNd1L': 'Let a suspended member act again' },
      async run(context, { args: [id = ''] }) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/members/{id}/resume', {
          params: { path: { org_id, id } },
          headers: context.approved(),
        });
        context.out.result(data, () => {
          context.out.success(`${data.name} is ${data.role} again in ${where(data)}.`);
          sayIfLapsed(context, data);
        });
        return 0;
      },
    }),
    remove: member<CommonOptions & { revokeCredentials?: boolean }>('Remove a member', {
      needs: 'vault',
      confirms: true,
      args: { '<id>': 'their id, mem_…' },
      options: { '--revoke-credentials': 'also revoke the credentials that they created' },
      examples: {
        'member remove mem_0HrZKtC4bqXw2vJm8yNd1L --revoke-credentials':
          'Remove a member and revoke the credentials that they created',
      },
      async run(context, { args: [id = ''], options }) {
        const { vault, org_id } = await context.vault();
        const known = await confirmEnd(context, id, 'removes', options.revokeCredentials);
        const query = { revoke_credentials: options.revokeCredentials ? ('true' as const) : undefined };
        const { data } = await vault.api.DELETE('/orgs/{org_id}/members/{id}', {
          params: { path: { org_id, id }, query },
          headers: context.approved(),
        });
        context.out.result(data, () => {
          context.out.success(`Removed ${known.name}.`);
          sayLeft(context, data);
        });
        return 0;
      },
    }),
  },
};

export default group;

/** Asks before a member is removed or suspended. Returns the member. */
async function confirmEnd(context: Context, id: string, verb: 'removes' | 'suspends', revokes = false) {
  const { vault, org_id } = await context.vault();
  const { data: known } = await vault.api.GET('/orgs/{org_id}/members/{id}', {
    params: { path: { org_id, id } },
  });
  context.seen.note(id, known);
  const also = revokes
    ? 'The credentials that they created are revoked.'
    : 'The credentials that they created stay valid.';
  await context.confirmDestruction(
    `This ${verb} ${known.name} (${known.email}) and ends their sessions. ${also}`,
  );
  return known;
}

interface Left {
  credentials: { kind: string; id: string; name: string | null }[];
  remaining?: number | undefined;
}

/** The credentials that a member leaves. */
function sayLeft({ out }: Context, { credentials, remaining }: Left): void {
  out.table(
    ['kind', 'id', 'name'],
    credentials.map((row) => [row.kind, row.id, row.name]),
  );
  if (remaining)
    out.warn(
      `${counted(remaining, 'credential is', 'credentials are')} not revoked yet. Run the command again.`,
    );
}

/** A change by anybody but the inviter ends the enrolment link, which somebody else may have. */
function sayIfLapsed({ out }: Context, { name, status }: { name: string; status: string }): void {
  if (status === 'lapsed')
    out.warn(`${name} has no enrolment link that works. An owner makes a new one in the console.`);
}
