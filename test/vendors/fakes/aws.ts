// What AWS services of the JSON 1.1 protocol have in common: one path, the operation in a header, Signature
// Version 4 checked from scratch by
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html, and errors with
// status 400 and a `__type`.
import { createHash, createHmac } from 'node:crypto';
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface AwsFake extends Fake {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string | null;
  region: string;
  /** Operations that the key may not call. */
  denied: Set<string>;
}

/** An error of a service. */
export class AwsError extends Error {
  readonly type: string;
  readonly status: number;
  constructor(type: string, status = 400) {
    super(type);
    this.type = type;
    this.status = status;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: each operation looks into its own input.
export type Operation = (input: any) => object;

/** The operation that a request names. */
export const operationOf = ({ headers }: FakeRequest): string =>
  String(headers['x-amz-target'] ?? '').split('.')[1] ?? '';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/**
 * Starts a service. `reads` are the operations that write nothing; `field` is the field of an error's text.
 */
export async function startAws(
  service: { name: string; target: string; field: 'message' | 'Message'; reads: string[] },
  operations: Record<string, Operation>,
): Promise<AwsFake> {
  const fake = (await startFake((request): FakeAnswer => {
    const type = request.headers['content-type'];
    try {
      const operation = operationOf(request);
      if (request.method !== 'POST' || request.path !== '/')
        throw new AwsError('UnknownOperationException', 404);
      if (type !== 'application/x-amz-json-1.1')
        throw new AwsError('com.amazon.coral.service#UnknownOperationException', 404);
      const run = operations[operation];
      if (!run || request.headers['x-amz-target'] !== `${service.target}.${operation}`)
        throw new AwsError('com.amazon.coral.service#UnknownOperationException');
      authenticate(fake, service.name, request);
      if (fake.denied.has(operation)) throw new AwsError('AccessDeniedException');
      if (typeof request.json !== 'object' || request.json === null)
        throw new AwsError('SerializationException');
      return { status: 200, headers: { 'Content-Type': type }, body: JSON.stringify(run(request.json)) };
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const body = JSON.stringify({ __type: error.type, [service.field]: `made up: ${request.text}` });
      return { status: error.status, headers: { 'Content-Type': 'application/x-amz-json-1.1' }, body };
    }
  })) as AwsFake;
  return Object.assign(fake, {
    accessKeyId: 'AKIDMADEUP0000000000',
    secretAccessKey: 'made/up+secret/access+key',
    sessionToken: null,
    region: 'eu-west-1',
    denied: new Set<string>(),
    writes: () => fake.requests.filter((request) => !service.reads.includes(operationOf(request))),
  });
}

function authenticate(fake: AwsFake, service: string, { method, path, headers, text }: FakeRequest) {
  const refuse = (type: string) => new AwsError(`com.amazon.coral.service#${type}`);
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;
  const found = form.exec(headers.authorization ?? '');
  if (!headers.authorization) throw refuse('MissingAuthenticationTokenException');
  if (!found) throw refuse('IncompleteSignatureException');
  const [, key, day = '', region, named, signed = '', signature] = found;
  const date = String(headers['x-amz-date']);
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(Date.now() - at) < 900_000) || !date.startsWith(day))
    throw refuse('InvalidSignatureException');
  if (key !== fake.accessKeyId || (headers['x-amz-security-token'] ?? null) !== fake.sessionToken)
    throw refuse('UnrecognizedClientException');
  if (region !== fake.region || named !== service) throw refuse('InvalidSignatureException');
  const names = signed.split(';');
  // AWS's own clients leave this one out.
  const isNeeded = (name: string) =>
    (name.startsWith('x-amz-') && name !== 'x-amz-user-agent') || name === 'content-type';
  const needed = ['host', ...Object.keys(headers).filter(isNeeded)];
  if (needed.some((name) => !names.includes(name)) || names.join() !== [...names].sort().join())
    throw refuse('InvalidSignatureException');
  const canonical = [
    method,
    path,
    '',
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    signed,
    hash(text),
  ].join('\n');
  const scope = `${day}/${region}/${named}/aws4_request`;
  const chain = [day, fake.region, service, 'aws4_request'];
  const signing = chain.reduce<string | Buffer>(
    (last, part) => hmac(last, part),
    `AWS4${fake.secretAccessKey}`,
  );
  const expected = hmac(signing, ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n')).toString(
    'hex',
  );
  if (signature !== expected) throw refuse('InvalidSignatureException');
}

/** Refuses a field that an operation does not have, or of another type; `!` marks those that it needs. */
export function input(given: Record<string, unknown>, fields: Record<string, string>) {
  for (const name of Object.keys(given)) if (!(name in fields)) throw new AwsError('SerializationException');
  for (const [name, type] of Object.entries(fields)) {
    const value = given[name];
    if (value === undefined && type.endsWith('!')) throw new AwsError('ValidationException');
    const kind = Array.isArray(value) ? 'array' : typeof value;
    if (value !== undefined && kind !== type.replace('!', '')) throw new AwsError('SerializationException');
  }
}
