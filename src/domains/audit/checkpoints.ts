// Signed checkpoints of the audit log: the signing job, the list and the public key. Invariant: the private
// key exists only in the Worker, which signs only what the gate states.
import { and, desc, eq, lt } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { pem } from '../../crypto/pem';
import { auditCheckpoints } from '../../db/schema';
import type { JobContext } from '../../delivery/job';
import type { Statement } from '../../gate/archive/checkpoints';
import { unwrap } from '../../gate/request/outcome';
import { keysOf, type RenderContext } from '../../http/context';
import type { Signed } from './gate/checkpoints';
import { checkpointKey } from './signing';
import { checkpointOut } from './wire';

/** Checkpoints per query of a stream. */
const PER_PART = 1000;

/** Signs the waiting statements in batches. A repeat produces the same signatures. */
export async function signCheckpoints({ org, keys, ask }: JobContext): Promise<void> {
  const key = await checkpointKey(keys.checkpoint);
  for (;;) {
    const statements = unwrap(await ask('audit.checkpoint', {})).data as Statement[];
    if (statements.length === 0) return;
    const signed: Signed[] = [];
    for (const statement of statements)
      signed.push({
        sequence: statement.sequence,
        key_id: key.id,
        signature: await key.sign(org, statement),
      });
    unwrap(await ask('audit.checkpoint', { signed }, 'audit.checkpoint_store'));
  }
}

/** Checkpoints older than a sequence, newest first, unchanged from D1: consumers verify the signatures. */
export async function checkpointsOn(context: RenderContext, before: number | null, limit: number) {
  context.trace.d1_calls++;
  const rows = await drizzle(context.env.DB)
    .select()
    .from(auditCheckpoints)
    .where(
      and(
        eq(auditCheckpoints.org_id, context.org),
        before === null ? undefined : lt(auditCheckpoints.sequence, before),
      ),
    )
    .orderBy(desc(auditCheckpoints.sequence))
    .limit(limit + 1);
  const page = rows.slice(0, limit);
  return {
    items: page.map(checkpointOut),
    next: rows.length > limit ? (page.at(-1)?.sequence ?? null) : null,
  };
}

/** All checkpoints, newest first, one per line. */
export function streamCheckpoints(context: RenderContext, from: number | null): Response {
  const encoder = new TextEncoder();
  let before = from;
  let isFirst = true;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A caller revoked in the meantime gets no more.
      if (!isFirst && (await context.further({ further: true })).kind !== 'ok')
        return controller.error(new Error('no longer allowed'));
      isFirst = false;
      const { items, next } = await checkpointsOn(context, before, PER_PART);
      if (items.length)
        controller.enqueue(encoder.encode(items.map((item) => `${JSON.stringify(item)}\n`).join('')));
      before = next;
      if (next === null) controller.close();
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'application/x-ndjson; charset=utf-8' } });
}

/** The public key. */
export async function keyOf(context: RenderContext) {
  const { id, jwk, spki } = await checkpointKey(keysOf(context).checkpoint);
  return { key_id: id, jwk: { ...jwk, kid: id, use: 'sig', alg: 'EdDSA' }, pem: pem('PUBLIC KEY', spki, 64) };
}
