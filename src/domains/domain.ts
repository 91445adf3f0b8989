// What a domain consists of. Each one is a folder here, and one line in index.ts.
import type { Needs } from '../auth/actions';
import type { RowKind } from '../db/rows';
import type { Job } from '../delivery/job';
import type { JobName } from '../delivery/messages';
import type { Operation } from '../gate/types';
import type { DeclaredRoute } from '../http/route';

export interface Domain {
  /** Tags of its routes in the OpenAPI document, with their descriptions. */
  tags: Record<string, string>;
  /** What each of its actions needs. */
  actions: Needs;
  /** The kinds of row that belong to it; db/schema.ts has their tables. */
  rows: readonly RowKind[];
  /** What the gate does, by name. */
  operations: Record<string, Operation>;
  /** What the Worker answers. */
  routes: readonly DeclaredRoute[];
  /** What the Worker does when the gate asks for it. */
  jobs?: Partial<Record<JobName, Job>>;
  /** Examples for fields of its schemas in the OpenAPI document, by `Schema.field`. */
  examples: Record<string, unknown>;
}
