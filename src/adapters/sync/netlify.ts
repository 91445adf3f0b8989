// Netlify environment variables of a site: https://open-api.netlify.com/#tag/environmentVariables. A variable
// has one value per deploy context: new names are sent in one call; for existing ones only our contexts'
// values are changed. Without site_id, a call would write to the whole team.
import { z } from '@hono/zod-openapi';
import { type Put, type Remote, Segment, syncAdapter, Token, type Written } from './adapter';
import type { Client } from './client';
import { environmentName } from './names';
import { each, part } from './parts';
import { path, shaped } from './shapes';

const CONTEXTS = ['production', 'deploy-preview', 'branch-deploy', 'dev'] as const;
const SCOPES = ['builds', 'functions', 'runtime'] as const;

const distinct = (list: readonly string[]) => new Set(list).size === list.length;

const Variable = z.object({
  key: z.string(),
  is_secret: z.boolean().nullish(),
  values: z.array(z.object({ id: z.string(), context: z.string(), value: z.string().nullish() })),
});

type Variable = z.infer<typeof Variable>;

interface Config {
  accountId: string;
  siteId: string;
  contexts: string[];
  scopes?: string[] | undefined;
}

export const netlify = syncAdapter({
  platform: 'netlify',
  config: z.strictObject({
    token: Token,
    accountId: Segment,
    siteId: Segment,
    contexts: z.array(z.enum(CONTEXTS)).min(1).refine(distinct, 'must not repeat').default(['production']),
    scopes: z.array(z.enum(SCOPES)).min(1).refine(distinct, 'must not repeat').optional(),
  }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  // An existing name needs a call per context.
  most: 100,
  redeploy: true,
  vendor: ({ token }) => ({
    headers: { Authorization: `Bearer ${token}` },
    code: (body) => (body as { code?: unknown } | undefined)?.code,
  }),
  open(client, config) {
    const site = siteOf(client, config);
    const list = async () => (await site.variables()).map((variable) => remoteOf(variable, config.contexts));
    return {
      list,
      async write(puts, removals, written) {
        const update = (put: Put) =>
          part(written, [put.target], async () => void written.set(put.target, await site.update(put)));
        const fresh = puts.filter(({ remote }) => !remote);
        let refused: Put[] = [];
        if (fresh.length)
          await part(
            written,
            fresh.map(({ target }) => target),
            async () => {
              if (await site.create(fresh))
                for (const { target } of fresh) written.set(target, { action: 'created' });
              else refused = fresh;
            },
          );
        if (refused.length) {
          // The whole call is refused because of one name: it exists by now, or for another reason.
          const now = new Map((await list()).map((remote) => [remote.target, remote]));
          refused = refused.map((put) => ({ ...put, remote: now.get(put.target) ?? null }));
        }
        await each([...refused, ...puts.filter(({ remote }) => remote)], update);
        await each(removals, ({ target }) =>
          part(written, [target], async () => {
            await site.remove(target);
            written.set(target, { action: 'deleted' });
          }),
        );
        return written;
      },
    };
  },
});

/** The calls to a site. */
function siteOf(client: Client, { accountId, siteId, contexts, scopes }: Config) {
  const base = `https://api.netlify.com/api/v1/accounts/${path(accountId)}/env`;
  // safety: netlify-site-named
  const query = `?site_id=${encodeURIComponent(siteId)}`;
  const at = (...segments: string[]) =>
    `${[base, ...segments.map((segment) => path(segment))].join('/')}${query}`;
  const bodyOf = (puts: Put[]) =>
    puts.map(({ target, value }) => ({
      key: target,
      is_secret: true,
      ...(scopes && { scopes }),
      values: contexts.map((context) => ({ context, value })),
    }));

  async function update({ target, value, remote }: Put): Promise<Written> {
    if (remote) {
      let isThere = true;
      for (const context of contexts) {
        if (!isThere) break;
        const { status } = await client.call({
          method: 'PATCH',
          url: at(target),
          json: { context, value },
          expects: [404],
        });
        isThere = status !== 404;
      }
      if (isThere) return { action: 'updated' };
    }
    await client.call({ method: 'POST', url: at(), json: bodyOf([{ target, value } as Put]) });
    return { action: 'created' };
  }

  async function remove(target: string): Promise<void> {
    const reply = await client.call({ method: 'GET', purpose: 'write', url: at(target), expects: [404] });
    if (reply.status === 404) return;
    const { values } = shaped(Variable, reply.body);
    const ours = values.filter(({ context }) => contexts.includes(context));
    // safety: netlify-last-value
    if (ours.length === values.length)
      await client.call({ method: 'DELETE', url: at(target), expects: [404] });
    else
      for (const { id } of ours)
        await client.call({ method: 'DELETE', url: at(target, 'value', id), expects: [404] });
  }

  return {
    variables: async (): Promise<Variable[]> =>
      shaped(z.array(Variable), (await client.call({ method: 'GET', url: at() })).body),
    /** Whether all of them were created. */
    async create(puts: Put[]): Promise<boolean> {
      const { status } = await client.call({
        method: 'POST',
        url: at(),
        json: bodyOf(puts),
        expects: [400, 409, 422],
      });
      return status < 300;
    },
    update,
    remove,
  };
}

/**
 * The value in our contexts: null if their values differ or one has none. Secret values are shown only for
 * local development.
 */
function remoteOf({ key, is_secret, values }: Variable, contexts: string[]): Remote {
  const ours = contexts.map(
    (name) =>
      values.find(({ context }) => context === name) ?? values.find(({ context }) => context === 'all'),
  );
  if (ours.includes(undefined)) return { target: key, value: null };
  if (is_secret && contexts.some((context) => context !== 'dev')) return { target: key };
  const [first] = ours;
  return {
    target: key,
    value: ours.every((value) => value?.value === first?.value) ? (first?.value ?? null) : null,
  };
}
