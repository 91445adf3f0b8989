// Writes one name for vendors with separate calls to create and to change. Invariant: a name that was created
// or deleted concurrently, or created by an attempt without a response, still ends up with our value.
import { type Put, type Remote, TargetError, type Written } from './adapter';
import type { Reply } from './call';

/** The listed variable. */
export type Known = Omit<Remote, 'value'>;

export interface Calls {
  /** Creates the name. Statuses in `expects` are returned, others thrown. */
  create(expects: readonly number[]): Promise<Reply>;
  /** The statuses of a create that is refused because the name exists, possibly among other reasons. */
  taken: readonly number[];
  /** The existing variable after such a refusal; undefined if the reason was different. */
  find(refusal: Reply): Promise<Known | undefined>;
  /** Changes the existing variable; a 404 is returned if expected. */
  change(known: Known, expects: readonly number[]): Promise<Reply>;
}

/** Changes listed names and creates the rest; switches to the other call if the target's state differs. */
export async function upsert({ remote }: Put, { create, taken, find, change }: Calls): Promise<Written> {
  if (remote && (await change(remote, [404])).status !== 404) return { action: 'updated' };
  const reply = await create(taken);
  if (!taken.includes(reply.status)) return { action: 'created' };
  const known = await find(reply);
  if (!known)
    throw new TargetError(
      { code: 'TARGET_REJECTED', message: `The target answered with status ${reply.status}.` },
      'name',
    );
  await change(known, []);
  // An earlier attempt of ours may have created it.
  return { action: reply.isRepeat ? 'created' : 'updated' };
}

/** The id of the listed variable. Without one, a call would go to the collection. */
export function idOf({ handle }: Known): string {
  // safety: sync-no-call-to-collection
  if (!handle) throw new Error('The listed variable has no id.');
  return handle;
}
