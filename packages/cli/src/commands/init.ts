// svc init: writes .svc.json, which sets the vault, organisation and environment of a directory, and lists
// the secrets that it expects. It contains no credential. Invariant: a secret that can steer programs gets on
// the list only by hand.
import fs from 'node:fs';
import path from 'node:path';
import { type CommonOptions, type Context, isProduction } from '../context.ts';
import { command, formed } from '../definition/command.ts';
import { asCliError, CliError, usage } from '../errors.ts';
import { UPSTREAM_NAME } from '../names.ts';
import { leftOut } from '../run/variables.ts';
import { namesIn, steeringOf } from '../secrets/expected.ts';
import { everything } from '../secrets/lookup.ts';
import { writeForeign } from '../settings/files.ts';
import { PROJECT_FILE, type Project } from '../settings/project.ts';
import { canAsk, choose } from '../terminal/prompts.ts';
import { counted } from '../text.ts';
import { initWorker, type WorkerOptions } from '../worker-init.ts';

interface Options extends CommonOptions, WorkerOptions {
  prefix?: string[];
  force?: boolean;
  worker?: boolean;
}

export default command<Options>({
  needs: 'environment',
  options: {
    '-p, --prefix <text>': {
      description: 'a prefix for svc run and svc export, which variable names leave out; may be repeated',
      repeat: true,
    },
    '--force': 'replace an existing file',
    '--worker':
      'bind the Cloudflare Worker of this directory to the vault instead: adds to wrangler.jsonc or wrangler.toml',
    '--trust <id>': {
      description: 'with --worker: the trust to act by; default: the one that takes the name of the Worker',
      parse: formed(/^trs_[A-Za-z0-9]{1,60}$/, 'the id of a trust, such as trs_…'),
    },
    '--upstream <name>': {
      description: 'with --worker: also bind this upstream; may be repeated',
      parse: formed(UPSTREAM_NAME, 'the name of an upstream, such as stripe'),
      repeat: true,
    },
    '--service <name>': {
      description: "with --worker: the name of the vault's own Worker; default: what the vault says",
      parse: formed(/^[A-Za-z0-9_-]{1,64}$/, 'the name of a Worker'),
    },
  },
  examples: {
    init: 'Choose the environment at a prompt',
    'init --env development': 'Configure this directory and its subdirectories',
    'init --env development --prefix shared/ --prefix billing/': 'Use the secrets shared/* and billing/*',
    'init --worker --upstream stripe': 'Bind a Worker to the vault, and to the upstream stripe',
  },
  notes: [
    'You can commit the file: it contains the vault address, the organisation, the environment and names of secrets, but no value and no credential.',
    'The field secrets lists the secrets that the project expects: svc check compares it with the vault. Of names that can steer programs, svc run sets only listed ones. svc init does not list those: add them yourself.',
  ],
  async run(context, { options }) {
    if (options.worker) return initWorker(context, options);
    const only = (['trust', 'upstream', 'service'] as const).find((name) => options[name] !== undefined);
    if (only) throw usage(`--${only} goes with --worker.`);
    const file = path.join(context.host.cwd, PROJECT_FILE);
    if (!options.force && fs.existsSync(file)) throw exists();
    const before = options.force ? projectBefore(context, file) : undefined;
    const { vault, org_id } = await context.vault();
    const slugs = await everything(async (query) => {
      const { data } = await vault.api.GET('/orgs/{org_id}/environments', {
        params: { path: { org_id }, query },
      });
      return data;
    });
    const environment = await chosen(
      context,
      slugs.map(({ slug }) => slug),
    );
    const prefixes = context.prefixes(options.prefix) ?? before?.prefixes;
    const secrets = await expected(context, environment, prefixes, before?.secrets);
    const { profile } = context;
    const settings = {
      url: context.origin,
      org: org_id,
      environment,
      profile: profile === 'default' ? undefined : profile,
      prefixes,
      secrets,
    };
    try {
      writeForeign(file, `${JSON.stringify(settings, null, 2)}\n`, options.force ? 'w' : 'wx');
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? exists() : error;
    }
    context.out.result({ file, ...settings }, () => {
      const listed = secrets ? `, which lists ${counted(secrets.length, 'secret')}` : '';
      context.out.success(
        `Wrote ${PROJECT_FILE}${listed}: environment ${environment} of ${org_id}. You can commit it.`,
      );
    });
    return 0;
  },
});

const exists = () =>
  new CliError(`${PROJECT_FILE} already exists.`, {
    exit: 'conflict',
    code: 'FILE_EXISTS',
    next: 'Replace it with svc init --force',
  });

/** The file that is replaced, which has no other effect. A damaged one is replaced too. */
function projectBefore(context: Context, file: string): Project | undefined {
  try {
    return context.project?.file === file ? context.project : undefined;
  } catch {
    return undefined;
  } finally {
    context.ignoreProject();
  }
}

/** The names to list. Of those that can steer programs, only ones that were listed before. */
async function expected(
  context: Context,
  environment: string,
  prefixes: string[] | undefined,
  before: string[] = [],
) {
  try {
    const names = await namesIn(context, environment, prefixes);
    // An empty list would say that the project expects no secret at all.
    if (names.length === 0) {
      context.out.note('There are no secrets yet, so none are listed. List them later with svc init --force');
      return undefined;
    }
    // safety: cli-init-steering
    const left = names.filter((name) => steeringOf(name, prefixes) && !before.includes(name));
    if (left.length > 0)
      context.out.warn(
        leftOut(
          left,
          'it can steer programs. If you expect it, add it to "secrets"',
          'they can steer programs. Add those that you expect to "secrets"',
        ),
      );
    return names.filter((name) => !left.includes(name));
  } catch (error) {
    if (asCliError(error).problem.status !== 403) throw error;
    context.out.note('This credential may not list secrets, so no names are written.');
    return undefined;
  }
}

/**
 * The environment given by --env or SVC_ENVIRONMENT, or chosen at a prompt. It is never the default one
 * unasked.
 */
async function chosen(context: Context, slugs: string[]): Promise<string> {
  const set = context.setting('environment');
  const isGiven = set?.source === 'flag' || set?.source === 'variable';
  if (!isGiven && canAsk(context.host)) {
    // Pressing Enter never chooses production, unless there is nothing else.
    const harmless = slugs.filter((slug) => !isProduction(slug));
    const initial = set && harmless.includes(set.value) ? set.value : harmless[0];
    return choose(context.host, 'Environment:', slugs, initial);
  }
  // safety: cli-init-environment
  if (!set || !isGiven)
    throw usage(
      'No environment is chosen, and there is no interactive terminal.',
      `Pass --env with one of ${slugs.join(', ')}`,
    );
  if (slugs.includes(set.value) || set.value.startsWith('env_')) return set.value;
  throw new CliError(`There is no environment ${set.value}.`, {
    exit: 'notFound',
    code: 'NOT_FOUND',
    next: `Use one of ${slugs.join(', ')}`,
  });
}
