// Identity providers for tests: what they send to /scim/v2 with a SCIM token.
import { type Answer, type Caller, send } from '../world';

export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
export const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

export interface Idp {
  id: string;
  token: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  put(path: string, body: unknown): Promise<Answer>;
  patch(path: string, ...operations: object[]): Promise<Answer>;
  del(path: string): Promise<Answer>;
}

/** A provider with a token, as it calls an organisation. */
export function idpOf(org: string, id: string, token: string, type = 'application/scim+json'): Idp {
  const call: Idp['call'] = (method, path, body, headers = {}) =>
    send(method, `/scim/v2/${org}${path}`, {
      token,
      ...(body !== undefined && { body }),
      headers: { ...(body !== undefined && { 'Content-Type': type }), ...headers },
    });
  return {
    id,
    token,
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    put: (path, body) => call('PUT', path, body),
    patch: (path, ...Operations) => call('PATCH', path, { schemas: [PATCH_OP], Operations }),
    del: (path) => call('DELETE', path),
  };
}

export async function newIdp(o: Caller, fields: object = {}, type?: string): Promise<Idp> {
  const { json, status, text } = await o.post('/scim-tokens', { name: 'idp', ...fields });
  if (status !== 201) throw new Error(`no SCIM token: ${status} ${text}`);
  return idpOf(o.id, json.id, json.token, type);
}

let people = 0;
/** A user as Okta sends it. */
export const person = (fields: object = {}) => {
  const userName = `p${++people}@example.com`;
  return {
    schemas: [USER],
    userName,
    name: { givenName: 'Pat', familyName: `Person${people}` },
    emails: [{ primary: true, value: userName, type: 'work' }],
    displayName: `Pat Person${people}`,
    locale: 'en-US',
    externalId: `00u${people}`,
    groups: [],
    password: '1mz050nq',
    active: true,
    ...fields,
  };
};

export async function newUser(idp: Idp, fields: object = {}) {
  const { json, status, text } = await idp.post('/Users', person(fields));
  if (status !== 201) throw new Error(`no user: ${status} ${text}`);
  return json as { id: string; userName: string };
}
