// svc org: organisations of a deployment, with its bootstrap token, and the settings of the own one, with a
// credential of it. Invariants: the bootstrap token is never an argument, is never stored, and is sent only
// to an address that the user gave, or to this machine; the first API key, which the vault shows once, is
// stored or printed, never lost.
import { randomUUID } from 'node:crypto';
import type { components } from '@secrets-vault/client';
import type { CommonOptions, Context } from '../context.ts';
import { BOOTSTRAP_NOTE, BOOTSTRAP_OPTIONS, bootstrapOf, DEV_VARS } from '../credentials/bootstrap.ts';
import { type Group, list, member } from '../definition/command.ts';
import { asCliError, CliError, usage } from '../errors.ts';
import { call } from '../requests/unsigned.ts';
import { everything } from '../secrets/lookup.ts';
import { writeProfile } from '../settings/config.ts';
import { clean } from '../text.ts';

interface Bootstrap extends CommonOptions {
  bootstrapFile?: string;
}

interface Create extends Bootstrap {
  email?: string;
  name?: string;
  printKey?: boolean;
}

interface Settings extends CommonOptions {
  regions?: string[];
}

type Regions = components['schemas']['Regions'];
type Replicas = components['schemas']['OrgWithUsage']['replicas'];

/** The words of `--regions` as the API has them. */
const regionsOf = (words: string[]): string | string[] => {
  const [word] = words;
  if (words.length > 1 || (word !== 'auto' && word !== 'none')) return words;
  return word === 'auto' ? word : [];
};

/** An earlier release of the vault has no regions. */
const spelled = (regions: Regions | undefined): string =>
  clean(typeof regions === 'string' ? regions : (regions ?? []).join(', ') || 'none');

/** An earlier release of the vault has none. */
function showReplicas({ out }: Context, replicas: Replicas | undefined): void {
  if (!replicas?.length) return;
  out.line('');
  out.table(
    ['replica in', 'status', 'reads a minute', 'changes behind'],
    replicas.map(({ region, status, reads_per_minute, behind }) => [
      clean(region),
      clean(status),
      reads_per_minute,
      behind,
    ]),
  );
}

interface Org {
  id: string;
  name: string;
  created_at: string;
}

interface Founded {
  org: Org & { default_environment: string };
  owner: { id: string; email: string; name: string; enrolment_url: string };
  api_key: { id: string; token: string };
}

const group: Group = {
  commands: {
    create: member<Create>('Create an organisation and store its first API key', {
      needs: 'nothing',
      confirms: true,
      args: { '<name>': 'name of the organisation' },
      options: {
        '--email <address>': 'e-mail address of the owner',
        '--name <name>': 'name of the owner; default: the part of the address before the @',
        '--print-key': 'print the API key instead of storing it',
        ...BOOTSTRAP_OPTIONS,
      },
      examples: {
        'org create Acme --email you@example.com': `In a clone, with the token in ${DEV_VARS}`,
        'org create Acme --email you@example.com --url https://vault.example.com':
          'On another deployment, with the token typed at a prompt',
      },
      notes: [
        'The API key has every permission. It is stored like a credential from svc login, so you can run other commands right away. The enrolment link is for the owner: it works once, and sets up a passkey.',
        BOOTSTRAP_NOTE,
      ],
      run: (context, { args: [name = ''], options }) => create(context, name, options),
    }),
    list: member<Bootstrap>('List the organisations of a deployment', {
      needs: 'nothing',
      options: BOOTSTRAP_OPTIONS,
      examples: { 'org list': `In a clone, with the token in ${DEV_VARS}` },
      notes: [BOOTSTRAP_NOTE],
      async run(context, { options }) {
        const { url, token } = await bootstrapOf(context, options.bootstrapFile);
        const rows = await everything<Org>(({ limit, cursor }) => {
          const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) });
          return call(context.host, url, `/orgs?${query}`, { token });
        });
        const columns = {
          id: (row: Org) => row.id,
          name: (row: Org) => row.name,
          created: (row: Org) => row.created_at,
        };
        context.out.list(rows, columns, 'There are no organisations.');
        return 0;
      },
    }),
    show: member('Show the organisation and where it has replicas', {
      needs: 'vault',
      examples: {
        'org show': 'Show the organisation, and how its replicas do',
        'org show --json': 'With its usage of its limits',
      },
      async run(context) {
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.GET('/orgs/{org_id}', { params: { path: { org_id } } });
        context.out.result(data, () => {
          const { out } = context;
          out.line(`organisation: ${clean(data.name)} (${data.id})`);
          out.line(`default environment: ${clean(data.default_environment)}`);
          out.line(`regions: ${spelled(data.regions)}`);
          if (data.location_hint) out.line(`gate in: ${clean(data.location_hint)}`);
          showReplicas(context, data.replicas);
        });
        return 0;
      },
    }),
    set: member<Settings>('Change where the organisation has replicas', {
      needs: 'vault',
      options: {
        '--regions <regions>': {
          description: 'regions separated by commas, such as weur,oc; auto; or none',
          parse: list,
        },
      },
      examples: {
        'org set --regions weur,oc': 'Have replicas in western Europe and in Oceania',
        'org set --regions auto': 'Have replicas wherever secrets are read often',
        'org set --regions none': 'Have no replicas',
      },
      notes: [
        'Replicas answer reads near the caller, and store the ciphertext of the organisation in their regions. Regions are the location hints of Cloudflare. The credential needs org:write.',
      ],
      async run(context, { options: { regions } }) {
        if (!regions) throw usage('--regions is required.', 'Pass regions, auto or none: --regions weur,oc');
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.PATCH('/orgs/{org_id}', {
          params: { path: { org_id } },
          // The vault knows which regions there are, and names them where one is wrong.
          body: { regions: regionsOf(regions) as Regions },
        });
        context.out.result(data, () => context.out.success(`Regions: ${spelled(data.regions)}.`));
        return 0;
      },
    }),
  },
};

async function create(context: Context, name: string, options: Create): Promise<number> {
  const { email } = options;
  if (!email)
    throw usage('--email is required.', 'Pass the e-mail address of the owner: --email you@example.com');
  const { url, token } = await bootstrapOf(context, options.bootstrapFile);
  // The stored key of another organisation may be the only copy.
  // safety: cli-org-overwrite
  if (!options.printKey && context.store.place(url, context.profile))
    await context.confirmDestruction(
      `This replaces the credential for ${url} in the profile ${context.profile}. To keep it, use another profile: --profile NAME.`,
    );
  const founded = await found(context, url, token, {
    name,
    owner: { email, name: options.name ?? email.replace(/@.*/s, '') },
  });
  const stored = options.printKey ? undefined : await keep(context, url, founded);
  report(context, url, founded, stored);
  return 0;
}

/**
 * Creates exactly one organisation, even if a response is lost: the request is retried with the same
 * Idempotency-Key.
 */
async function found(context: Context, url: string, token: string, body: object): Promise<Founded> {
  const idempotencyKey = randomUUID();
  for (let attempt = 1; ; attempt++) {
    try {
      return await call<Founded>(context.host, url, '/orgs', { token, body, idempotencyKey });
    } catch (error) {
      const { exit, code, status } = asCliError(error).problem;
      const isUnclear = exit === 'unreachable' && status !== 429;
      if (!isUnclear) throw error;
      if (attempt < 3) continue;
      const next =
        'Check that the vault is running and whether the organisation exists before you try again: svc org list';
      throw new CliError(asCliError(error).message, { exit, code, status, next });
    }
  }
}

/** Stores the API key. If that fails, the key is printed, so that it is not lost. */
async function keep(
  context: Context,
  url: string,
  { org, api_key }: Founded,
): Promise<'keychain' | 'file' | undefined> {
  try {
    const place = await context.store.save(url, context.profile, { kind: 'token', token: api_key.token });
    writeProfile(context.configDir, context.profile, {
      url,
      org: org.id,
      environment: org.default_environment,
    });
    return place;
  } catch (error) {
    context.out.warn(
      `The API key could not be stored: ${(error as Error).message} It is printed below instead.`,
    );
    return undefined;
  }
}

/** Writes only the enrolment link to stdout, or only the API key if it is not stored. */
function report(
  { out, profile }: Context,
  url: string,
  { org, owner, api_key }: Founded,
  stored: string | undefined,
): void {
  const { enrolment_url } = owner;
  const key = stored ? {} : { token: api_key.token };
  const result = {
    url,
    org: { id: org.id, name: org.name },
    owner: { id: owner.id, email: owner.email, enrolment_url },
    api_key: { id: api_key.id, ...key },
    profile: stored ? profile : null,
    stored_in: stored ?? null,
  };
  out.result(result, () => {
    out.success(`Created the organisation ${clean(org.name)} (${org.id}) at ${url}.`);
    if (stored) {
      out.note(
        `Stored its first API key, which has every permission, in the ${stored} of the profile ${profile}.`,
      );
      out.note(`For ${clean(owner.email)}: open this link in a browser to set up a passkey. It works once.`);
      out.line(clean(enrolment_url));
      return;
    }
    out.note(
      `For ${clean(owner.email)}: open this link in a browser to set up a passkey. It works once.`,
      enrolment_url,
    );
    out.note('Its first API key has every permission. It is shown only once:');
    out.line(api_key.token);
  });
}

export default group;
