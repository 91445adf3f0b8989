// Answers in AWS's JSON protocol. Invariants: members without a value are left out, never null; times are
// seconds since the epoch, as numbers.
import { suffixOf } from '../../domains/secrets/gate/aws/lookup';

const TYPE = 'application/x-amz-json-1.1';

export const answered = (body: object, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': TYPE } });

export function failed(type: string, message: string, status = 400): Response {
  const response = answered({ __type: type, Message: message }, status);
  response.headers.set('x-amzn-ErrorType', type);
  return response;
}

export const seconds = (time: string): number => Date.parse(time) / 1000;

export const arnOf = (region: string, name: string, id: string): string =>
  `arn:aws:secretsmanager:${region}:000000000000:secret:${name}-${suffixOf(id)}`;

const VERSION = '00000000-0000-4000-8000-';

/** The id of a version: clients require 32 characters or more. */
export const versionId = (version: number): string => VERSION + String(version).padStart(12, '0');

/** The version of such an id; 0, which no version is, for any other text. */
export const versionOfId = (id: string): number =>
  id.startsWith(VERSION) && /^\d{12}$/.test(id.slice(VERSION.length)) ? Number(id.slice(VERSION.length)) : 0;
