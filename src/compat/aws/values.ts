// GetSecretValue and BatchGetSecretValue, and the calls that write values. Invariant: a value keeps its text
// both ways; bytes are kept as base64, with a mark on their version.
import { z } from '@hono/zod-openapi';
import { tuple } from '../../crypto/bytes';
import { hmacHex } from '../../crypto/digest';
import { newId } from '../../db/ids';
import { isSecretName } from '../../db/names';
import { decryptValue, encryptValue } from '../../domains/secrets/encryption';
import type { AwsListInput, AwsReadInput } from '../../domains/secrets/gate/aws/reads';
import type { AwsValue, AwsWritten } from '../../domains/secrets/gate/aws/writes';
import { knownId, rememberId } from '../../domains/secrets/known-ids';
import type { Delivered } from '../../domains/secrets/rules';
import { ApiError, type Refusal, refuse } from '../../errors';
import { type Context, keysOf, type RenderContext } from '../../http/context';
import type { Input, Prepared } from '../../http/route';
import { iso } from '../../http/wire';
import { isObjectText } from '../json-text';
import { answered, arnOf, seconds, versionId, versionOfId } from './answers';
import { errorOf } from './errors';
import {
  Description,
  Flag,
  KmsKeyId,
  NextToken,
  ONE_VALUE,
  oneValue,
  SecretBinary,
  SecretId,
  SecretString,
  TagList,
  Token,
  tagMap,
} from './fields';
import { Filters, listInput, pageOfList, positionOf } from './lists';
import { candidatesOf, isOfTheSecret } from './names';
import { type At, atOf, becomes, suffixIn } from './route';

// ---------------------------------------------------------------- reading

const GetSecretValue = z.object({
  SecretId,
  VersionId: z.string().min(32).max(64).optional(),
  VersionStage: z.string().min(1).max(256).optional(),
});

/** What the gate takes of a read. */
const readInput = (
  suffix: string | null,
  { VersionId, VersionStage }: Pick<z.output<typeof GetSecretValue>, 'VersionId' | 'VersionStage'> = {},
): AwsReadInput => ({
  suffix,
  version: VersionId === undefined ? null : versionOfId(VersionId),
  label: VersionStage ?? null,
  if_none_match: null,
  as_text: true,
});

/** A value that was read, as an answer shows it. */
async function valueShown(delivered: Delivered, region: string, context: Context): Promise<object> {
  const { row, version, value } = await decryptValue(keysOf(context), context.org, delivered);
  const isPrevious = version.version === row.version - 1 && row.unlabelled !== version.version;
  const label = version.version === row.version ? 'AWSCURRENT' : isPrevious ? 'AWSPREVIOUS' : null;
  return {
    ARN: arnOf(region, row.name, row.id),
    Name: row.name,
    VersionId: versionId(version.version),
    ...(version.binary ? { SecretBinary: value } : { SecretString: value }),
    ...(label && { VersionStages: [label] }),
    CreatedDate: seconds(iso(version.created_at)),
  };
}

const getSecretValue = becomes(GetSecretValue, {
  action: 'secret.read',
  operation: 'secret.read_aws',
  prepare: (input) => ({ input: readInput(suffixIn(input).suffix, input.body) }),
  render: async (found: Delivered, input, context: RenderContext) =>
    answered(await valueShown(found, atOf(input).region, context)),
});

const BATCH = 20;

/**
 * One secret of a batch, or why it is not there. Each counts as a request, and past the limit the batch is
 * refused as a whole.
 */
async function readEach(
  secretId: string,
  { environment, region }: At,
  context: RenderContext,
): Promise<{ value: object } | { error: object }> {
  let refusal: Refusal | null = null;
  for (const { name, suffix } of candidatesOf(secretId)) {
    if (!isSecretName(name)) continue;
    const outcome = await context.also({
      action: 'secret.read',
      operation: 'secret.read_aws',
      named: { environment, name },
      input: readInput(suffix),
      // safety: batch-reads-counted
      counts: true,
    });
    if (outcome.kind === 'ok') return { value: await valueShown(outcome.data as Delivered, region, context) };
    const found = outcome.kind === 'refused' ? outcome.refusal : refuse('INTERNAL');
    if (found.code === 'RATE_LIMITED') throw new ApiError(found);
    const isMeant = isOfTheSecret(found.code);
    if (isMeant || !refusal) refusal = found;
    if (isMeant) break;
  }
  const { type, message } = errorOf(refusal ?? refuse('NOT_FOUND'));
  return { error: { SecretId: secretId, ErrorCode: type, Message: message } };
}

async function batch(ids: readonly string[], at: At, context: RenderContext, NextToken?: string) {
  const read: Awaited<ReturnType<typeof readEach>>[] = [];
  for (const id of ids) read.push(await readEach(id, at, context));
  return answered({
    SecretValues: read.flatMap((one) => ('value' in one ? [one.value] : [])),
    Errors: read.flatMap((one) => ('error' in one ? [one.error] : [])),
    ...(NextToken !== undefined && { NextToken }),
  });
}

/** By a list of ids. Each read is one of its own, with its own entry in the audit log. */
const batchOfIds = becomes(z.object({ SecretIdList: z.array(SecretId).min(1).max(BATCH) }), {
  action: 'environment.mounts',
  render: (_: unknown, input, context: RenderContext) => batch(input.body.SecretIdList, atOf(input), context),
});

const BatchOfFilters = z.object({
  Filters: Filters.min(1),
  MaxResults: z.int().min(1).max(BATCH).default(BATCH),
  NextToken: NextToken.optional(),
});

const batchOfFilters = becomes(BatchOfFilters, {
  action: 'secret.list',
  operation: 'secret.list_aws',
  prepare: (input, context) => ({ input: listInput(input, context, false) satisfies AwsListInput }),
  async render(first, input, context: RenderContext) {
    const { items, next } = await pageOfList(first, input, context);
    const ids = items.filter(({ version }) => version > 0).map(({ name }) => name);
    return batch(ids, atOf(input), context, next === null ? undefined : positionOf(next, input, context));
  },
});

export const batchGetSecretValue = { batchOfIds, batchOfFilters };

// ---------------------------------------------------------------- writing

interface Value {
  SecretString?: string | undefined;
  SecretBinary?: string | undefined;
}

/** What a write brings, encrypted for a secret. The gate may ask again for another one. */
function valueInput(
  input: Pick<Input, 'params'>,
  { SecretString: text, SecretBinary: bytes }: Value,
  context: Context,
  id: string,
): AwsValue {
  const { environment, name = '', token } = atOf(input);
  const keys = keysOf(context);
  const value = text ?? bytes;
  return {
    token: token === undefined ? null : hmacHex(keys.digest, tuple('svc/v1/request-token', token)),
    is_json: text !== undefined && isObjectText(text),
    id: rememberId(context, { environment, name }, id),
    value:
      value === undefined
        ? null
        : { ...encryptValue(keys, context.org, id, value), binary: bytes === undefined ? null : 1 },
  };
}

const guess = (input: Pick<Input, 'params'>, context: Context): string => {
  const { environment, name = '' } = atOf(input);
  return knownId(context, { environment, name }) ?? newId('sec');
};

/** Prepares a write, and again with the secret that the gate names. */
const writing = <B extends Value>(further: (input: Input<unknown, B>) => object) => {
  const prepared = (input: Input<unknown, B>, context: Context, id: string): Prepared => ({
    input: { ...valueInput(input, input.body, context, id), ...further(input) },
  });
  return {
    prepare: (input: Input<unknown, B>, context: Context) => prepared(input, context, guess(input, context)),
    more: async ({ id }: { id: string | null }, input: Input<unknown, B>, context: Context) =>
      prepared(input, context, id ?? newId('sec')),
  };
};

const written = ({ id, name, written }: AwsWritten, { region }: At) => ({
  ARN: arnOf(region, name, id),
  Name: name,
  ...(written > 0 && { VersionId: versionId(written) }),
});

const PutSecretValue = z
  .object({
    SecretId,
    ClientRequestToken: Token.optional(),
    SecretString: SecretString.optional(),
    SecretBinary: SecretBinary.optional(),
    VersionStages: z.array(z.literal('AWSCURRENT')).min(1).max(1).optional(),
  })
  .refine(oneValue(true), ONE_VALUE);

const putSecretValue = becomes(
  PutSecretValue,
  {
    action: 'secret.update',
    operation: 'secret.write_aws',
    ...(writing((input) => suffixIn(input)) as object),
  },
  {
    isWrite: true,
    shows: (data: AwsWritten, at) => {
      const isCurrent = data.written === data.version;
      const label = isCurrent ? 'AWSCURRENT' : data.written === data.previous ? 'AWSPREVIOUS' : null;
      return { ...written(data, at), ...(label && { VersionStages: [label] }) };
    },
  },
);

const UpdateSecret = z
  .object({
    SecretId,
    ClientRequestToken: Token.optional(),
    Description: Description.optional(),
    KmsKeyId: KmsKeyId.optional(),
    SecretString: SecretString.optional(),
    SecretBinary: SecretBinary.optional(),
  })
  .refine(oneValue(false), ONE_VALUE);

const updateSecret = becomes(
  UpdateSecret,
  {
    action: 'secret.update',
    operation: 'secret.write_aws',
    ...(writing<z.output<typeof UpdateSecret>>((input) => ({
      ...suffixIn(input),
      ...(input.body.Description !== undefined && { description: input.body.Description || null }),
    })) as object),
  },
  {
    isWrite: true,
    // A version is told of only where the request made one.
    shows: (data: AwsWritten, at) => written(data, at),
  },
);

const CreateSecret = z
  .object({
    Name: z.string().refine(isSecretName, {
      message:
        'must have 1 to 255 characters: letters, digits, _ . / - and must start with a letter, a digit or _',
    }),
    ClientRequestToken: Token.optional(),
    Description: Description.optional(),
    KmsKeyId: KmsKeyId.optional(),
    SecretString: SecretString.optional(),
    SecretBinary: SecretBinary.optional(),
    Tags: TagList.optional(),
    AddReplicaRegions: z.array(z.unknown()).max(0, 'is not supported').optional(),
    ForceOverwriteReplicaSecret: Flag.optional(),
  })
  .refine(oneValue(false), ONE_VALUE);

const createSecret = becomes(
  CreateSecret,
  {
    action: 'secret.create',
    operation: 'secret.create_aws',
    ...(writing<z.output<typeof CreateSecret>>(({ body }) => ({
      description: body.Description || null,
      tags: tagMap(body.Tags),
    })) as object),
  },
  { isWrite: true, shows: (data: AwsWritten, at) => written(data, at) },
);

export const values = {
  GetSecretValue: getSecretValue,
  PutSecretValue: putSecretValue,
  UpdateSecret: updateSecret,
  CreateSecret: createSecret,
};
