// svc set: creates a secret or changes its value. Invariant: the value comes from a prompt, from stdin or
// from the vault's generator, never from an argument.
import { secretTypes } from '@secrets-vault/client';
import { type Context, isProduction } from '../context.ts';
import { command, duration, tag, tagsOf } from '../definition/command.ts';
import { asCliError, CliError, usage } from '../errors.ts';
import { lookUpSecret, type SecretInfo, secretNamed } from '../secrets/lookup.ts';
import {
  checkValueOptions,
  givenValue,
  replaces,
  reportGenerated,
  VALUE_ARGUMENT,
  VALUE_NOTE,
  VALUE_OPTIONS,
  type ValueOptions,
} from '../secrets/values.ts';
import { canAsk } from '../terminal/prompts.ts';

interface Options extends ValueOptions {
  type?: SecretInfo['type'];
  description?: string;
  tag?: [string, string][];
  ttl?: number;
  create?: boolean;
  empty?: boolean;
}

const GENERATED: SecretInfo['type'][] = ['password', 'webhook_secret', 'ssh_key', 'private_key'];

export default command<Options>({
  needs: 'environment',
  confirms: true,
  completes: 'secrets',
  args: { '<name>': 'name of the secret', ...VALUE_ARGUMENT },
  options: {
    '--type <type>': { description: 'type of the secret, generic by default', choices: secretTypes },
    '--description <text>': 'purpose of the secret; not encrypted',
    '--tag <key=value>': { description: 'tag; may be repeated', parse: tag, repeat: true },
    '--ttl <duration>': { description: 'lifetime, such as 12h or 30d', parse: duration },
    '--create': 'fail if the secret exists',
    '--empty': 'store an empty value',
    ...VALUE_OPTIONS,
  },
  examples: {
    'set DATABASE_URL': 'Type the value at a prompt',
    'set TLS_KEY --type private_key < key.pem': 'Read the value from a file',
    'set ADMIN_PASSWORD --generate --length 32': 'Let the vault generate the value',
  },
  notes: [VALUE_NOTE],
  async run(context, { args: [given = ''], rest, options }) {
    checkValueOptions(options, rest);
    if (options.empty && (options.generate || options.raw))
      throw usage('--empty cannot be combined with --generate or --raw.');
    const name = secretNamed(given);
    // Before a prompt: what was typed there would be lost.
    const tags = tagsOf(options.tag, '--tag');
    if (options.generate) return generated(context, name, options, tags);
    const existing = options.create ? undefined : await seenInProduction(context, name);
    const value = options.empty ? '' : await givenValue(context, name, Boolean(options.raw));
    if (existing?.what) await context.confirmProduction(existing.what, existing.environment);
    const { vault, org_id } = await context.vault();
    const { type, description } = options;
    const { data, response } = await vault.api.PUT('/orgs/{org_id}/secrets/by-name/{name}', {
      params: { path: { org_id, name }, query: { environment: context.setting('environment')?.value } },
      headers: {
        ...context.approved(),
        // Nor one that was created since none was found.
        // safety: cli-set-new
        ...((options.create || existing?.what === null) && { 'If-None-Match': '*' }),
        // Only the version that the user was asked about is replaced.
        ...(existing?.etag && { 'If-Match': existing.etag }),
      },
      body: { value, type, description, tags, ttlSeconds: options.ttl },
    });
    const word = response.status === 201 ? 'Created' : 'Set';
    context.out.result(data, () =>
      context.out.success(`${word} ${data.name} in ${data.environment}, version ${data.version}.`),
    );
    return 0;
  },
});

interface InProduction {
  /** The question before the change; null if there is no such secret. */
  what: string | null;
  environment: string;
  etag?: string;
}

/** The secret that the change replaces, or that there is none; undefined if neither needs confirmation. */
async function seenInProduction(context: Context, name: string): Promise<InProduction | undefined> {
  if (context.options.yes || !canAsk(context.host)) return undefined;
  const environment = await context.environment();
  if (!isProduction(environment)) return undefined;
  try {
    const found = await lookUpSecret(context, name);
    return found
      ? { what: replaces(found), environment: found.environment, etag: found.etag }
      : { what: null, environment };
  } catch (error) {
    // A credential that may write may be unable to list.
    // safety: cli-set-unread
    if (asCliError(error).problem.status !== 403) throw error;
    return { what: `This replaces the value of ${name} in ${environment}, if there is one.`, environment };
  }
}

/** Lets the vault generate the value, for a new secret or an existing one of this name. */
async function generated(
  context: Context,
  name: string,
  options: Options,
  tags: Record<string, string> | undefined,
): Promise<number> {
  const { vault, org_id } = await context.vault();
  const existing = await lookUpSecret(context, name);
  const { type = 'password', description, ttl, length, charset } = options;
  const generate = { length, charset };
  const headers = context.approved();
  if (!existing) {
    if (!GENERATED.includes(type))
      throw usage(`The vault generates values only for the types ${GENERATED.join(', ')}.`);
    const environment = context.setting('environment')?.value;
    const body = { name, type, generate, description, tags, ttlSeconds: ttl, environment };
    const { data } = await vault.api.POST('/orgs/{org_id}/secrets', {
      params: { path: { org_id } },
      headers,
      body,
    });
    reportGenerated(context, options, 'Generated', data);
    return 0;
  }
  if (options.create)
    throw new CliError(`${name} already exists.`, {
      exit: 'conflict',
      code: 'SECRET_NAME_TAKEN',
      next: 'Omit --create to rotate it',
    });
  // A rotation changes the value alone.
  const unused = (['type', 'description', 'tag', 'ttl'] as const).find(
    (option) => options[option] !== undefined,
  );
  if (unused)
    throw usage(
      `${name} exists, so --${unused} would change nothing.`,
      `Leave it out, or set the value yourself: svc set ${name} --${unused} …`,
    );
  context.seen.note(existing.id, existing);
  await context.confirmProduction(replaces(existing), existing.environment);
  const { data } = await vault.api.POST('/orgs/{org_id}/secrets/{id}/rotate', {
    params: { path: { org_id, id: existing.id } },
    headers,
    body: { generate },
  });
  reportGenerated(context, options, 'Rotated', data);
  return 0;
}
