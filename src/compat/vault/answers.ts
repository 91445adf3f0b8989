// Responses as Vault's clients read them. Invariants: all eight keys are there, since some clients index them
// without a check; the type is `application/json` exactly, by which hvac knows a body with errors.
import { idBytes } from '../../db/ids';
import type { RequestFacts } from '../../gate/request/call';

const JSON_TYPE = { 'Content-Type': 'application/json' };

export interface Shown {
  /** The text of `data`. */
  data?: string;
  auth?: object;
  lease_seconds?: number;
  status?: number;
  warnings?: string[];
}

/** The id of a request as a UUID, whose digits are those of the `Request-Id` header. */
function uuidOf({ id }: Pick<RequestFacts, 'id'>): string {
  const hex = [...(idBytes('req', id) ?? new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const enveloped = (
  request: Pick<RequestFacts, 'id'>,
  { data = 'null', auth, lease_seconds = 0, status = 200, warnings = [] }: Shown,
): Response =>
  new Response(
    `{"request_id":"${uuidOf(request)}","lease_id":"","renewable":false,"lease_duration":${lease_seconds},"data":${data},"wrap_info":null,"warnings":${warnings.length ? JSON.stringify(warnings) : 'null'},"auth":${auth ? JSON.stringify(auth) : 'null'}}`,
    { status, headers: JSON_TYPE },
  );

/** A response without the envelope, as some system paths have it. */
export const bare = (body: object, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: JSON_TYPE });

export const errors = (status: number, ...texts: string[]): Response => bare({ errors: texts }, status);

export const done = (): Response => new Response(null, { status: 204 });
