// The catalogue of refusals: every code that leaves the service, with its status, what it means and what to do about it.
// Invariant: no other error shape exists. A refusal is plain data, so that it crosses the gate's RPC unchanged; messages are
// written here or by the domain that refuses, and never contain a value, a token or a key.
interface Entry {
  status: number;
  message: string;
  cause: string;
  remedy: string;
}

export const catalogue = {
  MALFORMED_JSON: {
    status: 400,
    message: 'The body is not valid JSON in UTF-8.',
    cause: 'The bytes of the body could not be decoded as UTF-8, or the text is not one JSON value.',
    remedy: 'Send one JSON object, encoded as UTF-8 without a byte order mark. Most HTTP clients do so when given an object.',
  },
  VALIDATION_FAILED: {
    status: 400,
    message: 'The request has fields that are missing, unknown or not allowed; see details.',
    cause: 'A field of the body, the query or a header is missing, unknown, of the wrong type or out of bounds. Nothing was changed.',
    remedy:
      'Each item of error.details names one field by its path and says what is expected there. Correct all of them and send the request again.',
  },
  INVALID_CURSOR: {
    status: 400,
    message: 'The cursor is not one that this list has given.',
    cause: 'Cursors are bound to their organisation and their list; this one was altered, cut short, or belongs elsewhere.',
    remedy: 'Pass next_cursor of the previous page as it is, to the same list, or start again without a cursor.',
  },
  UNAUTHENTICATED: {
    status: 401,
    message: 'A valid credential is required: send it as "Authorization: Bearer TOKEN".',
    cause: 'The Authorization header is missing, or its token is malformed, mistyped, cut short or unknown to this deployment.',
    remedy: 'Check that the whole token is sent, without quotes or line ends, and that it belongs to this deployment.',
  },
  TOKEN_EXPIRED: {
    status: 401,
    message: 'This credential has expired.',
    cause: 'The time given when the credential was created is over. This is normal for session tokens.',
    remedy: 'Mint a new session token from its API key, or create a new credential.',
  },
  TOKEN_REVOKED: {
    status: 401,
    message: 'This credential has been revoked.',
    cause: 'The credential, the one that it descends from, or its whole organisation has been ended.',
    remedy: 'Use another credential, or ask whoever administers the organisation for a new one. A revoked credential never comes back.',
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    message: 'This credential may not do that.',
    cause: 'The credential lacks the scope that the message names, or is limited to other environments or names than the one asked for.',
    remedy: 'Use a credential that holds the scope and reaches the environment and name. GET /api/v1/whoami shows what this one holds.',
  },
  SECRET_ACCESS_DENIED: {
    status: 403,
    message: 'This agent may not read this secret.',
    cause: 'The agent credential lacks the scope secrets:read, or the secret lies outside the environments or names that it was given.',
    remedy:
      'Grant it with PATCH /orgs/:org_id/agent-credentials/:id, whose scopes must include secrets:read and whose environments and secrets must reach the secret, or use another credential. GET /api/v1/whoami shows what the agent holds.',
  },
  SCOPE_EXCEEDS_PARENT: {
    status: 403,
    message: 'A credential cannot create or change another to hold more than it holds itself.',
    cause:
      'The scopes, environments, names, addresses or lifetime asked for go beyond those of the credential that made the request, or it would raise a rate limit that it is under itself.',
    remedy: 'Ask for a subset of what the calling credential holds, or make the request with a stronger one.',
  },
  CREDENTIAL_KIND_NOT_ALLOWED: {
    status: 403,
    message: 'This kind of credential cannot make this request.',
    cause: 'Some requests are open to certain kinds of credential alone: a session token mints no session token and rotates no API key.',
    remedy: 'Make the request with the kind of credential that the message or the API reference names, usually an API key.',
  },
  ADDRESS_NOT_ALLOWED: {
    status: 403,
    message: 'This credential may not be used from this address.',
    cause: 'The credential, or the one that it descends from, is limited by allowed_addresses, and the request came from elsewhere.',
    remedy: 'Make the request from an allowed network, or have allowed_addresses extended by someone who may.',
  },
  REAUTHENTICATION_REQUIRED: {
    status: 403,
    message: 'This needs a fresh confirmation with a passkey: call POST /api/v1/auth/confirm, then repeat the request with the new token.',
    cause:
      'A browser session may change passkeys, re-enrol members, make or change owners, delete the organisation and call panic only within five minutes of a sign-in or a confirmation with a passkey, and only with a token that was issued then or later.',
    remedy:
      'Get options from POST /api/v1/auth/confirm/options, pass them to navigator.credentials.get(), send the response to POST /api/v1/auth/confirm, and repeat the request with the token in its answer. API keys need no confirmation.',
  },
  NOT_FOUND: {
    status: 404,
    message: 'There is nothing here.',
    cause: 'The path is not part of this API, or the resource does not exist, is deleted, or belongs to another organisation.',
    remedy: 'Check the path and the id. A deleted secret can be restored for seven days: GET /secrets?status=deleted lists such ones.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'This path does not take that method; the Allow header lists those that it takes.',
    cause: 'The path exists, but not with the HTTP method that was used.',
    remedy: 'Use one of the methods in the Allow header; the API reference at /docs says what each does.',
  },
  SECRET_EXPIRED: {
    status: 410,
    message: 'This secret has expired.',
    cause: 'The lifetime given with ttlSeconds is over, so its value is no longer given out.',
    remedy: 'Give it a new lifetime with PATCH { "ttlSeconds": … }, and a new value if the old one no longer serves, or delete it.',
  },
  SECRET_REVOKED: {
    status: 410,
    message: 'This secret has been revoked.',
    cause:
      'Whoever provides it has revoked it: none of the versions that it had until then can be read or brought back. To POST /provider/rotate the same is answered with 409.',
    remedy: 'Have its provider issue it anew (POST /provider/issue), or delete it.',
  },
  ENROLMENT_GONE: {
    status: 410,
    message: 'This enrolment is over.',
    cause:
      'An enrolment URL serves once and for 24 hours, and a newer one takes its place. This one is spent, lapsed, replaced or never was.',
    remedy: 'Ask an owner for a new one (POST /orgs/:org_id/members/:id/enrolments).',
  },
  EMAIL_TAKEN: {
    status: 409,
    message: 'A member with that email already exists.',
    cause: 'An email stands once in an organisation, whatever its capitals.',
    remedy: 'Change the existing member with PATCH, or use another address.',
  },
  LAST_OWNER: {
    status: 409,
    message: 'This is the last owner.',
    cause: 'An organisation always has an owner: the last one can be neither removed nor given another role.',
    remedy: 'Make another member an owner first.',
  },
  LAST_PASSKEY: {
    status: 409,
    message: 'This is the last passkey of the member.',
    cause: 'Without a passkey the member could not sign in any more.',
    remedy: 'Add another passkey first, or remove the member.',
  },
  ORIGIN_NOT_ALLOWED: {
    status: 403,
    message: 'Sign-in works from the pages of this deployment alone.',
    cause: 'The Origin header is missing or is not the PUBLIC_URL of this deployment.',
    remedy: 'Open the deployment at its PUBLIC_URL. Programs use an API key, and no cookie.',
  },
  SECRET_NAME_TAKEN: {
    status: 409,
    message: 'A secret of that name already exists in that environment.',
    cause: 'Names are unique among the secrets of one environment that are not deleted.',
    remedy: 'Choose another name, change the existing secret with PATCH, or delete it first.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running.',
    cause: 'The same request was sent a moment ago and has not been answered yet.',
    remedy: 'Wait for as long as Retry-After says and send it again: it then gives the answer of the first one.',
  },
  SLUG_TAKEN: {
    status: 409,
    message: 'An environment with that slug already exists.',
    cause: 'Slugs are unique within an organisation.',
    remedy: 'Choose another slug.',
  },
  ENVIRONMENT_NOT_EMPTY: {
    status: 409,
    message: 'This environment still holds secrets.',
    cause: 'Only an environment without secrets can be deleted, so that none is lost by accident.',
    remedy: 'Delete its secrets first; GET /secrets?environment=… lists them.',
  },
  ENVIRONMENT_IS_DEFAULT: {
    status: 409,
    message: 'This is the default environment.',
    cause: 'The default environment is used by every request that names none, so it cannot be deleted.',
    remedy: 'Make another one the default with PATCH /orgs/:org_id { "default_environment": … } first.',
  },
  LIMIT_REACHED: {
    status: 409,
    message: 'The organisation has reached a limit.',
    cause:
      'An organisation holds a bounded number of secrets, sealed bytes and live credentials; the message names the one that is reached.',
    remedy: 'Delete what is no longer needed (permanently, for secrets), or spread over several organisations.',
  },
  CONFLICT: {
    status: 409,
    message: 'The request conflicts with the present state.',
    cause: 'The resource is in a state that does not allow this request.',
    remedy: 'Read the resource, and decide anew.',
  },
  VERSION_CONFLICT: {
    status: 412,
    message: 'The secret has changed: its ETag is not the one in If-Match.',
    cause: 'Someone else changed the secret after you read it. Nothing was changed by this request.',
    remedy: 'Read the secret again, and repeat the change with the new ETag if it still applies.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    message: 'The body is larger than 1 MiB.',
    cause: 'Bodies are limited to 1,048,576 bytes, counted while they are read.',
    remedy: 'Send less. A value may be up to 64 KiB.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: 'The body must be sent as application/json, without a content encoding.',
    cause: 'The Content-Type header is missing or names another type, or the body is compressed.',
    remedy: 'Send "Content-Type: application/json".',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was used for a different request.',
    cause: 'Within 24 hours a key stands for one request: method, path, query, If-Match and body alike.',
    remedy: 'Use a new key for a new request; repeat a request exactly to get its first answer again.',
  },
  RESULT_TOO_LARGE: {
    status: 422,
    message: 'The answer would hold more than 2,000 secrets or 16 MiB.',
    cause: 'Bulk answers are bounded.',
    remedy: 'Narrow it with ?prefix=, and read the parts one by one.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests in the last minute.',
    cause: 'Each credential has a budget of requests a minute, and what needs no credential is limited by address.',
    remedy: 'Wait for as long as Retry-After says. The RateLimit headers of each response show what is left.',
  },
  INTERNAL: {
    status: 500,
    message: 'Something went wrong on our side. Quote the Request-Id when you report it.',
    cause: 'An unexpected fault. A change may or may not have been made.',
    remedy: 'Read before you repeat a change, or repeat it under the same Idempotency-Key, which never does it twice.',
  },
  UNAVAILABLE: {
    status: 503,
    message: 'The service cannot do this right now.',
    cause: 'A part of the service that this request needs does not answer. Reads of what is at hand go on.',
    remedy: 'Repeat the request after Retry-After seconds; repeat a POST under the same Idempotency-Key.',
  },
  OVERLOADED: {
    status: 503,
    message: 'This organisation receives more requests than can be served at once.',
    cause: 'All requests of an organisation pass through one place, which is at its limit.',
    remedy: 'Repeat the request after Retry-After seconds, and read in bulk instead of one by one.',
  },
  MISCONFIGURED: {
    status: 503,
    message: 'This deployment is not configured.',
    cause: 'A deployment variable is missing or malformed; the message names it.',
    remedy: 'Whoever runs the deployment sets the variable as the README describes, and deploys again.',
  },
} as const satisfies Record<string, Entry>;

export type Code = keyof typeof catalogue;

export interface Detail {
  path: string;
  message: string;
}

/** Why a request was refused. `message` replaces the catalogue's where there is more to say; `retry_after` is in whole seconds. */
export interface Refusal {
  code: Code;
  /** Where it is not the code's usual one. */
  status?: number;
  message?: string;
  details?: Detail[];
  retry_after?: number;
}

export const statusOf = ({ code, status }: Refusal): number => status ?? catalogue[code].status;

/** Builds a refusal; the catalogue's words are used unless others are given. */
export const refuse = (code: Code, more: Omit<Refusal, 'code'> = {}): Refusal => ({ code, ...more });

/** A failed validation with one detail. */
export const invalid = (path: string, message: string): Refusal => refuse('VALIDATION_FAILED', { details: [{ path, message }] });

/** An integrity violation: what was found altered, and the resource that it concerns. */
export interface IntegrityViolation {
  event:
    | 'database_diverged'
    | 'versions_missing_or_altered'
    | 'value_does_not_open'
    | 'credential_altered'
    | 'credential_put_back'
    | 'org_key_missing'
    | 'gate_loaded_from_database';
  resource: string;
}

/** A refusal on its way up the stack, for places that cannot return one. */
export class ApiError extends Error {
  /** `alarm`: what the Worker found altered, for the gate to write down. */
  constructor(
    readonly refusal: Refusal,
    readonly alarm?: IntegrityViolation,
  ) {
    super(refusal.code);
  }
}

/** The body of the response to a refused request. `docs` is a page that this very deployment serves. */
export const errorBody = ({ code, message, details, retry_after }: Refusal, base: string) => ({
  error: {
    code,
    message: message ?? catalogue[code].message,
    docs: `${base}/docs/errors/${code}`,
    ...(details && { details }),
    ...(retry_after !== undefined && { retry_after }),
  },
});
