// GitLab CI/CD variables of a project or a group: https://docs.gitlab.com/api/project_level_variables/. A
// variable is a key in an environment scope: only rows of the configured scope are read, changed or deleted.
// Variables are not expanded, and are masked in logs if GitLab can.
import { z } from '@hono/zod-openapi';
import { type Put, type Remote, syncAdapter, TargetError, Token, type Written } from './adapter';
import type { Client } from './client';
import { entry, paging, text } from './listing';
import { environmentName } from './names';
import { array, documented, path } from './shapes';
import { upsert } from './upsert';

const Path = z
  .string()
  .max(255)
  .regex(/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/, 'must be an id, or a path like group/project');
const Id = z.union([z.int().positive(), Path]);

const config = z
  .strictObject({
    token: Token,
    projectId: Id.optional(),
    groupId: Id.optional(),
    host: z
      .string()
      .max(253)
      .regex(
        /^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/,
        'must be a host, optionally with a port',
      )
      .default('gitlab.com'),
    scope: z
      .string()
      .regex(/^[\w\-/${} .*]{1,255}$/, 'must be an environment scope')
      .default('*'),
    protected: z.boolean().default(false),
  })
  .refine(({ projectId, groupId }) => (projectId === undefined) !== (groupId === undefined), {
    error: 'must have either projectId or groupId',
  });

/** What GitLab can mask in logs if values are not expanded: at least 8 characters without white space. */
const MASKABLE = /^[^ \t\n\v\f\r]{8,}$/u;

/** Errors of tokens, in the words of https://www.rfc-editor.org/rfc/rfc6750#section-3.1. */
const ERRORS = ['invalid_request', 'invalid_token', 'insufficient_scope'];

/** Marks the handle of a hidden row, which must stay masked. */
const HIDDEN = 'hidden';

export const gitlabCi = syncAdapter({
  platform: 'gitlab-ci',
  config,
  credentials: ['token'],
  oneOf: [['projectId'], ['groupId']],
  identity: ({ host, projectId, groupId, scope }) => ({
    host: host.toLowerCase(),
    projectId,
    groupId,
    scope,
  }),
  urls: ({ host }) => [{ field: 'host', url: `https://${host}/` }],
  name: (name) => environmentName(name),
  redeploy: false,
  vendor: ({ token }) => ({
    headers: { 'PRIVATE-TOKEN': token },
    code: (body) => documented(ERRORS, (body as { error?: unknown } | null | undefined)?.error),
  }),
  open(client, { host, projectId, groupId, scope, protected: isProtected }) {
    const owner =
      projectId !== undefined ? `projects/${path(projectId)}` : `groups/${path(groupId as string | number)}`;
    const url = `https://${host}/api/v4/${owner}/variables`;
    const row = (key: string) => `${url}/${path(key)}?${path('filter[environment_scope]')}=${path(scope)}`;
    return {
      list: () => list(client, url, scope),
      put: (put) => write(client, put, { url, row: row(put.target), scope, isProtected }),
      async remove({ target }) {
        await client.call({ method: 'DELETE', url: row(target), expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

async function list(client: Client, url: string, scope: string): Promise<Remote[]> {
  const found: Remote[] = [];
  const follow = paging();
  for (let page = '1'; page; ) {
    const reply = await client.call({ method: 'GET', url: `${url}?per_page=100&page=${path(page)}` });
    const rows = array(reply.body).map(entry);
    found.push(...rows.filter(({ environment_scope }) => text(environment_scope) === scope).map(remoteOf));
    page = reply.headers.get('x-next-page') ?? '';
    if (page) follow(page, rows.length);
  }
  return found;
}

function remoteOf({ key, value, raw, variable_type, masked, hidden }: Record<string, unknown>): Remote {
  const isText = typeof value === 'string';
  const isUnmasked = isText && masked === false && MASKABLE.test(value);
  return {
    target: text(key),
    ...(hidden === true && { handle: HIDDEN }),
    ...(isText && { value }),
    otherForm: raw === false || variable_type === 'file' || isUnmasked,
  };
}

interface Row {
  url: string;
  row: string;
  scope: string;
  isProtected: boolean;
}

async function write(client: Client, put: Put, { url, row, scope, isProtected }: Row): Promise<Written> {
  const { target, value, remote } = put;
  const masked = MASKABLE.test(value);
  if (!masked && remote?.handle === HIDDEN)
    throw new TargetError({ code: 'VALUE_NOT_ALLOWED', message: UNMASKABLE + HIDDEN_STAYS }, 'name');
  const json = { value, variable_type: 'env_var', raw: true, masked, environment_scope: scope };
  const written = await upsert(put, {
    create: (expects) =>
      client.call({ method: 'POST', url, json: { key: target, ...json, protected: isProtected }, expects }),
    taken: [400],
    find: async ({ body }) => (isTaken(body) ? { target } : undefined),
    // Existing variables do not lose their protection.
    // safety: gitlab-protected-stays
    change: (_known, expects) =>
      client.call({
        method: 'PUT',
        url: row,
        json: { ...json, ...(isProtected && { protected: true }) },
        expects,
      }),
  });
  return masked ? written : { ...written, message: UNMASKABLE };
}

const UNMASKABLE =
  'GitLab cannot mask this value in logs: it masks values of 8 or more characters without white space.';
const HIDDEN_STAYS = ' The existing variable is hidden, so it must stay masked.';

/** Whether a 400 means that the key exists in this scope. */
const isTaken = (body: unknown): boolean =>
  /taken/.test(JSON.stringify((body as { message?: { key?: unknown } } | null)?.message?.key ?? ''));
