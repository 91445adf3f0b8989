// svc org: organisations of a deployment, with its bootstrap token. Invariants: the token is no argument, is stored nowhere, and goes only to
// an address that the person named, or to this machine; the first API key, which the vault shows once, is stored or printed, never lost.
import { randomUUID } from 'node:crypto';
import { BOOTSTRAP_NOTE, BOOTSTRAP_OPTIONS, bootstrapOf, DEV_VARS } from '../bootstrap.ts';
import { type Group, member } from '../command.ts';
import { writeProfile } from '../config.ts';
import type { CommonOptions, Context } from '../context.ts';
import { asCliError, CliError, usage } from '../errors.ts';
import { clean } from '../text.ts';
import { call } from '../unsigned.ts';

interface Bootstrap extends CommonOptions {
  bootstrapFile?: string;
}

interface Create extends Bootstrap {
  email?: string;
  name?: string;
  printKey?: boolean;
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
    create: member<Create>('Create an organisation, and keep its first API key', {
      needs: 'nothing',
      confirms: true,
      args: { '<name>': 'what it is called' },
      options: {
        '--email <address>': 'the e-mail address of its owner',
        '--name <name>': 'the name of its owner; taken from the address by default',
        '--print-key': 'print the API key, and store nothing',
        ...BOOTSTRAP_OPTIONS,
      },
      examples: {
        'org create Acme --email you@example.com': `In a clone: the token is in ${DEV_VARS}`,
        'org create Acme --email you@example.com --url https://vault.example.com': 'Type the token at a prompt',
      },
      notes: [
        'The API key can do everything. It is stored like a credential of svc login, so that the next commands work. The enrolment link is for the owner: it works once, and sets up a passkey.',
        BOOTSTRAP_NOTE,
      ],
      run: (context, { args: [name = ''], options }) => create(context, name, options),
    }),
    list: member<Bootstrap>('List the organisations of a deployment', {
      needs: 'nothing',
      options: BOOTSTRAP_OPTIONS,
      examples: { 'org list': `In a clone: the token is in ${DEV_VARS}` },
      notes: [BOOTSTRAP_NOTE],
      async run(context, { options }) {
        const { url, token } = await bootstrapOf(context, options.bootstrapFile);
        const rows: Org[] = [];
        for (let cursor = ''; ; ) {
          const query = new URLSearchParams({ limit: '100', ...(cursor && { cursor }) });
          const page = await call<{ data: Org[]; next_cursor: string | null }>(context.host, url, `/orgs?${query}`, { token });
          rows.push(...page.data);
          if (!page.next_cursor) break;
          cursor = page.next_cursor;
        }
        const columns = { id: (row: Org) => row.id, name: (row: Org) => row.name, created: (row: Org) => row.created_at };
        context.out.list(rows, columns, 'There are no organisations.');
        return 0;
      },
    }),
  },
};

async function create(context: Context, name: string, options: Create): Promise<number> {
  const { email } = options;
  if (!email) throw usage('--email is missing.', 'Give the e-mail address of the owner: --email you@example.com');
  const { url, token } = await bootstrapOf(context, options.bootstrapFile);
  // The key of another organisation may be nowhere else.
  // safety: cli-org-overwrite
  if (!options.printKey && context.store.place(url, context.profile))
    await context.confirmDestruction(
      `The profile ${context.profile} has a credential for ${url}, which is replaced. Keep it with --profile NAME.`,
    );
  const founded = await found(context, url, token, { name, owner: { email, name: options.name ?? email.replace(/@.*/s, '') } });
  const stored = options.printKey ? undefined : await keep(context, url, founded);
  report(context, url, founded, stored);
  return 0;
}

/** One organisation, also where an answer is lost: the call is repeated under one Idempotency-Key. */
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
      const next = 'Start the vault, and see whether the organisation is there before you try again: svc org list';
      throw new CliError(asCliError(error).message, { exit, code, status, next });
    }
  }
}

/** Stores the API key. Where that fails, it is printed in place of being lost. */
async function keep(context: Context, url: string, { org, api_key }: Founded): Promise<'keychain' | 'file' | undefined> {
  try {
    const place = await context.store.save(url, context.profile, { kind: 'token', token: api_key.token });
    writeProfile(context.configDir, context.profile, { url, org: org.id, environment: org.default_environment });
    return place;
  } catch (error) {
    context.out.warn(`The API key could not be stored: ${(error as Error).message} It is printed instead.`);
    return undefined;
  }
}

/** The enrolment link is alone on stdout, or the API key where it is not stored. */
function report({ out, profile }: Context, url: string, { org, owner, api_key }: Founded, stored: string | undefined): void {
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
      out.note(`Its first API key, which can do everything, is stored in the ${stored} of the profile ${profile}.`);
      out.note(`For ${clean(owner.email)}: open this link once in a browser to set up a passkey.`);
      out.line(clean(enrolment_url));
      return;
    }
    out.note(`For ${clean(owner.email)}: open this link once in a browser to set up a passkey.\n${enrolment_url}`);
    out.note('Its first API key can do everything, and is shown only this once:');
    out.line(api_key.token);
  });
}

export default group;
