// Credentials of each kind for tests, with calls made by each, and how they end.
import { type Answer, type Caller, send } from './world';

export async function newKey(o: Caller, fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/api-keys', { name: 'k', scopes: ['*'], ...fields });
  if (status !== 201) throw new Error(`no key: ${status} ${text}`);
  return { ...json, o: o.as(json.token) } as { id: string; token: string; o: Caller };
}

export async function newSession(o: Caller, fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/access-tokens', { ttlSeconds: 600, ...fields });
  if (status !== 201) throw new Error(`no session: ${status} ${text}`);
  return { ...json, o: o.as(json.token) } as { id: string; token: string; o: Caller; expiresAt: string };
}

export async function newAgent(o: Caller, fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/agent-credentials', {
    name: 'a',
    scopes: ['secrets:read'],
    ...fields,
  });
  if (status !== 201) throw new Error(`no agent: ${status} ${text}`);
  return { ...json, o: o.as(json.token) } as {
    id: string;
    token: string;
    o: Caller;
    [field: string]: unknown;
  };
}

export async function newProvider(o: Caller, fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/provider-tokens', {
    name: 'p',
    scopes: ['issue', 'rotate', 'revoke'],
    ...fields,
  });
  if (status !== 201) throw new Error(`no provider token: ${status} ${text}`);
  return { ...json, o: o.as(json.token) } as { id: string; token: string; o: Caller };
}

export async function newBreakGlass(o: Caller, fields: Record<string, unknown> = {}) {
  const { json, status, text } = await o.post('/break-glass-tokens', {
    reason: 'the database is down',
    ...fields,
  });
  if (status !== 201) throw new Error(`no break-glass token: ${status} ${text}`);
  return { ...json, o: o.as(json.token) } as { id: string; token: string; o: Caller; expires_at: string };
}

/** The status of a success, the code of a refusal. */
export const statusOrCode = (answer: Answer): number | string =>
  answer.status < 300 ? answer.status : answer.json.error.code;

/** 200 while a credential is live, or why it is not. */
export const alive = async ({ token }: Caller) =>
  statusOrCode(await send('GET', '/api/v1/whoami', { token }));

export const contain = (
  o: Caller,
  id: string,
  body: unknown = {},
  headers?: Record<string, string>,
): Promise<Answer> => o.post(`/credentials/${id}/contain`, body, headers);

/** The ids in a list, sorted. */
export const idsOf = (list: { id: string }[]): string[] => list.map(({ id }) => id).sort();
