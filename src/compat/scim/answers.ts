// Answers in SCIM's form: resources, lists and errors (RFC 7643, RFC 7644). Invariants: `status` of an error
// is a text; an error says nothing that the API's does not.
import type { GroupFacts } from '../../domains/scim/gate/groups';
import type { UserFacts } from '../../domains/scim/gate/users';
import { PREFIX } from '../../domains/scim/problems';
import type { Code, Detail } from '../../errors';

const TYPE = 'application/scim+json; charset=utf-8';
const MESSAGES = 'urn:ietf:params:scim:api:messages:2.0';
export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';

export const answered = (body: object, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': TYPE, ...headers } });

export const failed = (status: number, detail: string, scimType?: string): Response =>
  answered(
    { schemas: [`${MESSAGES}:Error`], detail, status: String(status), ...(scimType && { scimType }) },
    status,
  );

const iso = (time: number) => new Date(time).toISOString();

/** What a request asks to have of each resource. */
export interface Shape {
  base: string;
  attributes: string[] | null;
  excluded: string[];
}

const ALWAYS = ['schemas', 'id'];

/** A resource without what was not asked for. */
function shaped(resource: Record<string, unknown>, { attributes, excluded }: Shape): object {
  const isShown = (name: string) =>
    ALWAYS.includes(name) ||
    (attributes
      ? attributes.some((one) => one.split('.', 1)[0] === name.toLowerCase())
      : !excluded.includes(name.toLowerCase()));
  return Object.fromEntries(Object.entries(resource).filter(([name]) => isShown(name)));
}

export const userOut = (user: UserFacts, shape: Shape): object =>
  shaped(
    {
      schemas: [USER],
      id: user.id,
      ...(user.external_id !== null && { externalId: user.external_id }),
      userName: user.user_name,
      name: {
        givenName: user.given,
        familyName: user.family,
        formatted: `${user.given} ${user.family}`,
      },
      displayName: user.display,
      emails: [{ value: user.email, type: 'work', primary: true }],
      active: user.active,
      groups: user.groups.map(({ id, name }) => ({
        value: id,
        display: name,
        $ref: `${shape.base}/Groups/${id}`,
      })),
      meta: {
        resourceType: 'User',
        created: iso(user.created_at),
        lastModified: iso(user.changed_at),
        location: `${shape.base}/Users/${user.id}`,
      },
    },
    shape,
  );

export const groupOut = (group: GroupFacts, shape: Shape): object =>
  shaped(
    {
      schemas: [GROUP],
      id: group.id,
      ...(group.external_id !== null && { externalId: group.external_id }),
      displayName: group.display,
      members: group.members.map(({ id, name }) => ({
        value: id,
        display: name,
        type: 'User',
        $ref: `${shape.base}/Users/${id}`,
      })),
      meta: {
        resourceType: 'Group',
        created: iso(group.created_at),
        lastModified: iso(group.created_at),
        location: `${shape.base}/Groups/${group.id}`,
      },
    },
    shape,
  );

export const listOut = (total: number, start: number, resources: object[]): object => ({
  schemas: [`${MESSAGES}:ListResponse`],
  totalResults: total,
  startIndex: start,
  itemsPerPage: resources.length,
  Resources: resources,
});

interface Refused {
  code: Code;
  message: string;
  details?: Detail[];
}

/** Headers of a refusal that its translation keeps. */
const KEPT = /^(retry-after|ratelimit|ratelimit-policy|x-ratelimit-.*)$/;

/** A response of the API in SCIM's form: only refusals differ. */
export async function asScim(response: Response): Promise<Response> {
  const isOurs = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  if (response.status < 400 || !isOurs) return response;
  const { error } = (await response.json()) as { error: Refused };
  const [detail] = error.details ?? [];
  const scimType = detail?.path.startsWith(PREFIX)
    ? detail.path.slice(PREFIX.length)
    : error.code === 'EMAIL_TAKEN'
      ? 'uniqueness'
      : error.code === 'CONFLICT'
        ? 'mutability'
        : error.code === 'MALFORMED_JSON'
          ? 'invalidSyntax'
          : undefined;
  const answer = failed(response.status, detail?.message ?? error.message, scimType);
  for (const [name, value] of response.headers) if (KEPT.test(name)) answer.headers.set(name, value);
  return answer;
}
