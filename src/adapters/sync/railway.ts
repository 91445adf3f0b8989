// Railway variables: https://docs.railway.com/integrations/api/manage-variables. A GraphQL API: one mutation
// upserts all names, another deletes, and errors have status 200. Without a service, the variables are shared
// in the environment.
import { z } from '@hono/zod-openapi';
import { type Problem, type Removal, Segment, syncAdapter, Token, type Written } from './adapter';
import type { Meaning, Reply } from './call';
import { environmentName } from './names';
import { each, part, refused } from './parts';
import { shaped } from './shapes';

const LIST =
  'query ($p: String!, $e: String!, $s: String) { variables(projectId: $p, environmentId: $e, serviceId: $s, unrendered: true) }';
const UPSERT = 'mutation ($i: VariableCollectionUpsertInput!) { variableCollectionUpsert(input: $i) }';
/** One mutation that deletes many: the nth has the alias `d` and n. */
const deletes = (count: number): string => {
  const all = Array.from({ length: count }, (_, i) => i);
  const given = all.map((i) => `$i${i}: VariableDeleteInput!`).join(', ');
  return `mutation (${given}) { ${all.map((i) => `d${i}: variableDelete(input: $i${i})`).join(' ')} }`;
};

const Variables = z.object({ data: z.object({ variables: z.record(z.string(), z.unknown()) }) });
const Upserted = z.object({ data: z.object({ variableCollectionUpsert: z.literal(true) }) });
const Deleted = z.object({ data: z.record(z.string(), z.unknown()).nullish() });
const Refusal = z.object({
  message: z.string(),
  path: z.array(z.unknown()).nullish(),
  extensions: z.object({ code: z.unknown() }).nullish(),
});
/** Errors of another shape count as errors too. */
const Refused = z.object({
  errors: z
    .array(Refusal)
    .nullish()
    .catch([{ message: '' }]),
});

type Refusal = z.infer<typeof Refusal>;

/** Railway would replace a reference with another variable's value. */
const reference = (value: string): Problem | null =>
  // safety: railway-references-refused
  value.includes('${{')
    ? {
        code: 'VALUE_NOT_ALLOWED',
        message: 'The target reads "${{" in a value as the start of a reference to another variable.',
      }
    : null;

export const railway = syncAdapter({
  platform: 'railway',
  config: z.strictObject({
    token: Token,
    projectId: Segment,
    environmentId: Segment,
    serviceId: Segment.optional(),
    tokenType: z.enum(['account', 'project']).default('account'),
  }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  value: reference,
  // Deletions may have to be repeated name by name.
  most: 500,
  redeploy: true,
  vendor: ({ token, tokenType }) => ({
    headers: (tokenType === 'project'
      ? { 'Project-Access-Token': token }
      : { Authorization: `Bearer ${token}` }) as Record<string, string>,
    code: (body) => errorsOf(body)[0]?.extensions?.code,
    meaning,
  }),
  open(client, { projectId, environmentId, serviceId }) {
    const url = 'https://backboard.railway.com/graphql/v2';
    const place = { projectId, environmentId, ...(serviceId !== undefined && { serviceId }) };
    const ask = async (purpose: 'list' | 'write', query: string, variables: object, expects: number[] = []) =>
      (await client.call({ method: 'POST', purpose, url, json: { query, variables }, expects })).body;

    const remove = async (removals: Removal[], written: Map<string, Written>) => {
      const variables = Object.fromEntries(
        removals.map(({ target }, i) => [`i${i}`, { ...place, name: target }]),
      );
      const body = await ask('write', deletes(removals.length), variables, [200]);
      const errors = errorsOf(body);
      const data = Deleted.safeParse(body).data?.data;
      removals.forEach(({ target }, i) => {
        const error = errors.find(({ path }) => path?.[0] === `d${i}`) ?? errors.find(({ path }) => !path);
        if (error) written.set(target, outcomeOf(error, variables));
        // safety: railway-deletion-confirmed
        else if (data?.[`d${i}`] === true) written.set(target, { action: 'deleted' });
      });
    };

    return {
      async list() {
        const { data } = shaped(
          Variables,
          await ask('list', LIST, { p: projectId, e: environmentId, s: serviceId ?? null }),
        );
        return Object.entries(data.variables).map(([target, value]) => ({
          target,
          ...(typeof value === 'string' && { value }),
        }));
      },
      async write(puts, removals, written) {
        const names = puts.map(({ target }) => target);
        if (puts.length)
          await part(written, names, async () => {
            const variables = Object.fromEntries(puts.map(({ target, value }) => [target, value]));
            const body = await ask('write', UPSERT, {
              i: { ...place, variables, replace: false, skipDeploys: true },
            });
            if (!Upserted.safeParse(body).success) return;
            for (const { target, remote } of puts)
              written.set(target, { action: remote ? 'updated' : 'created' });
          });
        const without = (some: Removal[]) =>
          part(
            written,
            some.map(({ target }) => target),
            () => remove(some, written),
          );
        if (removals.length) await without(removals);
        // An error ends the mutation: the remaining names are deleted one by one.
        const open = removals.filter(({ target }) => !written.has(target));
        if (removals.length > 1) await each(open, (one) => without([one]));
        return written;
      },
    };
  },
});

const errorsOf = (body: unknown): Refusal[] => Refused.safeParse(body).data?.errors ?? [];

/** The meaning of an error: Railway identifies most of them only by text. */
function kindOf({ message, extensions }: Refusal): Meaning {
  const said = `${message} ${extensions?.code}`;
  if (/rate.?limit|too many requests/i.test(said)) return 'rate_limit';
  if (/not authorized|unauthorized|unauthenticated|forbidden|invalid.*token/i.test(said)) return 'auth';
  return /not.?found/i.test(said) ? 'not_found' : 'rejected';
}

function meaning({ status, body }: Reply): Meaning | null {
  if (status === 429 || status >= 500) return null;
  const [error] = errorsOf(body);
  const kind = error ? kindOf(error) : null;
  return kind === 'rejected' && status > 299 ? null : kind;
}

/** The result of a deletion that failed with an error. */
function outcomeOf(error: Refusal, sent: unknown): Written {
  const kind = kindOf(error);
  if (kind === 'not_found') return { action: 'deleted' };
  const written = refused(200, error.extensions?.code, sent);
  return kind === 'auth' && 'code' in written ? { ...written, code: 'TARGET_AUTH' } : written;
}
