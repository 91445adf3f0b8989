// Variables of HCP Terraform workspaces and variable sets, by
// https://developer.hashicorp.com/terraform/cloud-docs/api-docs/workspace-variables: JSON:API; a key is
// unique in its category; sensitive values never come back, and stay sensitive.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface TerraformVariable {
  id: string;
  key: string;
  value: string;
  category: 'env' | 'terraform';
  hcl: boolean;
  sensitive: boolean;
  description: string | null;
}

export interface HcpTerraformFake extends Fake {
  token: string;
  /** By the path of their collection. */
  owners: Map<string, TerraformVariable[]>;
  /** How listings name the next page. */
  paging: 'links' | 'meta';
}

export const WORKSPACE = '/api/v2/workspaces/ws-demo/vars';
export const VARSET = '/api/v2/varsets/varset-demo/relationships/vars';
const PAGE = 3;
const TYPE = 'application/vnd.api+json';

let made = 0;
export const variable = (key: string, given: Partial<TerraformVariable> = {}): TerraformVariable => ({
  id: `var-${String(++made).padStart(16, '0')}`,
  key,
  value: 'theirs',
  category: 'env',
  hcl: false,
  sensitive: true,
  description: null,
  ...given,
});

const error = (status: number, title: string): FakeAnswer => ({
  status,
  headers: { 'Content-Type': TYPE },
  body: { errors: [{ status: String(status), title }] },
});
const shown = ({ id, value, ...rest }: TerraformVariable) => ({
  id,
  type: 'vars',
  attributes: { ...rest, value: rest.sensitive ? null : value },
});
const answered = (status: number, body: unknown): FakeAnswer => ({
  status,
  headers: { 'Content-Type': TYPE },
  body,
});

function list(fake: HcpTerraformFake, rows: TerraformVariable[], { path, query }: FakeRequest): FakeAnswer {
  const page = Number(query.get('page[number]') ?? 1);
  const given = Number(query.get('page[size]') ?? 20);
  if (given > 100) return error(400, 'bad request');
  const size = Math.min(PAGE, given);
  const next = page * size < rows.length ? page + 1 : null;
  const link = (to: number) =>
    `https://app.terraform.io${path}?page%5Bnumber%5D=${to}&page%5Bsize%5D=${given}`;
  const paging =
    fake.paging === 'links'
      ? { links: { self: link(page), next: next && link(next) } }
      : { meta: { pagination: { 'current-page': page, 'next-page': next } } };
  return answered(200, { data: rows.slice((page - 1) * size, page * size).map(shown), ...paging });
}

const FIELDS: Record<string, string> = {
  key: 'string',
  value: 'string',
  category: 'string',
  hcl: 'boolean',
  sensitive: 'boolean',
  description: 'string',
};

function attributes({ headers, json }: FakeRequest): Partial<TerraformVariable> | FakeAnswer {
  if (headers['content-type'] !== TYPE) return error(415, 'unsupported media type');
  const { type, attributes: given } = json?.data ?? {};
  if (type !== 'vars' || typeof given !== 'object' || given === null)
    return error(422, 'invalid resource type');
  return Object.entries(given).every(([name, value]) => typeof value === FIELDS[name])
    ? given
    : error(422, 'invalid attribute');
}

/** What a variable is unless told otherwise; the category has to be told. */
const UNSET = { sensitive: false, value: '', category: undefined as never };

function write(rows: TerraformVariable[], row: TerraformVariable | null, request: FakeRequest): FakeAnswer {
  const given = attributes(request);
  if ('status' in given) return given as FakeAnswer;
  if (row && request.json.data.id !== row.id) return error(422, 'invalid id');
  const { key = '', ...rest } = given as Partial<TerraformVariable>;
  const next = row ? { ...row, ...given } : variable(key, { ...UNSET, ...rest });
  if (!next.key || !['env', 'terraform'].includes(next.category)) return error(422, 'invalid attribute');
  if (row?.sensitive && !next.sensitive) return error(422, 'invalid attribute');
  if (rows.some((other) => other !== row && other.key === next.key && other.category === next.category))
    return error(422, 'invalid attribute');
  if (row) Object.assign(row, next);
  else rows.push(next);
  return answered(row ? 200 : 201, { data: shown(next) });
}

function answer(fake: HcpTerraformFake, request: FakeRequest): FakeAnswer {
  const { method, path, headers } = request;
  if (headers.authorization !== `Bearer ${fake.token}`) return error(401, 'unauthorized');
  const [owner, id] = [...fake.owners.keys()].flatMap((one) =>
    path === one || path.startsWith(`${one}/`) ? [one, path.slice(one.length + 1)] : [],
  );
  const rows = fake.owners.get(owner ?? '');
  // Also what a token may not see.
  if (!rows) return error(404, 'not found');
  if (!id)
    return method === 'GET'
      ? list(fake, rows, request)
      : method === 'POST'
        ? write(rows, null, request)
        : error(404, 'not found');
  const row = rows.find((one) => one.id === id);
  if (!row) return error(404, 'not found');
  if (method === 'PATCH') return write(rows, row, request);
  if (method !== 'DELETE') return error(404, 'not found');
  rows.splice(rows.indexOf(row), 1);
  return { status: 204 };
}

export async function startHcpTerraform(): Promise<HcpTerraformFake> {
  const fake = (await startFake((request) => answer(fake, request))) as HcpTerraformFake;
  const owners = new Map<string, TerraformVariable[]>([
    [WORKSPACE, []],
    [VARSET, []],
  ]);
  return Object.assign(fake, { token: 'terraform-token', owners, paging: 'links' as const });
}
