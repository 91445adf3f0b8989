// The quotas of all kinds of rows, as their domains declare them.
import { type RowKind, rowKinds } from '../../../src/db/rows';

/** The quota of each kind that has one of this sort. The objects are those that the service uses. */
export const allOf = <Q>(quotaOf: (kind: RowKind) => Q | undefined): Partial<Record<RowKind, Q>> =>
  Object.fromEntries(rowKinds().flatMap((kind) => (quotaOf(kind) ? [[kind, quotaOf(kind)]] : [])));
