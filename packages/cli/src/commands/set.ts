// svc set: creates a secret or gives it a new value. Invariant: the value comes from a prompt, from stdin or from the vault's generator,
// never from an argument.
import { command, count, duration, tag } from '../command.ts';
import { type CommonOptions, type Context, isProduction } from '../context.ts';
import { usage } from '../errors.ts';
import { askSecret, canAsk, readStdin, withoutEchoedBreak } from '../prompts.ts';
import { lookUpSecret, type SecretInfo, secretNamed, valueInArgument } from '../secrets.ts';
import { TYPES } from './list.ts';

interface Options extends CommonOptions {
  type?: SecretInfo['type'];
  description?: string;
  tag?: string[];
  ttl?: number;
  create?: boolean;
  generate?: boolean;
  length?: number;
  charset?: 'alphanumeric' | 'hex' | 'base64url' | 'ascii';
  show?: boolean;
  raw?: boolean;
}

const GENERATED = ['password', 'webhook_secret', 'ssh_key', 'private_key'];

export default command<Options>({
  needs: 'environment',
  confirms: true,
  args: { '<name>': 'the name of the secret', '[value...]': 'refused: a value never stands on the command line' },
  options: {
    '--type <type>': { description: 'its type; generic for a new secret', choices: TYPES },
    '--description <text>': 'what it is for; not encrypted',
    '--tag <key=value>': {
      description: 'a tag; may be given several times',
      parse: (text, flag) => tag(text, flag).join('='),
      repeat: true,
    },
    '--ttl <duration>': { description: 'its lifetime, such as 12h or 30d', parse: duration },
    '--create': 'fail if it exists',
    '--generate': 'let the vault generate the value',
    '--length <n>': { description: 'characters to generate', parse: count },
    '--show': 'print a generated value',
    '--raw': 'keep every byte of stdin, a last line break too',
  },
  examples: {
    'set DATABASE_URL': 'Type the value at a prompt',
    'set TLS_KEY --type private_key < key.pem': 'Take it from a file',
    'set ADMIN_PASSWORD --generate --length 32': 'Let the vault generate it',
  },
  notes: ['A value of one line from stdin loses its last line break, which echo adds. A value of several lines stays as it is.'],
  async run(context, { args: [given = ''], rest, options }) {
    // safety: CLI_VALUE_IN_ARGV
    if (rest.length > 0) throw valueInArgument();
    const name = secretNamed(given);
    if (!options.generate && (options.length || options.show)) throw usage('--length and --show go with --generate.');
    if (options.generate) return generated(context, name, options);
    const existing = options.create ? undefined : await existingInProduction(context, name);
    const value = await valueFor(context, name, Boolean(options.raw));
    if (existing)
      await context.confirmProduction(
        `${name} in ${existing.environment} gets a new value, after version ${existing.version}.`,
        existing.environment,
      );
    const { vault, org_id } = await context.vault();
    const { type, description } = options;
    const { data, response } = await vault.api.PUT('/orgs/{org_id}/secrets/by-name/{name}', {
      params: { path: { org_id, name }, query: { environment: context.setting('environment')?.value } },
      headers: { ...context.approved(), ...(options.create && { 'If-None-Match': '*' }) },
      body: { value, type, description, tags: tagsOf(options), ttlSeconds: options.ttl },
    });
    const word = response.status === 201 ? 'Created' : 'Set';
    context.out.result(data, () => context.out.success(`${word} ${data.name} in ${data.environment}, version ${data.version}.`));
    return 0;
  },
});

/** The secret where a person is asked before it changes. */
async function existingInProduction(context: Context, name: string): Promise<SecretInfo | undefined> {
  if (context.options.yes || !canAsk(context.host)) return undefined;
  const environment = await context.environment().catch(() => undefined);
  if (environment && !isProduction(environment)) return undefined;
  return lookUpSecret(context, name).catch(() => undefined);
}

const tagsOf = ({ tag }: Options) =>
  tag && Object.fromEntries(tag.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));

async function valueFor(context: Context, name: string, raw: boolean): Promise<string> {
  if (canAsk(context.host)) return askSecret(context.host, `Value of ${name}:`);
  if (context.host.stdin.isTTY) throw usage('There is no value.', 'Pass it through stdin: svc set NAME < FILE');
  const text = await readStdin(context.host, 'The value');
  const value = raw ? text : withoutEchoedBreak(text);
  if (value === '') throw usage('stdin is empty.', 'Pass the value through stdin: svc set NAME < FILE');
  return value;
}

/** A value that the vault makes: a new secret, or a rotation of the one that has the name. */
async function generated(context: Context, name: string, options: Options): Promise<number> {
  const { vault, org_id } = await context.vault();
  const existing = await lookUpSecret(context, name);
  const generate = { length: options.length };
  if (existing && options.create) throw usage(`${name} exists already.`, 'Leave out --create to rotate it');
  if (existing)
    await context.confirmProduction(
      `${name} in ${existing.environment} gets a new value, after version ${existing.version}.`,
      existing.environment,
    );
  const type = options.type ?? 'password';
  if (!existing && !GENERATED.includes(type)) throw usage(`The vault generates values of the types ${GENERATED.join(', ')}.`);
  const { description, ttl } = options;
  const { data } = existing
    ? await vault.api.POST('/orgs/{org_id}/secrets/{id}/rotate', {
        params: { path: { org_id, id: existing.id } },
        headers: context.approved(),
        body: { generate },
      })
    : await vault.api.POST('/orgs/{org_id}/secrets', {
        params: { path: { org_id } },
        headers: context.approved(),
        body: {
          name,
          type,
          generate,
          description,
          tags: tagsOf(options),
          ttlSeconds: ttl,
          environment: context.setting('environment')?.value,
        },
      });
  const { value, ...shown } = data as SecretInfo & { value?: string | null };
  context.out.result(options.show ? data : shown, () => {
    context.out.success(`Generated ${shown.name} in ${shown.environment}, version ${shown.version}.`);
    if (options.show && value) context.out.line(value);
  });
  return 0;
}
