// CI/CD variables of GitLab projects and groups, by https://docs.gitlab.com/api/project_level_variables/ and
// GitLab's own validations (Ci::Maskable, Ci::HidableVariable): a variable is a key in an environment scope.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface GitlabVariable {
  key: string;
  value: string;
  variable_type: 'env_var' | 'file';
  protected: boolean;
  masked: boolean;
  hidden: boolean;
  raw: boolean;
  environment_scope: string;
  description: string | null;
}

export interface GitlabCiFake extends Fake {
  token: string;
  /** By the path in front of `/variables`. */
  owners: Map<string, GitlabVariable[]>;
  /** What stands in a row. */
  row(owner: string, key: string, scope?: string): GitlabVariable | undefined;
}

export const PROJECT = '/api/v4/projects/demo%2Fapp';
export const GROUP = '/api/v4/groups/42';

const PAGE = 3;
const DEFAULTS: Omit<GitlabVariable, 'key' | 'value'> = {
  variable_type: 'env_var',
  protected: false,
  masked: false,
  hidden: false,
  raw: false,
  environment_scope: '*',
  description: null,
};

export const variable = (given: Partial<GitlabVariable> & { key: string }): GitlabVariable => ({
  ...DEFAULTS,
  value: 'theirs',
  ...given,
});

const invalid = (message: Record<string, string[]>): FakeAnswer => ({ status: 400, body: { message } });
const shown = (row: GitlabVariable) => ({ ...row, value: row.hidden ? null : row.value });

/** GitLab's validations of a row; null where nothing is wrong. */
function problem(row: GitlabVariable): FakeAnswer | null {
  if (!/^[A-Za-z0-9_]{1,255}$/.test(row.key))
    return invalid({ key: ["can contain only letters, digits and '_'."] });
  const isMaskable = row.raw
    ? /^[^ \t\n\v\f\r]{8,}$/u.test(row.value)
    : /^[a-zA-Z0-9_+=/@:.~-]{8,}$/.test(row.value);
  return row.masked && !isMaskable ? invalid({ value: ['is invalid'] }) : null;
}

const FIELDS: Record<string, string> = {
  value: 'string',
  variable_type: 'string',
  protected: 'boolean',
  masked: 'boolean',
  raw: 'boolean',
  environment_scope: 'string',
  masked_and_hidden: 'boolean',
  description: 'string',
};

function fields({ headers, json }: FakeRequest, more: string[]): Record<string, unknown> | null {
  if (!headers['content-type']?.startsWith('application/json') || typeof json !== 'object' || json === null)
    return null;
  return Object.entries(json).every(
    ([name, value]) => typeof value === FIELDS[name] || (more.includes(name) && typeof value === 'string'),
  )
    ? json
    : null;
}

function create(rows: GitlabVariable[], request: FakeRequest): FakeAnswer {
  const given = fields(request, ['key']) as
    | (Partial<GitlabVariable> & { masked_and_hidden?: boolean })
    | null;
  if (given?.key === undefined || given.value === undefined)
    return { status: 400, body: { error: 'key is missing, value is missing' } };
  const { masked_and_hidden, ...rest } = given;
  const row = {
    ...DEFAULTS,
    ...(masked_and_hidden && { masked: true, hidden: true }),
    ...rest,
  } as GitlabVariable;
  const wrong = problem(row);
  if (wrong) return wrong;
  if (
    rows.some(({ key, environment_scope }) => key === row.key && environment_scope === row.environment_scope)
  )
    return invalid({ key: [`(${row.key}) has already been taken`] });
  rows.push(row);
  return { status: 201, body: shown(row) };
}

/** The row that a key and a filter, in the query or in the body, name. */
function named(
  rows: GitlabVariable[],
  key: string,
  { query, json }: FakeRequest,
): GitlabVariable | FakeAnswer {
  const scope = query.get('filter[environment_scope]') ?? json?.filter?.environment_scope ?? null;
  const found = rows.filter((row) => row.key === key && (scope === null || row.environment_scope === scope));
  if (found.length > 1)
    return {
      status: 409,
      body: { message: 'There are multiple variables with provided parameters. Please use filter.' },
    };
  return found[0] ?? { status: 404, body: { message: '404 Variable Not Found' } };
}

function update(row: GitlabVariable, request: FakeRequest): FakeAnswer {
  const { filter, ...json } = request.json ?? {};
  const given = fields({ ...request, json: request.json && json }, []);
  if (!given || 'masked_and_hidden' in given) return { status: 400, body: { error: 'made up' } };
  if (row.hidden && given.masked === false)
    return invalid({ masked: ['Updating masked attribute is not allowed on updates for hidden variables.'] });
  const next = { ...row, ...given };
  const wrong = problem(next);
  if (wrong) return wrong;
  Object.assign(row, next);
  return { status: 200, body: shown(row) };
}

function answer(fake: GitlabCiFake, request: FakeRequest): FakeAnswer {
  const { method, path, query, headers } = request;
  if (headers['private-token'] !== fake.token) return { status: 401, body: { message: '401 Unauthorized' } };
  const [, owner = '', key] = path.match(/^(.*)\/variables(?:\/([^/]+))?$/) ?? [];
  const rows = fake.owners.get(owner);
  if (!rows) return { status: 404, body: { message: '404 Project Not Found' } };
  if (key === undefined && method === 'GET') {
    const page = Number(query.get('page') ?? 1);
    const size = Math.min(PAGE, Number(query.get('per_page') ?? 20));
    const next = page * size < rows.length ? String(page + 1) : '';
    const link = next && { Link: `<${fake.url}${path}?page=${next}&per_page=${size}>; rel="next"` };
    return {
      status: 200,
      headers: { 'X-Next-Page': next, 'X-Page': String(page), ...link },
      body: rows.slice((page - 1) * size, page * size).map(shown),
    };
  }
  if (key === undefined)
    return method === 'POST' ? create(rows, request) : { status: 405, body: { error: '405 Not Allowed' } };
  const row = named(rows, decodeURIComponent(key), request);
  if ('status' in row) return row;
  if (method === 'GET') return { status: 200, body: shown(row) };
  if (method === 'PUT') return update(row, request);
  if (method !== 'DELETE') return { status: 405, body: { error: '405 Not Allowed' } };
  rows.splice(rows.indexOf(row), 1);
  return { status: 204 };
}

export async function startGitlabCi(): Promise<GitlabCiFake> {
  const fake = (await startFake((request) => answer(fake, request))) as GitlabCiFake;
  const owners = new Map<string, GitlabVariable[]>([
    [PROJECT, []],
    [GROUP, []],
  ]);
  return Object.assign(fake, {
    token: 'glpat-made-up',
    owners,
    row: (owner: string, key: string, scope = '*') =>
      owners.get(owner)?.find((row) => row.key === key && row.environment_scope === scope),
  });
}
