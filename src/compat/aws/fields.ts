// Members of requests, as AWS's service model has them. Members that the model does not have are ignored.
import { z } from '@hono/zod-openapi';
import { fromBase64, utf8 } from '../../crypto/bytes';
import { Tags } from '../../domains/secrets/wire';
import { text } from '../../http/wire';

export const SecretId = z.string().min(1).max(2048);
export const Token = z.string().min(32).max(64);
export const Flag = z.boolean();
export const NextToken = z.string().min(1).max(4096);

const MOST_VALUE = 65_536;
/** Bytes whose base64 is a value that can be stored. */
export const MOST_BINARY = 49_152;

export const SecretString = z
  .string()
  .min(1)
  .refine((value) => utf8(value).length <= MOST_VALUE, 'must have at most 65536 bytes')
  .refine((value) => value.isWellFormed(), 'must be well-formed Unicode');
export const SecretBinary = z
  .string()
  .min(1)
  .refine((value) => fromBase64(value) !== null, 'must be base64')
  .refine(
    (value) => (fromBase64(value)?.length ?? 0) <= MOST_BINARY,
    `must have at most ${MOST_BINARY} bytes`,
  );

/** AWS's clients send an empty description for none. */
export const Description = z.union([z.literal(''), text(2048)]);
/** Some clients always send the key of the account, which means nothing here. */
export const KmsKeyId = z.string().refine((id) => id === '' || id === 'alias/aws/secretsmanager', {
  message: 'must be alias/aws/secretsmanager: values are encrypted with the key of the organisation',
});

const Tag = z.object({ Key: z.string().min(1), Value: z.string() });

/** Tags as a list, with the limits of ours. */
export const TagList = z
  .array(Tag)
  .max(64)
  .superRefine((tags, context) => {
    const map = new Map(tags.map(({ Key, Value }) => [Key, Value]));
    if (map.size !== tags.length)
      context.addIssue({ code: 'custom', message: 'must not have a key twice', path: [] });
    const checked = Tags.safeParse(Object.fromEntries(map));
    for (const { path, message } of checked.error?.issues ?? [])
      context.addIssue({ code: 'custom', message, path: path.slice(0, 1) });
  });

export const tagMap = (tags: z.output<typeof TagList> = []): Record<string, string> =>
  Object.fromEntries(tags.map(({ Key, Value }) => [Key, Value]));

/** Exactly one of the two members of a value; neither where it is not needed. */
export const oneValue =
  (isNeeded: boolean) =>
  ({ SecretString: text, SecretBinary: bytes }: { SecretString?: string; SecretBinary?: string }): boolean =>
    text === undefined ? bytes !== undefined || !isNeeded : bytes === undefined;

export const ONE_VALUE = {
  message: 'must be given either as SecretString or as SecretBinary',
  path: ['SecretString'],
};
