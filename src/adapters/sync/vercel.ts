// Vercel project environment variables:
// https://vercel.com/docs/rest-api/projects/create-one-or-more-environment-variables. A variable is a key and
// a set of targets. One with more targets than ours is narrowed to the others, then ours is created; nothing
// is deleted to be created again. One call writes all names, and returns 201 with the names that it refused.
import { z } from '@hono/zod-openapi';
import {
  KB,
  type Put,
  type Remote,
  type Removal,
  Segment,
  syncAdapter,
  Token,
  tooLarge,
  type Written,
} from './adapter';
import type { Client } from './client';
import { paging } from './listing';
import { environmentName } from './names';
import { each, part, refused } from './parts';
import { path, shaped } from './shapes';

const TARGETS = ['production', 'preview', 'development'] as const;

const Env = z.object({
  id: z.string().nullish(),
  key: z.string(),
  type: z.string(),
  target: z.union([z.string(), z.array(z.string())]).nullish(),
  gitBranch: z.string().nullish(),
  customEnvironmentIds: z.array(z.string()).nullish(),
  value: z.string().nullish(),
  decrypted: z.boolean().nullish(),
  comment: z.string().nullish(),
});
const Page = z.object({
  envs: z.array(Env),
  pagination: z.object({ next: z.union([z.string(), z.number()]).nullish() }).nullish(),
});
const Key = z.object({ key: z.string() });
const Refusal = z.object({
  error: z.object({ code: z.string(), key: z.string().nullish(), envVarKey: z.string().nullish() }),
});
/** A single created variable is not in a list. */
const Created = z.object({
  created: z.union([z.array(Key), Key]).nullish(),
  failed: z.array(Refusal).nullish(),
});

type Env = z.infer<typeof Env>;

/** A variable, as later calls need it. */
interface Row {
  id: string;
  targets: string[];
  /** Whether it also applies to custom environments of the project. */
  isCustom: boolean;
  type: string;
  comment?: string;
}

interface Config {
  projectId: string;
  teamId?: string | undefined;
  targets: string[];
  type: 'encrypted' | 'sensitive';
}

export const vercel = syncAdapter({
  platform: 'vercel',
  config: z
    .strictObject({
      token: Token,
      projectId: Segment,
      teamId: Segment.optional(),
      targets: z
        .array(z.enum(TARGETS))
        .min(1)
        .refine((list) => new Set(list).size === list.length, 'must not repeat')
        .default(['production']),
      type: z.enum(['encrypted', 'sensitive']).default('encrypted'),
    })
    .refine(({ targets, type }) => type !== 'sensitive' || !targets.includes('development'), {
      message: 'sensitive variables cannot have the target development',
      path: ['type'],
    }),
  credentials: ['token'],
  name: (name) => environmentName(name),
  value: (value) => tooLarge(value, 64 * KB),
  // A name with more targets needs a separate call.
  most: 200,
  redeploy: true,
  vendor: ({ token }) => ({
    headers: { Authorization: `Bearer ${token}` },
    code: (body) => (body as { error?: { code?: unknown } } | undefined)?.error?.code,
  }),
  open(client, config) {
    const calls = callsOf(client, config);
    return {
      list: calls.list,
      async write(puts, removals, written) {
        const refused = await calls.upsert(puts, written);
        if (refused.length) {
          // The same key was written concurrently: read the variables again, once.
          const now = new Map((await calls.list()).map((remote) => [remote.target, remote]));
          await calls.upsert(
            refused.map((put) => ({ ...put, remote: now.get(put.target) ?? null })),
            written,
          );
        }
        await calls.remove(removals, written);
        return written;
      },
    };
  },
});

const rowsOf = (remote: { handle?: string } | null): Row[] =>
  remote?.handle === undefined ? [] : JSON.parse(remote.handle);

/** The address of a project's variables. */
const addressOf =
  ({ projectId, teamId }: Config) =>
  (version: string, rest: string[] = [], query: Record<string, string> = {}): string => {
    const search = new URLSearchParams({ ...query, ...(teamId !== undefined && { teamId }) }).toString();
    return `https://api.vercel.com/${version}/projects/${path(projectId, 'env', ...rest)}${search && `?${search}`}`;
  };

/** All pages. */
async function listed(client: Client, at: ReturnType<typeof addressOf>): Promise<Env[]> {
  const found: Env[] = [];
  const follow = paging();
  for (let query: Record<string, string> | null = {}; query; ) {
    const { envs, pagination }: z.infer<typeof Page> = shaped(
      Page,
      (await client.call({ method: 'GET', url: at('v10', [], query) })).body,
    );
    found.push(...envs);
    query = pagination?.next ? { until: String(pagination.next) } : null;
    if (query) follow(query.until as string, envs.length);
  }
  return found;
}

/** The variables of a project through which a sync writes to its targets. */
function callsOf(client: Client, config: Config) {
  const at = addressOf(config);
  const narrowing = narrowingOf(client, config);
  const upsertAll = upsertOf(client, config, narrowing);
  return {
    list: async (): Promise<Remote[]> => remotesOf(await listed(client, at), config.targets),
    remove: removeOf(client, config, narrowing),
    /** Creates and updates in one call; returns the names that were refused because they exist. */
    upsert(puts: Put[], written: Map<string, Written>): Promise<Put[]> {
      // Between narrowing a variable and creating ours, our targets have none.
      const isApart = puts.every(({ remote }) => !rowsOf(remote).some(narrowing.isWide));
      return isApart ? upsertAll(puts, written) : client.whole(() => upsertAll(puts, written));
    },
  };
}

type Narrowing = ReturnType<typeof narrowingOf>;

/** Variables that have targets of others too lose ours, and keep the rest. */
function narrowingOf(client: Client, config: Config) {
  const { targets } = config;
  const at = addressOf(config);
  // safety: vercel-other-targets-keep
  const isWide = (row: Row) => row.isCustom || row.targets.some((target) => !targets.includes(target));
  const narrow = async ({ id, targets: all }: Row) => {
    const target = all.filter((one) => !targets.includes(one));
    await client.call({ method: 'PATCH', url: at('v9', [id]), json: { target }, expects: [404] });
  };
  /** Narrows variables with more targets; returns the items for which this succeeded. */
  const narrowed = async <T extends Put | Removal>(
    items: T[],
    written: Map<string, Written>,
  ): Promise<T[]> => {
    await each(items, ({ target, remote }) =>
      part(written, [target], async () => {
        for (const row of rowsOf(remote).filter(isWide)) await narrow(row);
      }),
    );
    return items.filter(({ target }) => !written.has(target));
  };
  return { isWide, narrowed };
}

function upsertOf(client: Client, config: Config, { isWide, narrowed }: Narrowing) {
  const { targets, type } = config;
  const url = addressOf(config)('v10', [], { upsert: 'true' });
  /** Upserts items, and adds to `taken` the names that were refused because they exist. */
  const send = async (
    ready: Put[],
    json: object[],
    written: Map<string, Written>,
    taken: Set<string>,
  ): Promise<void> => {
    const { created, failed } = shaped(Created, (await client.call({ method: 'POST', url, json })).body);
    const done = new Set((Array.isArray(created) ? created : [created]).map((one) => one?.key));
    for (const { target, remote } of ready)
      if (done.has(target)) written.set(target, { action: remote ? 'updated' : 'created' });
    for (const { error } of failed ?? []) {
      const name = error.envVarKey ?? error.key ?? '';
      written.set(name, refused(201, error.code, json));
      if (error.code === 'ENV_CONFLICT' || error.code === 'ENV_ALREADY_EXISTS') taken.add(name);
    }
  };

  return async (puts: Put[], written: Map<string, Written>): Promise<Put[]> => {
    for (const { target } of puts) written.delete(target);
    const ready = await narrowed(puts, written);
    if (!ready.length) return [];
    const ownRows = (put: Put) => rowsOf(put.remote).filter((row) => !isWide(row));
    const json = ready.flatMap((put) => entriesOf(put, ownRows(put), targets, type));
    const taken = new Set<string>();
    const names = ready.map(({ target }) => target);
    await part(written, names, () => send(ready, json, written, taken));
    return ready.filter(({ target }) => taken.has(target));
  };
}

function removeOf(client: Client, config: Config, { isWide, narrowed }: Narrowing) {
  const at = addressOf(config);
  return async (removals: Removal[], written: Map<string, Written>): Promise<void> => {
    const ready = await narrowed(removals, written);
    const own = ready.map(({ target, remote }) => ({
      target,
      ids: rowsOf(remote).flatMap((row) => (isWide(row) ? [] : [row.id])),
    }));
    const names = own.map(({ target }) => target);
    const ids = own.flatMap((one) => one.ids);
    let isGone = true;
    if (ids.length)
      await part(written, names, async () => {
        const { status } = await client.call({
          method: 'DELETE',
          url: at('v1'),
          json: { ids },
          expects: [404],
        });
        isGone = status !== 404;
      });
    const open = own.filter(({ target }) => !written.has(target));
    // One of them was gone: delete them one by one.
    await each(open, (one) =>
      part(written, [one.target], async () => {
        if (!isGone)
          for (const id of one.ids)
            await client.call({ method: 'DELETE', url: at('v9', [id]), expects: [404] });
        written.set(one.target, { action: 'deleted' });
      }),
    );
  };
}

/**
 * The entries to write for a name: each variable with only our targets, unchanged targets, and one for the
 * targets without a variable.
 */
function entriesOf(
  { target: key, value }: Put,
  rows: Row[],
  targets: string[],
  type: Config['type'],
): Record<string, unknown>[] {
  const open = targets.filter((target) => !rows.some((row) => row.targets.includes(target)));
  return [
    ...rows.map((row) => ({
      key,
      value,
      // An unreadable variable stays unreadable.
      // safety: vercel-sensitive-stays
      type: row.type === 'sensitive' ? 'sensitive' : type,
      target: row.targets,
      ...(row.comment !== undefined && { comment: row.comment }),
    })),
    ...(open.length ? [{ key, value, type, target: open }] : []),
  ];
}

/**
 * The variables with one of our targets, one per key. Those of a single Git branch, or without an id, do not
 * count.
 */
function remotesOf(envs: Env[], targets: string[]): Remote[] {
  const ours = envs.filter(
    (env) =>
      env.id &&
      !env.gitBranch &&
      env.type !== 'system' &&
      targetsOf(env).some((target) => targets.includes(target)),
  );
  return [...Map.groupBy(ours, ({ key }) => key)].map(([target, rows]) => ({
    target,
    handle: JSON.stringify(rows.map(rowOf)),
    ...shownIn(rows, targets),
  }));
}

/** The common value of all our targets, if shown: null if they differ or one has none. */
function shownIn(rows: Env[], targets: string[]): { value?: string | null } {
  if (targets.some((target) => !rows.some((row) => targetsOf(row).includes(target)))) return { value: null };
  if (rows.some(({ type, decrypted }) => type !== 'plain' && decrypted !== true)) return {};
  const [first] = rows;
  return { value: rows.every(({ value }) => value === first?.value) ? (first?.value ?? null) : null };
}

const targetsOf = ({ target }: Env): string[] => (Array.isArray(target) ? target : target ? [target] : []);

const rowOf = (env: Env): Row => ({
  id: env.id as string,
  targets: targetsOf(env),
  isCustom: (env.customEnvironmentIds ?? []).length > 0,
  type: env.type,
  ...(env.comment && { comment: env.comment }),
});
