// HTTP route of scans.
import type { z } from '@hono/zod-openapi';
import { newId } from '../../db/ids';
import { keysOf, type RenderContext } from '../../http/context';
import { type Input, route } from '../../http/route';
import type { ScanPart } from './payloads';
import { sarifOf } from './sarif';
import { begin, inputOf, resultOf, type Scanning, unscanned, withPlaces } from './service';
import * as wire from './wire';

type Body = z.output<typeof wire.ScanIn>;
type ScanRequest = Input<z.output<typeof wire.ScanQuery>, Body>;

/** Scans in progress, by request body. */
const underWay = new WeakMap<Body, Scanning>();

const filesOf = ({ text, files }: Body) => files ?? [{ path: null, content: text ?? '' }];

async function render(part: ScanPart, { body, query }: ScanRequest, context: RenderContext) {
  const result = await resultOf(context, underWay.get(body) as Scanning, part);
  if (query.format !== 'sarif')
    return { json: { ...result, findings: result.findings.map(({ end: _, ...shown }) => shown) } };
  return new Response(JSON.stringify(sarifOf(result, context.base)), {
    status: 201,
    headers: { 'Content-Type': 'application/sarif+json' },
  });
}

export const scanRoutes = [
  route({
    method: 'post',
    path: '/orgs/{org_id}/scans',
    action: 'scan.create',
    tag: 'Scans',
    summary: 'Scan a text or files for credentials',
    description:
      'Finds well-known credential formats, tokens of this service, and exact current values (8 characters or more) of active secrets that the caller can read without approval; an ordinary word such as development is none. Findings on lines that contain svc:allow are left out. The text is not stored. A stored value that is found raises SECRET_LEAKED, once a day per place. With revoke_live, live tokens of this organisation are revoked, each with its own audit entry.',
    query: wire.ScanQuery,
    body: { schema: wire.ScanIn },
    answers: { 201: wire.Scan },
    alsoAs: ['application/sarif+json'],
    // The result depends on the time of the request.
    unkept: true,
    prepare: ({ body }) => ({ input: unscanned(newId('scn'), body.revoke_live ?? false) }),
    async more({ fingerprints }: { fingerprints?: string[] }, { body }, context) {
      const before = underWay.get(body);
      if (before && fingerprints) return { input: withPlaces(keysOf(context), before, fingerprints) };
      const scanning = begin(context, newId('scn'), filesOf(body), body.revoke_live ?? false);
      underWay.set(body, scanning);
      return { input: inputOf(scanning) };
    },
    render,
  }),
];
