// Supabase Edge Function secrets: https://supabase.com/docs/reference/api/v1-bulk-create-secrets. Values are
// shown as digests; a POST overwrites many names, a DELETE deletes the names in its body.
import { z } from '@hono/zod-openapi';
import { bytesOf, KB, type Problem, Segment, syncAdapter, Token } from './adapter';
import { environmentName } from './names';
import { each, part } from './parts';
import { path, shaped } from './shapes';

/** The limit of a value is documented in both units. */
const MOST = { bytes: 48 * KB, characters: 24_576 };

const tooLong = (value: string): Problem | null =>
  value.length > MOST.characters || bytesOf(value) > MOST.bytes
    ? {
        code: 'VALUE_TOO_LARGE',
        message: `The value has more than ${MOST.characters} characters or ${MOST.bytes} bytes.`,
      }
    : null;

const Listing = z.array(z.object({ name: z.string() }));

export const supabase = syncAdapter({
  platform: 'supabase',
  config: z.strictObject({ token: Token, projectRef: Segment }),
  credentials: ['token'],
  name: (name) => environmentName(name, { most: 256, reserved: /^SUPABASE_/ }),
  value: tooLong,
  // The most names of a project.
  most: 100,
  redeploy: false,
  vendor: ({ token }) => ({ headers: { Authorization: `Bearer ${token}` } }),
  open(client, { projectRef }) {
    const url = `https://api.supabase.com/v1/projects/${path(projectRef)}/secrets`;
    return {
      async list() {
        const { body } = await client.call({ method: 'GET', url });
        return shaped(Listing, body).map(({ name }) => ({ target: name }));
      },
      async write(puts, removals, written) {
        const remove = async (names: string[], expects: number[]) => {
          const { status } = await client.call({ method: 'DELETE', url, json: names, expects });
          if (status !== 404 || names.length === 1)
            for (const name of names) written.set(name, { action: 'deleted' });
        };
        // Deleted first, to make room in a full project.
        const gone = removals.map(({ target }) => target);
        if (gone.length) await part(written, gone, () => remove(gone, [404]));
        // One of them no longer existed: delete them one by one.
        const open = gone.filter((name) => !written.has(name));
        await each(open, (name) => part(written, [name], () => remove([name], [404])));
        if (puts.length) {
          const names = puts.map(({ target }) => target);
          await part(written, names, async () => {
            await client.call({
              method: 'POST',
              url,
              json: puts.map(({ target, value }) => ({ name: target, value })),
            });
            for (const { target, remote } of puts)
              written.set(target, { action: remote ? 'updated' : 'created' });
          });
        }
        return written;
      },
    };
  },
});
