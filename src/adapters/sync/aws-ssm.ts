// AWS Systems Manager Parameter Store:
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html. A write creates a
// version and has no idempotency token, so a repeat reads first. Listings contain the decrypted values.
import { z } from '@hono/zod-openapi';
import { bytesOf, empty, KB, type Problem, type Put, type Remote, syncAdapter, tooLarge } from './adapter';
import { awsCalls, awsFields, awsPages, awsVendor } from './aws';
import type { Reply } from './call';
import { checked } from './names';
import { shaped } from './shapes';
import { unreadable } from './target-error';

const STANDARD = 4 * KB;
const MOST = 8 * KB;
const ADVANCED = { Tier: 'Advanced' };
const MOST_LEVELS = 15;

const Parameter = z.object({ Name: z.string(), Value: z.string() });
const Page = z.object({ Parameters: z.array(Parameter), NextToken: z.string().nullish() });
const Deleted = z.object({
  DeletedParameters: z.array(z.string()).nullish(),
  InvalidParameters: z.array(z.string()).nullish(),
});
const Found = z.object({ Parameter });

/** AWS treats text in double braces as a reference to another parameter. */
function reference(value: string): Problem | null {
  const start = value.indexOf('{{');
  if (start < 0 || !value.includes('}}', start + 2)) return null;
  return { code: 'VALUE_NOT_ALLOWED', message: 'The target does not accept "{{" and "}}" in a value.' };
}

export const awsSsm = syncAdapter({
  platform: 'aws-ssm',
  config: z.strictObject({
    ...awsFields,
    pathPrefix: z
      .string()
      .max(1011)
      .regex(
        /^\/([A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*)?$/,
        'must be a path like /production/api, without a trailing slash',
      ),
  }),
  credentials: ['secretAccessKey', 'sessionToken'],
  name(name, { pathPrefix }) {
    const target = `${pathPrefix === '/' ? '' : pathPrefix}/${name}`;
    if (target.split('/').length - 1 > MOST_LEVELS)
      return {
        code: 'NAME_INVALID',
        message: `The target accepts names with at most ${MOST_LEVELS} levels.`,
      };
    return checked(target, 1011, /^\/(aws|ssm)/i);
  },
  value: (value) => empty(value) ?? tooLarge(value, MOST) ?? reference(value),
  redeploy: false,
  vendor: (config) => awsVendor('ssm', config),
  open(client, { region, pathPrefix }) {
    const ask = awsCalls('ssm', 'AmazonSSM', region);
    const get = (Name: string) =>
      ask('GetParameter', { Name, WithDecryption: true }, { expects: ['ParameterNotFound'] });
    const valueIn = ({ code, body }: Reply) => (code === null ? shaped(Found, body).Parameter.Value : null);
    const save = ({ target, value }: Put, tier: object, expects: string[]) => {
      const parameter = { Name: target, Value: value, Type: 'SecureString', Overwrite: true, ...tier };
      const settle = { call: get(target), done: (reply: Reply) => valueIn(reply) === value };
      return client.call(ask('PutParameter', parameter, { expects, settle }));
    };
    return {
      listsValues: true,
      async list() {
        const query = { Path: pathPrefix, Recursive: true, WithDecryption: true, MaxResults: 10 };
        const read = async (next: object) =>
          shaped(
            Page,
            (await client.call(ask('GetParametersByPath', { ...query, ...next }, { purpose: 'list' }))).body,
          );
        const pages = await awsPages(read, ({ Parameters }) => Parameters.length);
        return pages.flatMap(({ Parameters }) =>
          Parameters.map(({ Name, Value }): Remote => ({ target: Name, value: Value })),
        );
      },
      async read({ target }) {
        return valueIn(await client.call(get(target)));
      },
      async put(put) {
        const { value, remote } = put;
        const isLarge = bytesOf(value) > STANDARD;
        // A parameter that once was advanced stays so: without its tier, AWS may reject the write as a
        // downgrade.
        const reply = await save(
          put,
          isLarge ? ADVANCED : {},
          remote && !isLarge ? ['ValidationException'] : [],
        );
        if (reply.code !== null) await save(put, ADVANCED, []);
        return { action: remote ? 'updated' : 'created' };
      },
      async remove({ target }) {
        const { DeletedParameters, InvalidParameters } = shaped(
          Deleted,
          (await client.call(ask('DeleteParameters', { Names: [target] }))).body,
        );
        if (![...(DeletedParameters ?? []), ...(InvalidParameters ?? [])].includes(target))
          throw unreadable();
        return { action: 'deleted' };
      },
    };
  },
});
