// The parts of a domain. Each domain is a folder here and one line in index.ts.
import type { Needs } from '../auth/actions';
import type { RowKind } from '../db/rows';
import type { Job } from '../delivery/job';
import type { Declared } from '../gate/core';
import type { JobName } from '../gate/queue-messages';
import type { Operation } from '../gate/request/call';
import type { DeclaredRoute } from '../http/route';

/** A domain. What follows from its rows in the gate is `Declared`. */
export interface Domain extends Declared {
  /** Tags of its routes in the OpenAPI document, with their descriptions. */
  tags: Record<string, string>;
  /** The permissions that each of its actions needs. */
  actions: Needs;
  /** Its kinds of rows; db/schema.ts has their tables. */
  rows: readonly RowKind[];
  /** Its operations in the gate, by name. */
  operations: Record<string, Operation>;
  /** Its HTTP routes. */
  routes: readonly DeclaredRoute[];
  /** What the Worker does at the gate's request. */
  jobs?: Partial<Record<JobName, Job>>;
  /** Examples for fields of its schemas in the OpenAPI document, by `Schema.field`. */
  examples: Record<string, unknown>;
}
