// Exports the entries past retention: oldest first, one per line, starting after the cut; the last line is
// the signed checkpoint at which they end. Invariants: an export that reaches its last line is complete, and
// its chain was checked; at most one segment is in memory at a time.
import { keysOf, type RenderContext } from '../../http/context';
import { chainFrom } from './check-chain';
import type { ExportPart } from './gate/retention';
import { checkpointKey } from './signing';
import { partsFrom } from './verify';
import { checkpointOut } from './wire';

/** Streams the entries past retention; the response is empty if there are none. */
export function streamExport(context: RenderContext, { cut, end, held, missing }: ExportPart): Response {
  const headers = { 'Content-Type': 'application/x-ndjson; charset=utf-8' };
  if (!end) return new Response('', { headers });
  const encoder = new TextEncoder();
  const from = (cut?.sequence ?? 0) + 1;
  const chain = chainFrom(context.org, { from, hash: cut?.hash ?? null }, missing, cut === null);
  const inEnd = held.filter(({ sequence }) => sequence <= end.sequence);
  const parts = partsFrom(
    context,
    { oldest: end.sequence + 1, entries: [], held: inEnd },
    from,
    Number.POSITIVE_INFINITY,
  );
  const broken = (sequence: number) => new Error(`the audit log is not intact at entry ${sequence}`);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A caller revoked in the meantime gets no more. The stream fails, so the client cannot mistake it for
      // complete.
      if ((await context.further({ further: true })).kind !== 'ok')
        return controller.error(new Error('no longer allowed'));
      const { done, value } = await parts.next();
      if (!done) {
        const bad = value.entries ? value.entries.find((entry) => !chain.take(entry)) : value;
        // safety: export-chain-checked
        if (!value.entries || bad) return controller.error(broken(value.sequence));
        return controller.enqueue(
          encoder.encode(value.entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')),
        );
      }
      chain.skip();
      const at = chain.position();
      // safety: export-reaches-end
      if (at.from <= end.sequence || (at.hash !== null && at.hash !== end.hash))
        return controller.error(broken(at.from));
      const key = await checkpointKey(keysOf(context).checkpoint);
      const signature = await key.sign(context.org, end);
      const checkpoint = checkpointOut({ org_id: context.org, ...end, key_id: key.id, signature });
      controller.enqueue(encoder.encode(`${JSON.stringify({ checkpoint })}\n`));
      controller.close();
    },
  });
  return new Response(body, { headers });
}
