// Writing one name where the vendor has one call to create and another to change. Invariant: a name that somebody else created or deleted meanwhile, or
// that a try without an answer created, ends up with our value all the same.
import { type Put, type Remote, TargetError, type Written } from './adapter';
import type { Reply } from './call';

/** What was listed. */
export type Known = Omit<Remote, 'value'>;

export interface Calls {
  /** Creates the name. Statuses in `expects` are answered, others thrown. */
  create(expects: readonly number[]): Promise<Reply>;
  /** The statuses with which a create is refused where the name exists, perhaps among other reasons. */
  taken: readonly number[];
  /** What stands there after such a refusal; undefined where it had another reason. */
  find(refusal: Reply): Promise<Known | undefined>;
  /** Changes what stands there; a 404 is answered where it is expected. */
  change(known: Known, expects: readonly number[]): Promise<Reply>;
}

/** Changes what was listed and creates the rest; each becomes the other where the target knows better. */
export async function upsert({ remote }: Put, { create, taken, find, change }: Calls): Promise<Written> {
  if (remote && (await change(remote, [404])).status !== 404) return { action: 'updated' };
  const reply = await create(taken);
  if (!taken.includes(reply.status)) return { action: 'created' };
  const known = await find(reply);
  if (!known) throw new TargetError({ code: 'TARGET_REJECTED', message: `The target answered with status ${reply.status}.` }, 'name');
  await change(known, []);
  // An earlier try of ours may have created it.
  return { action: reply.isRepeat ? 'created' : 'updated' };
}

/** The id of what was listed. Without one, a call would go to the collection. */
export function idOf({ handle }: Known): string {
  // safety: sync-no-call-to-collection
  if (!handle) throw new Error('What was listed has no id.');
  return handle;
}
