// An endpoint for clients of AWS Secrets Manager: `POST /compat/aws/:org_id/:environment`. It is thin: the
// header X-Amz-Target picks a call (operations.ts), the call says which operation of ours it becomes, and the
// pipeline of the API handles that as any other request. Here are only the signature, and the translation of
// what was sent and of the answer. Invariant: no call reaches anything but through that pipeline.
import {
  MOST_SKEW,
  readSigned,
  type Signed,
  type SignedParts,
  skewOf,
} from '../../auth/authentication/signature-v4';
import { fromUtf8 } from '../../crypto/bytes';
import { isSecretName } from '../../db/names';
import { actions } from '../../domains';
import { type Refusal, refuse } from '../../errors';
import { authenticateSigned } from '../../http/caller/signed';
import type { Authenticated, Incoming } from '../../http/context';
import { refusalOfFault } from '../../http/faults';
import { handle } from '../../http/handle';
import { readBytes } from '../../http/input/body';
import { shapeOf } from '../../http/input/shape';
import { detailsOf } from '../../http/input/validate';
import { messageOf } from '../../http/input/wording';
import { errorResponse } from '../../http/responses';
import type { Route } from '../../http/route';
import { isObject } from '../json-text';
import { answered, failed } from './answers';
import { asAws, UNKNOWN_TOKEN } from './errors';
import { candidatesOf, isOfTheSecret } from './names';
import { callOf } from './operations';
import type { At, AwsCall } from './route';

const TARGET = /^secretsmanager\.([A-Za-z]{1,64})$/;

/** For how long a signature serves once: as long as it is accepted, and a minute more. */
const SERVES_ONCE = 2 * MOST_SKEW + 60_000;

type Members = Record<string, unknown>;

/** The members of a request; null for a body that is no JSON object. Those that are null count as absent. */
function membersOf(body: Uint8Array): Members | null {
  if (body.length === 0) return {};
  try {
    const sent: unknown = JSON.parse(fromUtf8(body) ?? '');
    return isObject(sent)
      ? Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null))
      : null;
  } catch {
    return null;
  }
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether a request was sent to this deployment: to PUBLIC_URL, or where that is loopback, to a name of it.
 */
function isHere(url: string, base: string): boolean {
  const sent = new URL(url);
  const own = new URL(base);
  // safety: signed-for-this-host
  return (
    sent.host === own.host ||
    (sent.port === own.port && LOOPBACK.test(sent.hostname) && LOOPBACK.test(own.hostname))
  );
}

/** The caller of a request, or the answer to one without. */
async function authenticated(
  incoming: Incoming,
  parts: SignedParts,
): Promise<{ caller: Authenticated; signed: Signed } | Response> {
  const { request, base, trace } = incoming;
  trace.code = 'UNAUTHENTICATED';
  if (!isHere(request.url, base))
    return failed('InvalidSignatureException', 'The request was signed for another host.');
  const signed = readSigned(parts);
  if ('type' in signed) return failed(signed.type, signed.message);
  const skew = skewOf(signed, Date.now());
  if (skew) return failed(skew.type, skew.message);
  const caller = await authenticateSigned(incoming, signed, parts);
  if (typeof caller === 'number')
    return asAws(errorResponse(refuse('RATE_LIMITED', { retry_after: caller }), base, trace));
  if (caller === 'unknown') return failed('UnrecognizedClientException', UNKNOWN_TOKEN);
  if (caller === 'mismatch')
    return failed(
      'InvalidSignatureException',
      'The request signature we calculated does not match the signature you provided.',
    );
  trace.code = null;
  return { caller, signed };
}

/** What a call takes of the members that were sent, or what is wrong with them. */
function taken(
  { schema }: AwsCall,
  members: Members | null,
): { body: Members; token?: string; finding: Refusal | null } {
  if (members === null) return { body: {}, finding: refuse('MALFORMED_JSON') };
  const shape = shapeOf(members);
  if (shape) return { body: {}, finding: refuse('VALIDATION_FAILED', { details: [shape] }) };
  const parsed = schema.safeParse(members, { error: messageOf });
  if (!parsed.success) {
    const details = detailsOf(parsed.error, 'is not known');
    return { body: {}, finding: refuse('VALIDATION_FAILED', { details }) };
  }
  // Repeated, a request has another token: it is no part of what an approval is for.
  const { ClientRequestToken: token, ...body } = parsed.data as Members;
  return { body, ...(typeof token === 'string' && { token }), finding: null };
}

/** What a request names, in the order in which it is tried. */
function placesOf({ Name, SecretId }: Members): Pick<At, 'name' | 'suffix'>[] {
  if (typeof Name === 'string') return [{ name: Name }];
  if (typeof SecretId !== 'string') return [{}];
  const all = candidatesOf(SecretId);
  const named = all.filter(({ name }) => isSecretName(name));
  return (named.length ? named : all.slice(0, 1)).map(({ name, suffix }) => ({
    name,
    ...(suffix !== null && { suffix }),
  }));
}

/**
 * The request as our own API takes it. Its path says which operation it is, so that an approval of one is not
 * one of another, and its body has what the operation takes alone.
 */
function ours(
  incoming: Incoming,
  { operation, call, at }: { operation: string; call: AwsCall; at: At },
  { body, finding }: Pick<ReturnType<typeof taken>, 'body' | 'finding'>,
  { caller, signed }: { caller: Authenticated; signed: Signed },
): Incoming {
  const { org_id, environment } = incoming.params;
  const { approval_id } = incoming.headers;
  return {
    ...incoming,
    caller,
    storedFor: SERVES_ONCE,
    request: new Request(`${incoming.base}/compat/aws/${org_id}/${environment}/${operation}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'Content-Type': 'application/json',
        ...(approval_id !== null && { 'Approval-Id': approval_id }),
      },
    }),
    headers: {
      ...incoming.headers,
      // No key of a client has this character.
      // safety: write-signature-serves-once
      idempotency_key: call.isWrite ? `§${at.suffix ?? ''}§${signed.signature}` : null,
      if_match: null,
      if_none_match: null,
      finding: incoming.headers.finding ?? finding,
    },
    approvalIsFound: true,
    params: { org_id: org_id as string, ...at },
  };
}

/** Answers a request of a client of AWS Secrets Manager. */
export async function answerAws(incoming: Incoming): Promise<Response> {
  const { base, facts, trace } = incoming;
  const response = await answer(incoming).catch((error) =>
    asAws(errorResponse(refusalOfFault(error, facts.id), base, trace)),
  );
  response.headers.set('x-amzn-RequestId', facts.id);
  // Clients correct their clock by it.
  response.headers.set('Date', new Date().toUTCString());
  return response;
}

async function answer(incoming: Incoming): Promise<Response> {
  const { request, params, base, trace } = incoming;
  trace.route = '/compat/aws/{org_id}/{environment}';
  const body = await readBytes(request);
  if (body === null) return asAws(errorResponse(refuse('PAYLOAD_TOO_LARGE'), base, trace));
  if (request.method !== 'POST' || params.org_id === undefined) {
    const known = params.org_id !== undefined;
    trace.code = known ? 'METHOD_NOT_ALLOWED' : 'NOT_FOUND';
    const refused = failed(
      'UnknownOperationException',
      'Send a POST request to /compat/aws/ORG/ENVIRONMENT.',
      known ? 405 : 404,
    );
    if (known) refused.headers.set('Allow', 'POST');
    return refused;
  }
  const operation = TARGET.exec(request.headers.get('x-amz-target') ?? '')?.[1] ?? '';
  const members = membersOf(body);
  const call = callOf(operation, members ?? {});
  if (!call) return failed('UnknownOperationException', 'The operation in X-Amz-Target is not known.');
  trace.route += ` ${operation}`;
  const who = await authenticated(incoming, { url: request.url, headers: request.headers, body });
  if (who instanceof Response) return who;
  const { token, ...take } = taken(call, members);
  const route: Route = { ...call.route, need: actions[call.route.action] };
  let response: Response | null = null;
  for (const place of placesOf(take.body)) {
    const { environment = '' } = params;
    const { region } = who.signed;
    const at: At = { environment, region, ...place, ...(token !== undefined && { token }) };
    trace.code = null;
    const found = await handle(route, ours(incoming, { operation, call, at }, take, who));
    if (found.status < 300) {
      response = call.shows ? shown(found, call.shows((await found.json()) as never, at)) : found;
      break;
    }
    const isMeant = isOfTheSecret(trace.code);
    if (isMeant || !response) response = found;
    if (isMeant) break;
  }
  return asAws(response as Response);
}

/** A translated answer, with the headers of ours that clients may read. */
function shown(from: Response, body: object): Response {
  const response = answered(body);
  for (const [name, value] of from.headers)
    if (/^(ratelimit.*|x-ratelimit-.*|svc-region.*|idempotency-replayed)$/.test(name))
      response.headers.set(name, value);
  return response;
}
