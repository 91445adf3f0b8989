// `sys/capabilities-self`: what the caller could do at some paths, for user interfaces and modules that ask
// before they act. Invariant: it tells a caller nothing but its own permissions; policies and approvals may
// still refuse or hold a call.
import { z } from '@hono/zod-openapi';
import { isSecretName } from '../../db/names';
import type { PlaceAsked } from '../../domains/orgs/gate/environments';
import type { RenderContext } from '../../http/context';
import type { Input } from '../../http/route';
import { enveloped } from './answers';
import { type Sent, sentence } from './body';
import { folderOf } from './kv-lists';
import { mountNamed } from './path';
import { becomes, type Taken } from './route';

const MOST_PATHS = 100;
const Paths = z.strictObject({ paths: z.array(z.string().max(512)).min(1).max(MOST_PATHS) });

/** What every caller can do on paths that are no mount. */
const EVERYWHERE: [RegExp, string[]][] = [
  [/^auth\/token\/lookup-self$/, ['read', 'update']],
  [/^auth\/token\/(create|lookup|renew-self|revoke|revoke-self)$/, ['update']],
  [/^sys\/capabilities-self$/, ['update']],
  [/^sys\/(mounts|internal\/ui\/mounts(\/.*)?)$/, ['read']],
];

/** What a scope allows at each kind of path. */
const ALLOWED: Record<string, Record<string, readonly string[]>> = {
  data: {
    'secrets:read': ['read'],
    'secrets:write': ['create', 'patch', 'update'],
    'secrets:delete': ['delete'],
  },
  metadata: {
    'secrets:list': ['list', 'read'],
    'secrets:read': ['list', 'read'],
    'secrets:write': ['create', 'patch', 'update'],
    'secrets:delete': ['delete'],
  },
  subkeys: { 'secrets:read': ['read'] },
  delete: { 'secrets:delete': ['update'] },
  undelete: { 'secrets:delete': ['update'] },
  destroy: { 'secrets:delete': ['update'] },
  config: { 'secrets:list': ['read'], 'secrets:read': ['read'] },
};

/** The place that a path is about, and its kind. */
function placeOf(path: string): PlaceAsked & { kind: string } {
  const [mount = '', kind = '', ...rest] = path.split('/').filter((segment) => segment !== '');
  const { environment, isFolders } = mountNamed(mount);
  const inner = rest.join('/');
  const name = !isFolders && !path.endsWith('/') && isSecretName(inner) ? inner : null;
  return { environment, kind, name, prefix: name === null ? folderOf(inner) : null };
}

function pathsOf({ fields }: Sent): Taken {
  const { path, paths = path } = fields;
  const all = typeof paths === 'string' ? paths.split(',') : paths;
  if (!Array.isArray(all) || all.length === 0) throw sentence('paths must be supplied');
  return { body: { paths: all } };
}

const at = ({ body }: Input<unknown, z.output<typeof Paths>>) => body.paths.map(placeOf);

export const capabilities = becomes(
  {
    method: 'post',
    action: 'environment.mounts',
    operation: 'environment.capabilities',
    body: { schema: Paths },
    prepare: (input) => ({
      input: { places: at(input).map(({ environment, name, prefix }) => ({ environment, name, prefix })) },
    }),
    render({ held }: { held: string[][] }, input, context: RenderContext) {
      const places = at(input);
      const each = input.body.paths.map((path, n): [string, string[]] => {
        const known = EVERYWHERE.find(([pattern]) => pattern.test(path.replace(/^\/+/, '')))?.[1];
        const allowed = ALLOWED[places[n]?.kind ?? ''] ?? {};
        const scopes = held[n] ?? [];
        const merges = places[n]?.kind === 'data' && places[n].name !== null;
        const found =
          known ??
          scopes
            .flatMap((scope) => allowed[scope] ?? [])
            // A merge patch of a secret depends on its value.
            .filter((what) => !merges || what !== 'patch' || scopes.includes('secrets:read'));
        return [path, found.length ? [...new Set(found)].sort() : ['deny']];
      });
      const data = { capabilities: each[0]?.[1], ...Object.fromEntries(each) };
      return enveloped(context.request, { data: JSON.stringify(data) });
    },
  },
  { takes: pathsOf },
);
