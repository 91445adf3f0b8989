// Secrets of Cloudflare's Secrets Store, which Workers and AI Gateway read:
// https://developers.cloudflare.com/api/resources/secrets_store/. New names go in one call. If it is refused
// as a whole, they are sent one by one, so that the names that fit are written.
import { z } from '@hono/zod-openapi';
import {
  KB,
  type Put,
  type Remote,
  Segment,
  syncAdapter,
  TargetError,
  Token,
  tooLarge,
  type Written,
} from './adapter';
import type { Reply } from './call';
import type { Client } from './client';
import { CLOUDFLARE, cloudflareVendor, resultOf } from './cloudflare';
import { entry, paging, text } from './listing';
import { environmentName } from './names';
import { each, part } from './parts';
import { array, path } from './shapes';
import { idOf, type Known, upsert } from './upsert';

const SCOPES = ['workers', 'ai_gateway'] as const;
/** https://developers.cloudflare.com/secrets-store/manage-secrets/ */
const LARGEST = 64 * KB;
const PER_PAGE = 100;

const full = () =>
  new TargetError(
    {
      code: 'TARGET_REJECTED',
      message: 'The account has as many secrets as Cloudflare allows (100): delete some, then sync again.',
    },
    'name',
  );

export const cloudflareSecretsStore = syncAdapter({
  platform: 'cloudflare-secrets-store',
  config: z.strictObject({
    token: Token,
    accountId: Segment,
    storeId: Segment,
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .refine((scopes) => new Set(scopes).size === scopes.length, 'must not repeat')
      .default(['workers']),
  }),
  credentials: ['token'],
  identity: ({ accountId, storeId }) => ({ accountId, storeId }),
  name: (name) => environmentName(name),
  value: (value) => tooLarge(value, LARGEST),
  most: 100,
  redeploy: false,
  vendor({ token }) {
    const vendor = cloudflareVendor(token);
    return {
      ...vendor,
      meaning: (reply) =>
        reply.status >= 400 && says(reply, 'store_not_found')
          ? 'not_found'
          : (vendor.meaning?.(reply) ?? null),
    };
  },
  open(client, { accountId, storeId, scopes }) {
    const url = `${CLOUDFLARE}/accounts/${path(accountId)}/secrets_store/stores/${path(storeId)}/secrets`;
    const store: Store = { client, url, scopes };
    return {
      list: () => list(store),
      async write(puts, removals, written) {
        // Deletions first: they make room for new names.
        await each(removals, ({ target, remote }) =>
          part(written, [target], async () => {
            await client.call({
              method: 'DELETE',
              url: `${url}/${path(handleOf(remote).id)}`,
              expects: [404],
            });
            written.set(target, { action: 'deleted' });
          }),
        );
        const one = (put: Put, isRepeat = false) =>
          part(written, [put.target], async () => {
            written.set(put.target, await write(store, put, isRepeat));
          });
        const fresh = puts.filter(({ remote }) => !remote);
        await each(
          puts.filter(({ remote }) => remote),
          (put) => one(put),
        );
        await part(
          written,
          fresh.map(({ target }) => target),
          () => createAll(store, fresh, written, one),
        );
        return written;
      },
    };
  },
});

interface Store {
  client: Client;
  url: string;
  scopes: readonly string[];
}

/** Whether an error has this name. Cloudflare uses one code for several, and may append a secret's name. */
function says({ body }: Pick<Reply, 'body'>, name: string): boolean {
  const errors = (body as { errors?: unknown } | null | undefined)?.errors;
  return (
    Array.isArray(errors) &&
    errors.some((error) => {
      const message = (error as { message?: unknown } | null)?.message;
      return typeof message === 'string' && message.split(':')[0] === name;
    })
  );
}

/** All names of the store. The handle is the id of a secret, and the scopes that it has. */
async function list({ client, url, scopes }: Store): Promise<Remote[]> {
  const found: Remote[] = [];
  const follow = paging();
  for (let page = 1; ; page++) {
    const reply = await client.call({ method: 'GET', url: `${url}?page=${page}&per_page=${PER_PAGE}` });
    const secrets = array(resultOf(reply)).map(entry);
    for (const { id, name, status, scopes: theirs } of secrets) {
      if (status === 'deleted') continue;
      const has = array<unknown>(theirs ?? []).map(text);
      found.push({
        target: text(name),
        handle: [text(id), ...has].join(' '),
        otherForm: !scopes.every((scope) => has.includes(scope)),
      });
    }
    // The size of a page is the vendor's to choose, so only an empty one is surely the last.
    if (secrets.length === 0) return found;
    follow(page + 1, secrets.length);
  }
}

/** Creates all names in one call. */
async function createAll(
  { client, url, scopes }: Store,
  puts: Put[],
  written: Map<string, Written>,
  one: (put: Put, isRepeat: boolean) => Promise<void>,
): Promise<void> {
  if (puts.length === 0) return;
  const json = puts.map(({ target, value }) => ({ name: target, value, scopes }));
  const reply = await client.call({ method: 'POST', url, json, expects: [400, 409] });
  if (reply.status < 400) for (const { target } of puts) written.set(target, { action: 'created' });
  else await each(puts, (put) => one(put, reply.isRepeat));
}

/** Writes one name. `isRepeat`: an attempt of ours without a response may have created it. */
async function write(store: Store, put: Put, isRepeat: boolean): Promise<Written> {
  const { client, url, scopes } = store;
  const { target, value } = put;
  const done = await upsert(put, {
    async create(expects) {
      const json = [{ name: target, value, scopes }];
      const reply = await client.call({ method: 'POST', url, json, expects });
      if (reply.status >= 400 && says(reply, 'maximum_secrets_exceeded')) throw full();
      return reply;
    },
    taken: [400, 409],
    find: async (refusal) =>
      says(refusal, 'secret_name_already_exists')
        ? (await list(store)).find((remote) => remote.target === target)
        : undefined,
    change: (known, expects) => client.call(changeOf(store, known, value, expects)),
  });
  return isRepeat && done.action === 'updated' ? { action: 'created' } : done;
}

function handleOf(known: Known): { id: string; has: string[] } {
  const [id, ...has] = idOf(known).split(' ');
  return { id: id as string, has };
}

/** Scopes that somebody gave a secret stay. */
function changeOf({ url, scopes }: Store, known: Known, value: string, expects: readonly number[]) {
  const { id, has } = handleOf(known);
  const missing = scopes.filter((scope) => !has.includes(scope));
  const json = { value, ...(missing.length && { scopes: [...has, ...missing] }) };
  return { method: 'PATCH' as const, url: `${url}/${path(id)}`, json, expects };
}
