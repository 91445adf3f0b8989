// HCP Terraform and Terraform Enterprise variables of a workspace or a variable set:
// https://developer.hashicorp.com/terraform/cloud-docs/api-docs/workspace-variables. A key is unique in its
// category: only rows of the configured category are read, changed or deleted. Sensitive values are never
// returned.
import { z } from '@hono/zod-openapi';
import { type Put, type Remote, Segment, syncAdapter, Token, type Written } from './adapter';
import type { Client } from './client';
import { entry, paging, text } from './listing';
import { environmentName } from './names';
import { array, object, path } from './shapes';
import { idOf, upsert } from './upsert';

const API = 'https://app.terraform.io/api/v2';

type Category = 'env' | 'terraform';

export const hcpTerraform = syncAdapter({
  platform: 'hcp-terraform',
  config: z
    .strictObject({
      token: Token,
      workspaceId: Segment.optional(),
      varsetId: Segment.optional(),
      category: z.enum(['env', 'terraform']).default('env'),
    })
    .refine(({ workspaceId, varsetId }) => (workspaceId === undefined) !== (varsetId === undefined), {
      error: 'must have either workspaceId or varsetId',
    }),
  credentials: ['token'],
  oneOf: [['workspaceId'], ['varsetId']],
  name: (name) => environmentName(name),
  redeploy: false,
  vendor: ({ token }) => ({
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/vnd.api+json',
      'Content-Type': 'application/vnd.api+json',
    },
  }),
  open(client, { workspaceId, varsetId, category }) {
    const url =
      workspaceId !== undefined
        ? `${API}/workspaces/${path(workspaceId)}/vars`
        : `${API}/varsets/${path(varsetId as string)}/relationships/vars`;
    return {
      list: () => list(client, url, category),
      put: (put) => write(client, url, category, put),
      async remove({ remote }) {
        await client.call({ method: 'DELETE', url: `${url}/${path(idOf(remote))}`, expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

/** All pages: by JSON:API links, or by page numbers. */
async function list(client: Client, all: string, category: Category): Promise<Remote[]> {
  const found: Remote[] = [];
  const follow = paging();
  for (let url: string | null = `${all}?${path('page[size]')}=100`; url; ) {
    const { data, links, meta } = object(await client.call({ method: 'GET', url }));
    for (const variable of array(data).map(entry)) {
      const { key, category: of, sensitive, hcl } = entry(variable.attributes);
      if (text(of) === category)
        found.push({
          target: text(key),
          handle: text(variable.id),
          otherForm: sensitive === false || hcl === true,
        });
    }
    const link = (links as { next?: unknown } | null | undefined)?.next;
    const number = (meta as { pagination?: { 'next-page'?: unknown } } | null | undefined)?.pagination?.[
      'next-page'
    ];
    if (typeof link === 'string') url = client.next(link, url);
    else
      url =
        typeof number === 'number'
          ? `${all}?${path('page[size]')}=100&${path('page[number]')}=${number}`
          : null;
    if (url) follow(url, array(data).length);
  }
  return found;
}

function write(client: Client, url: string, category: Category, put: Put): Promise<Written> {
  const attributes = { key: put.target, value: put.value, category, hcl: false, sensitive: true };
  return upsert(put, {
    create: (expects) =>
      client.call({ method: 'POST', url, json: { data: { type: 'vars', attributes } }, expects }),
    // An existing key is reported like any other invalid field.
    taken: [409, 422],
    find: async () => (await list(client, url, category)).find(({ target }) => target === put.target),
    change: (known, expects) =>
      client.call({
        method: 'PATCH',
        url: `${url}/${path(idOf(known))}`,
        json: { data: { id: idOf(known), type: 'vars', attributes } },
        expects,
      }),
  });
}
