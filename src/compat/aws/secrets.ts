// The calls on a secret that touch no value: what it is, its versions, tags, deletion, labels, and policies,
// which no secret has here.
import { z } from '@hono/zod-openapi';
import { fromCursor, toCursor } from '../../db/page';
import { RESTORABLE } from '../../db/rows';
import type { AwsShown } from '../../domains/secrets/gate/aws/lookup';
import type { AwsVersions } from '../../domains/secrets/gate/aws/reads';
import type { AwsDeleted } from '../../domains/secrets/gate/aws/writes';
import { TagName } from '../../domains/secrets/wire';
import { ApiError, refuse } from '../../errors';
import type { RenderContext } from '../../http/context';
import { answered, arnOf, seconds, versionId, versionOfId } from './answers';
import { Flag, NextToken, SecretId, TagList, tagMap } from './fields';
import { type At, atOf, becomes, suffixIn } from './route';

const OneSecret = z.object({ SecretId });

const identity = ({ id, name }: AwsShown, { region }: Pick<At, 'region'>) => ({
  ARN: arnOf(region, name, id),
  Name: name,
});

/** The labels of each version that has one. */
function labelsOf({ version, previous }: AwsShown): Record<string, string[]> {
  return {
    ...(version > 0 && { [versionId(version)]: ['AWSCURRENT'] }),
    ...(previous !== null && { [versionId(previous)]: ['AWSPREVIOUS'] }),
  };
}

/** A secret as DescribeSecret shows it; lists name its labels otherwise. */
export const described = (
  secret: AwsShown,
  region: string,
  labels: 'VersionIdsToStages' | 'SecretVersionsToStages',
) => ({
  ...identity(secret, { region }),
  ...(secret.description !== null && { Description: secret.description }),
  RotationEnabled: false,
  LastChangedDate: seconds(secret.updated_at),
  ...(secret.deleted_at !== null && { DeletedDate: seconds(secret.deleted_at) + RESTORABLE / 1000 }),
  Tags: Object.entries(secret.tags).map(([Key, Value]) => ({ Key, Value })),
  ...(secret.version > 0 && { [labels]: labelsOf(secret) }),
  CreatedDate: seconds(secret.created_at),
});

const showing = {
  action: 'secret.versions',
  operation: 'secret.show_aws',
  prepare: (input: Parameters<typeof suffixIn>[0]) => ({ input: suffixIn(input) }),
} as const;

const describeSecret = becomes(OneSecret, showing, {
  shows: (secret: AwsShown, { region }) => described(secret, region, 'VersionIdsToStages'),
});

/** There are no resource policies; clients ask for one and take one away. */
const noPolicy = becomes(OneSecret, showing, {
  shows: (secret: AwsShown, at) => identity(secret, at),
});

/** Refuses what has no counterpart here, after it has identified the caller. */
const refusing = (message: string) =>
  becomes(z.object({}), {
    action: 'environment.mounts',
    prepare() {
      throw new ApiError(refuse('CONFLICT', { message }));
    },
  });

const ListVersions = z.object({
  SecretId,
  MaxResults: z.int().min(1).max(100).default(100),
  NextToken: NextToken.optional(),
  IncludeDeprecated: Flag.optional(),
});

const listOfVersions = (at: At) => JSON.stringify(['aws versions', at.environment, at.name]);

const listSecretVersionIds = becomes(ListVersions, {
  action: 'secret.versions',
  operation: 'secret.history_aws',
  prepare(input, { deployment, org }) {
    const { NextToken: token, MaxResults: limit } = input.body;
    const before =
      token === undefined ? null : fromCursor(deployment.cursor, org, listOfVersions(atOf(input)), token);
    if (token !== undefined && before === null) throw new ApiError(refuse('INVALID_CURSOR'));
    return { input: { ...suffixIn(input), limit, before: before === null ? null : Number(before) } };
  },
  render(secret: AwsVersions, input, { deployment, org }: RenderContext) {
    const at = atOf(input);
    const labels = labelsOf(secret);
    // A version without a label is deprecated in AWS's words.
    const isListed = (version: number) => input.body.IncludeDeprecated || versionId(version) in labels;
    const shown = secret.versions.filter(({ version }) => isListed(version));
    const isDone = !input.body.IncludeDeprecated || secret.next === null;
    return answered({
      ...identity(secret, at),
      Versions: shown.map(({ version, created_at }) => ({
        VersionId: versionId(version),
        VersionStages: labels[versionId(version)] ?? [],
        CreatedDate: seconds(created_at),
      })),
      ...(!isDone && {
        NextToken: toCursor(deployment.cursor, org, listOfVersions(at), String(secret.next)),
      }),
    });
  },
});

const DeleteSecret = z
  .object({
    SecretId,
    RecoveryWindowInDays: z.int().min(7).max(30).optional(),
    ForceDeleteWithoutRecovery: Flag.optional(),
  })
  .refine(
    ({ RecoveryWindowInDays: days, ForceDeleteWithoutRecovery: force }) => days === undefined || !force,
    { message: 'must not be sent together with RecoveryWindowInDays', path: ['ForceDeleteWithoutRecovery'] },
  );

const deleteSecret = becomes(
  DeleteSecret,
  {
    action: 'secret.delete',
    operation: 'secret.delete_aws',
    prepare: (input) => ({
      input: { ...suffixIn(input), permanent: input.body.ForceDeleteWithoutRecovery ?? false },
    }),
  },
  {
    isWrite: true,
    shows: ({ id, name, ends_at }: AwsDeleted, { region }) => ({
      // What is not there has no id; clients only echo an ARN.
      ARN: arnOf(region, name, id ?? 'sec_000000'),
      Name: name,
      DeletionDate: seconds(ends_at),
    }),
  },
);

const restoreSecret = becomes(
  OneSecret,
  {
    action: 'secret.restore',
    operation: 'secret.restore_aws',
    prepare: (input) => ({ input: suffixIn(input) }),
  },
  { isWrite: true, shows: (secret: AwsShown, at) => identity(secret, at) },
);

const tagging = { action: 'secret.update', operation: 'secret.describe_aws' } as const;

const tagResource = becomes(
  z.object({ SecretId, Tags: TagList }),
  { ...tagging, prepare: (input) => ({ input: { ...suffixIn(input), tags: tagMap(input.body.Tags) } }) },
  { isWrite: true, shows: () => ({}) },
);

const untagResource = becomes(
  z.object({ SecretId, TagKeys: z.array(TagName).max(64) }),
  {
    ...tagging,
    prepare: (input) => ({
      input: {
        ...suffixIn(input),
        tags: Object.fromEntries(input.body.TagKeys.map((key) => [key, null])),
      },
    }),
  },
  { isWrite: true, shows: () => ({}) },
);

const VersionId = z.string().min(32).max(64).optional();

const updateSecretVersionStage = becomes(
  z.object({
    SecretId,
    VersionStage: z.string().min(1).max(256),
    RemoveFromVersionId: VersionId,
    MoveToVersionId: VersionId,
  }),
  {
    action: 'secret.update',
    operation: 'secret.label_aws',
    prepare: (input) => {
      const { VersionStage: label, RemoveFromVersionId: from, MoveToVersionId: to } = input.body;
      return {
        input: {
          ...suffixIn(input),
          label,
          from: from === undefined ? null : versionOfId(from),
          to: to === undefined ? null : versionOfId(to),
        },
      };
    },
  },
  { isWrite: true, shows: (secret: AwsShown, at) => identity(secret, at) },
);

const ROTATION = 'Rotation by Lambda functions is not supported: use the policies of this service.';
const REPLICAS = 'Replicas of single secrets are not supported: an organisation has regions.';
const POLICIES = 'Resource policies are not supported: credentials and grants say who may read a secret.';

export const secrets = {
  DescribeSecret: describeSecret,
  ListSecretVersionIds: listSecretVersionIds,
  DeleteSecret: deleteSecret,
  RestoreSecret: restoreSecret,
  TagResource: tagResource,
  UntagResource: untagResource,
  UpdateSecretVersionStage: updateSecretVersionStage,
  GetResourcePolicy: noPolicy,
  DeleteResourcePolicy: noPolicy,
  PutResourcePolicy: refusing(POLICIES),
  ValidateResourcePolicy: refusing(POLICIES),
  RotateSecret: refusing(ROTATION),
  CancelRotateSecret: refusing(ROTATION),
  ReplicateSecretToRegions: refusing(REPLICAS),
  RemoveRegionsFromReplication: refusing(REPLICAS),
  StopReplicationToReplica: refusing(REPLICAS),
};
