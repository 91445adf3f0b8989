// HTTP route for generated files.
import type { z } from '@hono/zod-openapi';
import { formatOf } from '../../adapters/generate';
import { route } from '../../http/route';
import type { GenerateInput, SourcePage } from './gate/operations';
import { fileOf, optionsOf } from './service';
import * as wire from './wire';

type Body = z.output<typeof wire.GenerateIn>;

/** Files that are generated but not yet sent, by request body, and how often each was started. */
const underWay = new WeakMap<Body, { content: string; tries: number }>();

const inputOf = ({ format, environmentId, names }: Body): GenerateInput => ({
  format,
  environment: environmentId,
  names: names ?? null,
  valueless: formatOf(format).valueless ?? false,
  after: null,
  etag: null,
});

export const generateRoutes = [
  route({
    method: 'post',
    path: '/orgs/{org_id}/integrations/generate',
    action: 'integration.generate',
    tag: 'Integrations',
    summary: 'Generate a file of secrets',
    description:
      'Also needs secrets:read. Programs that read the format get each value back byte for byte. If that is not possible, the response is 422, with each affected secret in details. If an approval policy covers one of the secrets, the whole file waits for approval. The same secrets give the same file, except for github-actions, whose delimiters are random.',
    body: { schema: wire.GenerateIn },
    answers: { 200: wire.GeneratedFile },
    refusals: [
      'NOT_FOUND',
      'VALUE_NOT_REPRESENTABLE',
      'NAME_NOT_REPRESENTABLE',
      'NAME_COLLISION',
      'RESULT_TOO_LARGE',
    ],
    // It changes nothing: a repeat generates the file again.
    unkept: true,
    prepare({ body }) {
      optionsOf(body.format, body.options);
      return { input: inputOf(body) };
    },
    async more(first: SourcePage, { body }, context) {
      const input = inputOf(body);
      const { etag, content, refusal } = await fileOf(
        first,
        input,
        optionsOf(body.format, body.options),
        context,
        body.stripPrefixes,
      );
      const tries = (underWay.get(body)?.tries ?? 0) + 1;
      underWay.set(body, { content, tries });
      return { input: { ...input, made: { etag, tries, refusal } } };
    },
    render(_, { body }) {
      const { filename, contentType } = formatOf(body.format);
      return { json: { filename, contentType, content: underWay.get(body)?.content ?? '' } };
    },
  }),
];
