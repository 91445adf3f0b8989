// Pipelines variables of Bitbucket repositories and deployment environments, by
// https://developer.atlassian.com/cloud/bitbucket/rest/api-group-pipelines/: secured values do not come back,
// pages are small, and a variable stays secured or not as it was made.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface BitbucketVariable {
  uuid: string;
  key: string;
  value: string;
  secured: boolean;
}

export interface BitbucketPipelinesFake extends Fake {
  /** The whole `Authorization` header. */
  authorization: string;
  repository: BitbucketVariable[];
  environment: BitbucketVariable[];
  /** Whether listings name the next page; some do not. */
  links: boolean;
}

export const REPOSITORY = '/2.0/repositories/demo/app';
export const ENVIRONMENT_ID = '0f1e2d3c-0000-4000-8000-000000000001';
const VARIABLES = `${REPOSITORY}/pipelines_config/variables`;
const DEPLOYMENT = `${REPOSITORY}/deployments_config/environments/%7B${ENVIRONMENT_ID}%7D/variables`;

const PAGE = 3;

let made = 0;
export const variable = (key: string, secured = true, value = 'theirs'): BitbucketVariable => ({
  uuid: `{a0000000-0000-4000-8000-${String(++made).padStart(12, '0')}}`,
  key,
  value,
  secured,
});

const error = (status: number, detail?: string): FakeAnswer => ({
  status,
  body: { type: 'error', error: { message: 'made up', ...(detail && { detail }) } },
});

const shown = ({ uuid, key, value, secured }: BitbucketVariable) => ({
  type: 'pipeline_variable',
  uuid,
  key,
  secured,
  ...(!secured && { value }),
});

function list(
  fake: BitbucketPipelinesFake,
  all: BitbucketVariable[],
  { path, query }: FakeRequest,
): FakeAnswer {
  const page = Number(query.get('page') ?? 1);
  const pagelen = Number(query.get('pagelen') ?? 10);
  if (pagelen > 100) return error(400);
  const size = Math.min(PAGE, pagelen);
  const isMore = page * size < all.length;
  const next = isMore &&
    fake.links && { next: `https://api.bitbucket.org${path}?pagelen=${pagelen}&page=${page + 1}` };
  return {
    status: 200,
    body: {
      page,
      pagelen: size,
      size: all.length,
      values: all.slice((page - 1) * size, page * size).map(shown),
      ...next,
    },
  };
}

function body({ headers, json }: FakeRequest): { key: string; value: string; secured: boolean } | null {
  if (!headers['content-type']?.startsWith('application/json') || typeof json !== 'object' || json === null)
    return null;
  const { key, value, secured, type: _type, ...rest } = json;
  const isWell =
    typeof key === 'string' &&
    /^[A-Za-z_]\w*$/.test(key) &&
    typeof value === 'string' &&
    typeof secured === 'boolean';
  return isWell && !Object.keys(rest).length ? { key, value, secured } : null;
}

function answer(fake: BitbucketPipelinesFake, request: FakeRequest): FakeAnswer {
  const { method, path, headers } = request;
  if (headers.authorization !== fake.authorization) return error(401);
  const [all, collection] = path.startsWith(VARIABLES)
    ? [fake.repository, VARIABLES]
    : [fake.environment, DEPLOYMENT];
  // With a trailing slash by the documentation; Bitbucket's API description has none.
  if (path.replace(/\/$/, '') === collection) {
    if (method === 'GET') return list(fake, all, request);
    if (method !== 'POST') return error(405);
    const given = body(request);
    if (!given) return error(400);
    if (all.some(({ key }) => key === given.key)) return error(409, 'variable-service.variable.duplicate');
    const row = { ...variable(given.key), ...given };
    all.push(row);
    return { status: 201, body: shown(row) };
  }
  const prefix = `${collection}/`;
  const row = path.startsWith(prefix)
    ? all.find(({ uuid }) => encodeURIComponent(uuid) === path.slice(prefix.length))
    : undefined;
  if (!row) return error(404);
  if (method === 'DELETE') {
    all.splice(all.indexOf(row), 1);
    return { status: 204 };
  }
  const given = method === 'PUT' ? body(request) : null;
  if (!given || given.key !== row.key) return error(400);
  if (given.secured !== row.secured) return error(400, 'made up: a variable cannot become secured');
  row.value = given.value;
  return { status: 200, body: shown(row) };
}

export async function startBitbucketPipelines(): Promise<BitbucketPipelinesFake> {
  const fake = (await startFake((request) => answer(fake, request))) as BitbucketPipelinesFake;
  return Object.assign(fake, {
    authorization: 'Bearer bitbucket-token',
    repository: [],
    environment: [],
    links: true,
  });
}
