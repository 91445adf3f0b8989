// Reads what identity providers send: users, groups, PATCH and filters, with the ways of Okta and Entra.
// Pure. Invariants: names of attributes and operations are compared without case; what is not known is
// dropped, also a key such as __proto__; every attribute of ours is a single value, so a PATCH needs no
// current state. Filters have terms of `eq` joined by `and`, in parentheses of a bounded depth.
import type { Refusal } from '../../errors';
import { isPrintable, printable } from '../../text';
import { badRequest } from './problems';

/** Changes of a user: what is absent stays, null clears. */
export interface UserChange {
  user_name?: string;
  external_id?: string | null;
  email?: string;
  given?: string | null;
  family?: string | null;
  display?: string | null;
  active?: boolean;
}

/** What happens to the members of a group, in order. */
export interface MembersStep {
  op: 'add' | 'remove' | 'replace';
  ids: string[];
}
export interface GroupChange {
  display?: string;
  external_id?: string | null;
  members: MembersStep[];
}

export interface FilterTerm {
  /** `none`: what nobody has, such as an address of another type. */
  attribute: 'id' | 'username' | 'externalid' | 'emails' | 'active' | 'displayname' | 'members' | 'none';
  value: string | boolean;
}

const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'code' in value;

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(user|group):/;
/** A name or path without its schema and without case. */
const plain = (path: string): string => path.trim().toLowerCase().replace(CORE, '');

const MOST_TEXT = 254;

function textOf(value: unknown, name: string): string | Refusal {
  if (typeof value !== 'string') return badRequest('invalidValue', `${name} must be a string.`);
  // A database stores half a surrogate pair as another text, whose MAC would not match.
  const text = value.trim().toWellFormed();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  return text.length > 0 && text.length <= MOST_TEXT && !/[\u0000-\u001f\u007f]/.test(text)
    ? text
    : badRequest(
        'invalidValue',
        `${name} must have 1 to ${MOST_TEXT} characters, without control characters.`,
      );
}

/** A text that members and approvers see. */
function shownOf(value: unknown, name: string): string | Refusal {
  const text = textOf(value, name);
  // safety: scim-text-printable
  if (!isRefusal(text) && !isPrintable(text))
    return badRequest('invalidValue', `${name} must not have format or line-separator characters.`);
  return text;
}

/** Null and an empty text clear an attribute. */
const optional = (value: unknown, name: string): string | null | Refusal =>
  value === null || value === '' ? null : textOf(value, name);

/** A part of a person's name, as single sign-on takes it: without characters that pages do not show. */
function personOf(value: unknown, name: string): string | null | Refusal {
  const text = optional(value, name);
  // safety: scim-name-printable
  if (typeof text === 'string') return printable(text, MOST_TEXT).trim() || null;
  return text;
}

/** Entra sends "False". */
function booleanOf(value: unknown): boolean | Refusal {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  // safety: false-as-text
  if (text === 'true' || text === 'false') return text === 'true';
  return badRequest('invalidValue', 'active must be true or false.');
}

const EMAIL = /^[^\s@"(),:;<>[\\\]]+@[^\s@"(),:;<>[\\\]]+\.[^\s@"(),:;<>[\\\]]+$/;

function emailOf(value: unknown): string | Refusal {
  const text = shownOf(value, 'The email address');
  return isRefusal(text) || EMAIL.test(text)
    ? text
    : badRequest('invalidValue', 'emails must have an email address.');
}

/**
 * The address of `emails`: the primary one, else the one for work, else the first. Addresses that are added
 * to others make none of them the first.
 */
function addressIn(emails: unknown, isAdded: boolean): unknown {
  if (!Array.isArray(emails)) return isObject(emails) ? lower(emails).value : emails;
  const all = emails.filter(isObject).map(lower);
  const chosen =
    all.find(({ primary }) => primary === true || String(primary).toLowerCase() === 'true') ??
    all.find(({ type }) => String(type).toLowerCase() === 'work') ??
    (isAdded ? undefined : all[0]);
  return chosen?.value;
}

const lower = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [plain(name), value]));

const EMAILS = /^emails(?:\[([^\]]{0,100})\])?(?:\.(\w{1,20}))?$/;
const CHOSEN = /^(?:type eq "(\w{1,20})"|primary eq "?(true|false)"?)$/;

/**
 * What a path of `emails` is about: the one address of a user, which is for work and primary; another one; or
 * one that is chosen in a way that is not known. Null for other paths.
 */
function addressAt(path: string): 'ours' | 'other' | 'unknown' | null {
  const found = EMAILS.exec(path);
  if (!found) return null;
  const [, filter, part = 'value'] = found;
  const terms = filter?.trim().split(/\s+and\s+/) ?? [];
  const chosen = terms.map((term) => CHOSEN.exec(term.replace(/\s+/g, ' ')));
  if (chosen.includes(null)) return 'unknown';
  const isOurs = chosen.every((term) => (term?.[1] ?? 'work') === 'work' && term?.[2] !== 'false');
  // safety: address-of-its-type
  return isOurs && part === 'value' ? 'ours' : 'other';
}

const unknownPath = (path: string): Refusal =>
  badRequest('invalidPath', `${path} is not a path that is known.`);
const IS_NAME = { 'name.givenname': 'given', 'name.familyname': 'family', displayname: 'display' } as const;

/** Takes one attribute over into a change. Returns what is wrong with it. */
function takeUser(change: UserChange, path: string, value: unknown, isAdded = false): Refusal | null {
  const put = <K extends keyof UserChange>(key: K, read: UserChange[K] | Refusal): Refusal | null => {
    if (isRefusal(read)) return read;
    change[key] = read;
    return null;
  };
  if (path === 'username') return put('user_name', shownOf(value, 'userName'));
  if (path === 'externalid') return put('external_id', optional(value, 'externalId'));
  if (path === 'active') return put('active', booleanOf(value));
  if (Object.hasOwn(IS_NAME, path)) return put(IS_NAME[path as keyof typeof IS_NAME], personOf(value, path));
  const at = addressAt(path);
  if (at === 'unknown') return unknownPath(path);
  if (at === 'ours') {
    const address = addressIn(value, isAdded);
    return address === undefined ? null : put('email', emailOf(address));
  }
  if (path === 'name' && isObject(value))
    return takeAll(Object.entries(value), (name, each) => takeUser(change, `name.${plain(name)}`, each));
  return null;
}

function takeAll(
  entries: [string, unknown][],
  take: (name: string, value: unknown) => Refusal | null,
): Refusal | null {
  for (const [name, value] of entries) {
    const problem = take(name, value);
    if (problem) return problem;
  }
  return null;
}

/** A user as POST and PUT send it. */
export function readUser(body: unknown): UserChange | Refusal {
  if (!isObject(body)) return badRequest('invalidSyntax', 'The body must be a JSON object.');
  const change: UserChange = {};
  const problem = takeAll(Object.entries(body), (name, value) =>
    value === null && plain(name) !== 'externalid' ? null : takeUser(change, plain(name), value),
  );
  if (problem) return problem;
  if (change.email === undefined && change.user_name !== undefined && EMAIL.test(change.user_name))
    change.email = change.user_name;
  return change;
}

interface PatchOperation {
  op: 'add' | 'replace' | 'remove';
  path: string | null;
  value: unknown;
}

/** The operations of a PATCH: at most 100. */
function operationsOf(body: unknown): PatchOperation[] | Refusal {
  const sent = isObject(body) ? lower(body).operations : undefined;
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > 100)
    return badRequest('invalidSyntax', 'Operations must be a list of 1 to 100 operations.');
  const found: PatchOperation[] = [];
  for (const each of sent) {
    const { op, path = null, value } = isObject(each) ? lower(each) : {};
    const verb = typeof op === 'string' ? op.toLowerCase() : '';
    if (verb !== 'add' && verb !== 'replace' && verb !== 'remove')
      return badRequest('invalidSyntax', 'op must be add, replace or remove.');
    if (path !== null && (typeof path !== 'string' || path.length > 500))
      return badRequest('invalidPath', 'path must be a string of at most 500 characters.');
    if (verb === 'remove' && path === null)
      return badRequest('noTarget', 'An operation remove needs a path.');
    found.push({ op: verb, path, value });
  }
  return found;
}

/** A path that SCIM could know: anything else is malformed. */
const PATH = /^[a-z$][\w$:.-]*(\[[^[\]]{0,300}\])?(\.[a-z$][\w$-]*)?$/i;

export function readUserPatch(body: unknown): UserChange | Refusal {
  const operations = operationsOf(body);
  if (isRefusal(operations)) return operations;
  const change: UserChange = {};
  for (const { op, path, value } of operations) {
    if (path !== null && !PATH.test(path)) return badRequest('invalidPath', 'path is not a path of SCIM.');
    const problem =
      path === null
        ? isObject(value)
          ? takeAll(Object.entries(value), (name, each) => takeUser(change, plain(name), each, op === 'add'))
          : badRequest('invalidValue', 'value must be an object where path is absent.')
        : op === 'remove'
          ? clearUser(change, plain(path))
          : takeUser(change, plain(path), value, op === 'add');
    if (problem) return problem;
  }
  return change;
}

/** What a user has to have is not removed. */
function clearUser(change: UserChange, path: string): Refusal | null {
  const at = addressAt(path);
  if (at === 'unknown') return unknownPath(path);
  if (path === 'username' || path === 'active' || at === 'ours')
    return badRequest('mutability', `${path} cannot be removed.`);
  if (path === 'externalid') change.external_id = null;
  if (path === 'displayname') change.display = null;
  if (path === 'name' || path === 'name.givenname') change.given = null;
  if (path === 'name' || path === 'name.familyname') change.family = null;
  return null;
}

// ---------------------------------------------------------------- groups

/** The most members of one request. */
export const MOST_MEMBERS = 500;

function idsOf(value: unknown): string[] | Refusal {
  const all = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
  if (all.length > MOST_MEMBERS)
    return badRequest('tooMany', `A request can name at most ${MOST_MEMBERS} members.`);
  const ids = all.map((one) => (isObject(one) ? lower(one).value : one));
  return ids.every((id): id is string => typeof id === 'string' && id.length <= 64)
    ? ids
    : badRequest('invalidValue', 'members must be a list of objects with the id of a user as value.');
}

function takeGroup(change: GroupChange, op: MembersStep['op'], path: string, value: unknown): Refusal | null {
  if (path === 'members') {
    const ids = idsOf(value);
    if (isRefusal(ids)) return ids;
    change.members.push({ op, ids });
    return null;
  }
  if (path === 'displayname') {
    const text = shownOf(value, 'displayName');
    if (isRefusal(text)) return text;
    change.display = text;
  }
  if (path === 'externalid') {
    const text = optional(value, 'externalId');
    if (isRefusal(text)) return text;
    change.external_id = text;
  }
  return null;
}

export function readGroup(body: unknown): GroupChange | Refusal {
  if (!isObject(body)) return badRequest('invalidSyntax', 'The body must be a JSON object.');
  const change: GroupChange = { members: [] };
  const problem = takeAll(Object.entries(body), (name, value) =>
    takeGroup(change, 'replace', plain(name), value),
  );
  return problem ?? change;
}

const ONE_MEMBER = /^members\[\s*value\s+eq\s+"([^"\\]{1,64})"\s*\]$/i;

export function readGroupPatch(body: unknown): GroupChange | Refusal {
  const operations = operationsOf(body);
  if (isRefusal(operations)) return operations;
  const change: GroupChange = { members: [] };
  for (const { op, path, value } of operations) {
    const problem = path === null ? ofObject(change, op, value) : ofPath(change, op, path, value);
    if (problem) return problem;
  }
  return change;
}

const ofObject = (change: GroupChange, op: MembersStep['op'], value: unknown): Refusal | null =>
  isObject(value)
    ? takeAll(Object.entries(value), (name, each) => takeGroup(change, op, plain(name), each))
    : badRequest('invalidValue', 'value must be an object where path is absent.');

function ofPath(change: GroupChange, op: MembersStep['op'], path: string, value: unknown): Refusal | null {
  const [, one] = ONE_MEMBER.exec(path.trim().replace(/^urn:[^[]*:(?=members)/i, '')) ?? [];
  if (one !== undefined) {
    change.members.push({ op: op === 'remove' ? 'remove' : 'add', ids: [one] });
    return null;
  }
  if (!PATH.test(path)) return badRequest('invalidPath', 'path is not a path of SCIM.');
  const name = plain(path);
  // Whoever was to leave would stay.
  // safety: members-path-known
  if (/^members[[.]/.test(name)) return unknownPath(path);
  if (op !== 'remove') return takeGroup(change, op, name, value);
  if (name === 'displayname') return badRequest('mutability', 'displayName cannot be removed.');
  if (name === 'externalid') change.external_id = null;
  if (name !== 'members') return null;
  // Entra names those to remove in `value`; RFC 7644 would remove everybody.
  // safety: removes-those-alone
  if (value !== undefined && value !== null) return takeGroup(change, 'remove', name, value);
  change.members.push({ op: 'replace', ids: [] });
  return null;
}

// ---------------------------------------------------------------- filters

const MOST_FILTER = 1000;
const MOST_TERMS = 20;
const TERM =
  /^\s*(id|userName|externalId|displayName|active|emails(?:\[\s*type\s+eq\s+"[^"\\]{0,20}"\s*\])?(?:\.value)?|members(?:\.value)?|urn:[\w:.]{1,100})\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*/i;

const MOST_DEPTH = 10;
const HOW = 'A filter compares attributes by eq, joined by and.';

/** A value as JSON has it; null for one that is not, or has control characters. */
function literalOf(text: string): string | boolean | null {
  if (!text.startsWith('"')) return text.toLowerCase() === 'true';
  try {
    const value = JSON.parse(text) as string;
    return /\p{Cc}/u.test(value) ? null : value;
  } catch {
    return null;
  }
}

/** The attribute that a term names. */
function attributeOf(name: string): FilterTerm['attribute'] {
  const path = plain(name);
  if (addressAt(path) === 'other') return 'none';
  return path.split(/[[.]/, 1)[0] as FilterTerm['attribute'];
}

/**
 * The terms of a filter, all of which have to hold. Parentheses change nothing where all is joined by `and`:
 * they are only balanced.
 */
export function readFilter(filter: string): FilterTerm[] | Refusal {
  const wrong = (why: string) => badRequest('invalidFilter', why);
  if (filter.length > MOST_FILTER) return wrong(`A filter has at most ${MOST_FILTER} characters.`);
  const terms: FilterTerm[] = [];
  let depth = 0;
  for (let rest = filter; ; ) {
    const [opened = ''] = /^[\s(]*/.exec(rest) ?? [];
    depth += opened.replace(/\s/g, '').length;
    // safety: filter-depth-bounded
    if (depth > MOST_DEPTH) return wrong(`A filter has at most ${MOST_DEPTH} levels of parentheses.`);
    const [whole, name, text] = TERM.exec(rest.slice(opened.length)) ?? [];
    const value = text === undefined ? null : literalOf(text);
    if (whole === undefined || name === undefined || value === null) return wrong(HOW);
    terms.push({ attribute: attributeOf(name), value });
    // safety: filter-terms-bounded
    if (terms.length > MOST_TERMS) return wrong(`A filter has at most ${MOST_TERMS} terms.`);
    rest = rest.slice(opened.length + whole.length);
    const [closed = ''] = /^[\s)]*/.exec(rest) ?? [];
    depth -= closed.replace(/\s/g, '').length;
    if (depth < 0) return wrong('A filter closes a parenthesis that it did not open.');
    rest = rest.slice(closed.length);
    if (rest === '') return depth === 0 ? terms : wrong('A filter leaves a parenthesis open.');
    if (!/^and[\s(]/i.test(rest)) return wrong(HOW);
    rest = rest.slice(3);
  }
}
