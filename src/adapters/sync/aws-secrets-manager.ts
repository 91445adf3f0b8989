// AWS Secrets Manager: https://docs.aws.amazon.com/secretsmanager/latest/apireference/Welcome.html. With
// `prefix`, each name is a secret. With `secretName`, all names are keys of one JSON secret, which is read
// again right before it is written: keys of others stay, with every digit unchanged.
import { z } from '@hono/zod-openapi';
import {
  type BatchTarget,
  bytesOf,
  type EachTarget,
  empty,
  KB,
  type Problem,
  type Put,
  type Remote,
  syncAdapter,
  TargetError,
  tooLarge,
  type Written,
} from './adapter';
import { awsCalls, awsFields, awsPages, awsVendor } from './aws';
import type { Reply } from './call';
import type { Client } from './client';
import { checked } from './names';
import { shaped } from './shapes';

const MOST = 64 * KB;
const NAME = /^[A-Za-z0-9/_+=.@-]*$/;

const Page = z.object({
  SecretList: z.array(z.object({ Name: z.string() })),
  NextToken: z.string().nullish(),
});
const Secret = z.object({ SecretString: z.string().nullish() });

const Config = z
  .strictObject({
    ...awsFields,
    secretName: z
      .string()
      .min(1)
      .max(512)
      .regex(NAME, 'must have only letters, digits and /_+=.@-')
      .optional(),
    prefix: z.string().max(512).regex(NAME, 'must have only letters, digits and /_+=.@-').optional(),
  })
  .refine(
    ({ secretName, prefix }) => (secretName === undefined) !== (prefix === undefined),
    'must have either secretName or prefix',
  );

export const awsSecretsManager = syncAdapter({
  platform: 'aws-secrets-manager',
  config: Config,
  credentials: ['secretAccessKey', 'sessionToken'],
  oneOf: [['secretName'], ['prefix']],
  name: (name, { prefix }) => (prefix === undefined ? { target: name } : checked(prefix + name, 512)),
  value: (value, _, { prefix }) => (prefix === undefined ? null : empty(value)) ?? tooLarge(value, MOST),
  redeploy: false,
  vendor: (config) => awsVendor('secretsmanager', config),
  open(client, { region, secretName, prefix }) {
    const calls = operations(client, region);
    return secretName === undefined ? eachSecret(calls, prefix ?? '') : oneSecret(calls, secretName);
  },
});

// ---------------------------------------------------------------- operations

const GONE = 'ResourceNotFoundException';
/** Most often: scheduled for deletion. */
const UNUSABLE = 'InvalidRequestException';
const EXISTS = 'ResourceExistsException';

function operations(client: Client, region: string) {
  const ask = awsCalls('secretsmanager', 'secretsmanager', region);
  const call = (operation: string, json: Record<string, unknown>, expects: string[]) =>
    client.call(ask(operation, json, { expects }));
  const putValue = (SecretId: string, SecretString: string, ClientRequestToken: string, expects: string[]) =>
    call('PutSecretValue', { SecretId, SecretString, ClientRequestToken }, expects);
  const get = (SecretId: string, purpose: 'list' | 'write') =>
    client.call(ask('GetSecretValue', { SecretId }, { purpose, expects: [GONE, UNUSABLE] }));
  const restore = (SecretId: string) => call('RestoreSecret', { SecretId }, []);
  return {
    get,
    restore,
    list: (query: Record<string, unknown>) => client.call(ask('ListSecrets', query, { purpose: 'list' })),
    remove: (SecretId: string) =>
      call('DeleteSecret', { SecretId, RecoveryWindowInDays: 30 }, [GONE, UNUSABLE]),
    /**
     * Writes a secret that exists, does not exist, or is scheduled for deletion. The token makes a repeat the
     * same write.
     */
    async write(
      name: string,
      value: string,
      token: string,
      isThere: boolean,
    ): Promise<'created' | 'updated'> {
      const create = (expects: string[]) =>
        call('CreateSecret', { Name: name, SecretString: value, ClientRequestToken: token }, expects);
      let { code } = isThere
        ? await putValue(name, value, token, [GONE, UNUSABLE])
        : await create([EXISTS, UNUSABLE]);
      if (code === null) return isThere ? 'updated' : 'created';
      if (code === GONE) ({ code } = await create([EXISTS, UNUSABLE]));
      if (code === null) return 'created';
      // A secret that exists but was not listed may be scheduled for deletion.
      if (code === EXISTS) ({ code } = await get(name, 'write'));
      if (code === UNUSABLE) await restore(name);
      await putValue(name, value, token, []);
      return 'updated';
    },
  };
}

type Operations = ReturnType<typeof operations>;

// ---------------------------------------------------------------- a secret for each name

function eachSecret({ list, get, remove, write }: Operations, prefix: string): EachTarget {
  return {
    async list() {
      const filter = prefix === '' ? {} : { Filters: [{ Key: 'name', Values: [prefix] }] };
      const read = async (next: object) =>
        shaped(Page, (await list({ MaxResults: 100, ...filter, ...next })).body);
      const pages = await awsPages(read, ({ SecretList }) => SecretList.length);
      const names = pages.flatMap(({ SecretList }) => SecretList.map(({ Name }) => Name));
      return names.filter((name) => name.startsWith(prefix)).map((target) => ({ target }));
    },
    async read({ target }) {
      return textOf(await get(target, 'write'));
    },
    async put({ target, value, remote, token }) {
      return { action: await write(target, value, token, remote !== null) };
    },
    async remove({ target }) {
      await remove(target);
      return { action: 'deleted' };
    },
  };
}

/** The text of a secret; null if it does not exist, is scheduled for deletion, or contains bytes. */
const textOf = ({ code, body }: Reply): string | null =>
  code === null ? (shaped(Secret, body).SecretString ?? null) : null;

// ---------------------------------------------------------------- one JSON secret for all names

function oneSecret({ get, restore, write }: Operations, name: string): BatchTarget {
  return {
    async list() {
      const reply = await get(name, 'list');
      if (reply.code !== null) return [];
      return [...entriesOf(reply)].map(
        ([target, value]): Remote => ({ target, value: typeof value === 'string' ? value : null }),
      );
    },
    async write(puts, removals) {
      let reply = await get(name, 'write');
      // Its contents can be read, and kept, only once it is restored.
      if (reply.code === UNUSABLE) {
        await restore(name);
        reply = await get(name, 'write');
      }
      const isThere = reply.code === null;
      const current = isThere ? entriesOf(reply) : new Map<string, unknown>();
      const before = jsonOf(current);
      const written = new Map<string, Written>();
      for (const { target } of removals) {
        current.delete(target);
        written.set(target, { action: 'deleted' });
      }
      for (const [target, result] of merge(current, puts)) written.set(target, result);
      const after = jsonOf(current);
      if (after !== before) await write(name, after, crypto.randomUUID(), isThere);
      return written;
    },
  };
}

/** Sets the values to write; all of them fail if the secret would become too large. */
function merge(current: Map<string, unknown>, puts: Put[]): [string, Written][] {
  const merged = new Map([...current, ...puts.map(({ target, value }) => [target, value] as const)]);
  if (bytesOf(jsonOf(merged)) > MOST)
    return puts.map(({ target }) => [target, { action: 'failed', ...FULL }]);
  const actions = puts.map(({ target }): [string, Written] => [
    target,
    { action: current.has(target) ? 'updated' : 'created' },
  ]);
  for (const { target, value } of puts) current.set(target, value);
  return actions;
}

const FULL: Problem = {
  code: 'VALUE_TOO_LARGE',
  message: `All values in one secret would have more than ${MOST} bytes.`,
};

/** The keys of a JSON secret, each with its text or with its original JSON. */
function entriesOf({ body }: Reply): Map<string, unknown> {
  const parsed = exactly(shaped(Secret, body).SecretString ?? '');
  // safety: sync-foreign-secret-kept
  if (parsed === undefined)
    throw new TargetError(
      { code: 'TARGET_REJECTED', message: 'The existing secret is not a JSON object.' },
      'sync',
    );
  return new Map(Object.entries(parsed));
}

const jsonOf = (entries: Map<string, unknown>): string => JSON.stringify(Object.fromEntries(entries));

// Not yet in TypeScript's types: https://tc39.es/proposal-json-parse-with-source/
const json = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): object;
  rawJSON(text: string): unknown;
};

/** Parses a JSON object so that numbers are written back unchanged; undefined if it is not an object. */
function exactly(text: string): object | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return json.parse(text, (_, value, { source }) =>
      typeof value === 'number' && source !== undefined ? json.rawJSON(source) : value,
    );
  } catch {
    return undefined;
  }
}
