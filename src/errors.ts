// The catalogue of errors: every code that the service returns, with its status, message, cause and remedy.
// Invariant: no other error format exists. A refusal is plain data, so that it passes the gate's RPC
// unchanged; messages are written here or by the domain that refuses, and never contain a value, a token or a
// key.
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
    cause: 'The body cannot be decoded as UTF-8, or it is not a single JSON value.',
    remedy:
      'Send one JSON object, encoded as UTF-8 without a byte order mark. Most HTTP clients do this when you pass them an object.',
  },
  VALIDATION_FAILED: {
    status: 400,
    message: 'Some fields of the request are missing, unknown or not valid. See details.',
    cause:
      'A field of the body, a query parameter or a header is missing, unknown, of the wrong type or out of bounds. Nothing was changed.',
    remedy:
      'Each item of error.details names a field by its path and says what is expected there. Correct them and send the request again.',
  },
  INVALID_CURSOR: {
    status: 400,
    message: 'The cursor is not valid for this list.',
    cause:
      'A cursor works for one list of one organisation. This one was changed, cut short, or comes from another list.',
    remedy:
      'Pass next_cursor of the previous page unchanged to the same list, or start again without a cursor.',
  },
  AUTHORIZATION_PENDING: {
    status: 400,
    message: 'This login is not confirmed yet.',
    cause: 'The terminal login waits for a member to confirm its code on the page /device.',
    remedy: 'Poll again after the interval that POST /api/v1/auth/device returned.',
  },
  SLOW_DOWN: {
    status: 400,
    message: 'The terminal polls too often.',
    cause: 'The terminal polled again before the interval was over.',
    remedy: 'Add five seconds to the interval, and use it for all further polls of this login (RFC 8628).',
  },
  ACCESS_DENIED: {
    status: 400,
    message: 'This login was denied.',
    cause:
      'A member denied the terminal login on the page /device, or the member, passkey or session that confirmed it ended before the terminal received its tokens.',
    remedy: 'Stop polling. Start a new login if the person wants one.',
  },
  CODE_EXPIRED: {
    status: 400,
    message: 'This code is unknown, was already used, or has expired.',
    cause:
      'The code of a terminal login is valid for ten minutes and for one session. A mistyped code gets the same response, so that nobody learns which codes exist.',
    remedy: 'Check the code. If it is right, start a new login with POST /api/v1/auth/device.',
  },
  UNAUTHENTICATED: {
    status: 401,
    message: 'Authentication failed: no valid credential was sent.',
    cause:
      'The Authorization header is missing, does not contain a bearer token, or contains a token that this deployment did not issue: mistyped, truncated, or from another deployment. It can also be the bootstrap token in a request that does not accept it. At sign-in, the passkey was not accepted. At an exchange, no trust with that id accepts the token: the audit log of the organisation has the reason.',
    remedy:
      'Send "Authorization: Bearer TOKEN" with the whole token, without quotes or line breaks, to the deployment that issued it. Create an API key with POST /api/v1/orgs/:org_id/api-keys. The bootstrap token works only for the requests that the API reference lists for it, such as POST /api/v1/orgs.',
  },
  TOKEN_EXPIRED: {
    status: 401,
    message: 'This credential has expired.',
    cause: 'The lifetime of the credential is over. For session tokens this is normal.',
    remedy:
      'Create a new session token with POST /api/v1/orgs/:org_id/access-tokens and its API key, refresh the browser session, or create a new credential.',
  },
  DEVICE_PROOF_REQUIRED: {
    status: 401,
    message: 'This credential is bound to a device. Send a DPoP proof with each request.',
    cause: 'The credential was created with device_id, and the request has no DPoP header.',
    remedy:
      'Sign a DPoP proof (RFC 9449) with the key of the device for this method and URL, with ath, and send it in the header DPoP. The guide on devices shows how.',
  },
  DEVICE_PROOF_INVALID: {
    status: 401,
    message: 'The DPoP proof is not valid for this request.',
    cause:
      'The proof is malformed, too old, used before, signed by another key or algorithm, or made for another method, URL or token. The message says which.',
    remedy:
      'Make a new proof for each request: method, URL without query, current time in iat, a new jti, and ath of the token.',
  },
  TOKEN_REVOKED: {
    status: 401,
    message: 'This credential has been revoked.',
    cause: 'The credential or one of its parents was revoked, or its organisation was deleted.',
    remedy:
      'Use another credential, or ask an administrator of the organisation for a new one. A revoked credential cannot be restored.',
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    message: 'This credential does not hold the scope that this request needs.',
    cause:
      'The credential does not hold the scope that the message names, or it is limited to other environments or names.',
    remedy:
      'Use a credential that holds the scope for this environment and name. GET /api/v1/whoami shows what a credential holds. POST /api/v1/orgs/:org_id/api-keys creates one that holds more.',
  },
  SECRET_ACCESS_DENIED: {
    status: 403,
    message: 'This agent may not read this secret.',
    cause:
      'The agent credential does not hold the scope secrets:read, or the secret is outside its environments or names.',
    remedy:
      'Extend scopes, environments or secrets of the agent with PATCH /api/v1/orgs/:org_id/agent-credentials/:id, which needs tokens:write, or use another credential. GET /api/v1/whoami shows what the agent holds.',
  },
  SCOPE_EXCEEDS_PARENT: {
    status: 403,
    message: 'A credential cannot grant more than it holds itself.',
    cause:
      'The scopes, environments, names, addresses or lifetime in the request exceed those of the calling credential, or the request raises a rate limit that applies to the caller.',
    remedy:
      'Request a subset of what the calling credential holds, or make the request with a credential that holds more. GET /api/v1/whoami shows what a credential holds.',
  },
  CREDENTIAL_KIND_NOT_ALLOWED: {
    status: 403,
    message: 'This kind of credential cannot make this request.',
    cause:
      'Some requests accept only certain kinds of credential. For example, a session token cannot create a session token or rotate an API key.',
    remedy:
      'Use the kind of credential that the message or the API reference names. For most requests that is an API key.',
  },
  APPROVAL_REQUIRED: {
    status: 403,
    message: 'A policy requires approval for this request. Nothing was done.',
    cause:
      'An approval policy of the organisation covers the effect of this request. error.approval shows the pending approval.',
    remedy:
      'Wait for the approval, with GET /api/v1/orgs/:org_id/approvals/:id?wait=25 or at /console/approvals/:id in a browser. Then repeat the request unchanged with the header "Approval-Id: apr_…" within 24 hours.',
  },
  PASSPHRASE_WRONG: {
    status: 403,
    message: 'The passphrase is wrong.',
    cause:
      'The link is protected by a passphrase, and another one was sent. After ten wrong passphrases the link no longer works.',
    remedy: 'Ask the person who sent the link for the passphrase.',
  },
  USE_NOT_ALLOWED: {
    status: 403,
    message: 'This call of the upstream is not allowed.',
    cause:
      'The upstream allows no such method, path or header, or whoever made it may not read its secrets any more.',
    remedy: 'Call what the upstream allows, or have somebody who may read its secrets change it.',
  },
  ADDRESS_NOT_ALLOWED: {
    status: 403,
    message: 'This credential may not be used from this IP address.',
    cause:
      'The allowed_addresses of the credential, of one of its parents or, for members, of the organisation do not include the IP address of the request.',
    remedy:
      'Send the request from an allowed network, or extend allowed_addresses with PATCH on the credential or on the organisation.',
  },
  REAUTHENTICATION_REQUIRED: {
    status: 403,
    message:
      'This request needs a recent confirmation with a passkey. Call POST /api/v1/auth/confirm, then repeat the request with the new token.',
    cause:
      'In a browser session, sensitive requests need a sign-in or a confirmation with a passkey in the last five minutes, and a token that was issued since then. These requests change passkeys, owners, enrolments or allowed_addresses, create or rotate an API key that acts as an owner, delete the organisation, or call panic.',
    remedy:
      'Get options from POST /api/v1/auth/confirm/options, pass them to navigator.credentials.get(), send the response to POST /api/v1/auth/confirm, and repeat the request with the token from its response. API keys need no confirmation.',
  },
  SSO_REQUIRED: {
    status: 403,
    message: 'Your organisation requires single sign-on. Sign in with your work e-mail address instead.',
    cause:
      'A connection of the organisation enforces single sign-on for the domain of the member. Passkeys sign in owners alone.',
    remedy:
      'Open /sign-in and enter your e-mail address, or call POST /api/v1/auth/sso/start. An owner can switch "enforce" off.',
  },
  SSO_NOT_FOUND: {
    status: 404,
    message: 'No single sign-on is set up for this address.',
    cause:
      'The domain of the address is not verified for an organisation, no connection signs in its members, or the connection does not exist. The response is the same for each.',
    remedy: 'Check the address, or sign in with a passkey. Ask an owner whether single sign-on is set up.',
  },
  NOT_FOUND: {
    status: 404,
    message: 'The resource does not exist.',
    cause:
      'The path is not part of this API, or the resource does not exist, was deleted, or belongs to another organisation.',
    remedy:
      'Check the path, the id and the environment. GET /api/v1/orgs/:org_id/secrets?status=deleted lists deleted secrets; POST …/secrets/:id/restore restores one for seven days.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'This path does not support this method. The Allow header lists the methods that it supports.',
    cause: 'The path exists, but not with this HTTP method.',
    remedy: 'Use one of the methods in the Allow header. The API reference at /docs describes each of them.',
  },
  SECRET_EXPIRED: {
    status: 410,
    message: 'This secret has expired.',
    cause: 'The lifetime of the secret (ttlSeconds) is over, so its value can no longer be read.',
    remedy:
      'Set a new lifetime with PATCH /api/v1/orgs/:org_id/secrets/:id and { "ttlSeconds": … }, with a new value if the old one no longer works, or delete the secret.',
  },
  SECRET_REVOKED: {
    status: 410,
    message: 'This secret has been revoked.',
    cause:
      'Its provider revoked it with POST /provider/revoke. The versions up to then can never be read again. POST /provider/rotate returns this code with status 409.',
    remedy: 'Have the provider issue it again with POST /api/v1/provider/issue, or delete the secret.',
  },
  ENROLMENT_GONE: {
    status: 410,
    message: 'This enrolment link is no longer valid.',
    cause:
      'An enrolment link works once, within 24 hours, and a newer link replaces it. This one was used, expired, replaced or never issued.',
    remedy:
      'Ask an owner for a new link. An owner creates it with POST /api/v1/orgs/:org_id/members/:id/enrolments.',
  },
  SHARE_GONE: {
    status: 410,
    message: 'This link is no longer valid.',
    cause:
      'The link has no views left, has expired, was revoked or never existed, or its secret or creator no longer exists.',
    remedy: 'Ask the person who sent the link for a new one.',
  },
  EVENTS_GONE: {
    status: 410,
    message: 'The events after this sequence are no longer kept.',
    cause:
      'Events are kept for 30 days. The sequence in after is older than the oldest stored event, which the message names.',
    remedy:
      'Continue from the sequence in the message, and read what you missed from the resources themselves.',
  },
  EMAIL_TAKEN: {
    status: 409,
    message: 'A member with this email address already exists.',
    cause: 'Email addresses are unique within an organisation. Upper and lower case count as equal.',
    remedy:
      'Change the existing member with PATCH /api/v1/orgs/:org_id/members/:id, or use another email address.',
  },
  SYNC_ENDED: {
    status: 409,
    message: 'This sync has ended.',
    cause: 'A sync that is completed, partial or failed has nothing left to cancel.',
    remedy: 'Read its result with GET /api/v1/orgs/:org_id/integrations/syncs/:id.',
  },
  IMPORT_CONFLICT: {
    status: 409,
    message: 'Some of these secrets exist already. Nothing was imported. See details.',
    cause:
      'The import was made with onConflict fail, and secrets of these names exist in the environment. error.details names each of them.',
    remedy:
      'Import with onConflict skip to leave existing secrets as they are, with overwrite to give them new versions, or with a prefix. With dryRun the response shows what would happen.',
  },
  LAST_OWNER: {
    status: 409,
    message: 'This member is the last owner.',
    cause:
      'An organisation must have at least one owner, so the last one cannot be removed or given another role.',
    remedy:
      'Make another member an owner first, with PATCH /api/v1/orgs/:org_id/members/:id and { "role": "owner" }.',
  },
  LAST_PASSKEY: {
    status: 409,
    message: 'This is the last passkey of the member.',
    cause: 'A member without a passkey could not sign in.',
    remedy: 'Add another passkey first, or remove the member.',
  },
  ORIGIN_NOT_ALLOWED: {
    status: 403,
    message: 'This request is accepted only from the pages of this deployment.',
    cause: 'The Origin header is missing, or it is not the PUBLIC_URL of this deployment.',
    remedy:
      'Open the deployment at its PUBLIC_URL. If that is the wrong address, correct the variable PUBLIC_URL and deploy again. Programs use an API key instead of a browser session.',
  },
  SECRET_NAME_TAKEN: {
    status: 409,
    message: 'A secret with this name already exists in this environment.',
    cause: 'Secret names are unique within an environment. Deleted secrets do not count.',
    remedy:
      'Choose another name, change the existing secret with PATCH /api/v1/orgs/:org_id/secrets/:id, or delete it first.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    message: 'A request with this Idempotency-Key is still in progress.',
    cause: 'The same request was sent a moment ago and has no response yet.',
    remedy:
      'Wait for the number of seconds in Retry-After and send the request again. It then returns the response of the first one.',
  },
  SLUG_TAKEN: {
    status: 409,
    message: 'An environment with this slug already exists.',
    cause: 'Slugs are unique within an organisation.',
    remedy: 'Choose another slug.',
  },
  ENVIRONMENT_NOT_EMPTY: {
    status: 409,
    message: 'This environment still contains secrets.',
    cause: 'Only an empty environment can be deleted, so that no secret is lost by accident.',
    remedy: 'Delete its secrets first. GET /api/v1/orgs/:org_id/secrets?environment=… lists them.',
  },
  ENVIRONMENT_IS_DEFAULT: {
    status: 409,
    message: 'This is the default environment.',
    cause: 'Requests that name no environment use the default environment, so it cannot be deleted.',
    remedy:
      'Choose another default environment first, with PATCH /api/v1/orgs/:org_id and { "default_environment": … }.',
  },
  LIMIT_REACHED: {
    status: 409,
    message: 'The organisation has reached a limit.',
    cause:
      'The number of secrets, encrypted bytes, credentials, members and other resources of an organisation is limited. The message names the limit.',
    remedy:
      'Delete or revoke what you no longer need (secrets with ?permanent=true), or use several organisations. GET /api/v1/orgs/:org_id shows the usage.',
  },
  DOMAIN_NOT_VERIFIED: {
    status: 409,
    message: 'The DNS record that proves this domain was not found.',
    cause:
      'The resolver did not return a TXT record with this name and value, or did not respond within 10 seconds. New records can take some minutes, and longer if the name was looked up before.',
    remedy:
      'Compare name and value with record in the response that shows the domain. An alias (CNAME) at this name does not count. Then repeat the request.',
  },
  CONFLICT: {
    status: 409,
    message: 'The request conflicts with the current state of the resource.',
    cause: 'The resource is in a state that does not allow this request.',
    remedy: 'Read the resource again and decide whether the request still applies.',
  },
  APPROVAL_MISMATCH: {
    status: 409,
    message: 'The approval in Approval-Id does not allow this request.',
    cause:
      'The approval is unknown, not approved, already used, ended, or no longer valid because its target, its policy or its approvers changed; or it belongs to another request: method, path, query, body, X-Access-Call and credential must be the same.',
    remedy: 'Repeat the request without Approval-Id. The response names the approval that it needs.',
  },
  VERSION_CONFLICT: {
    status: 412,
    message: 'The secret has changed: its ETag does not match If-Match.',
    cause: 'Someone changed the secret after you read it. This request changed nothing.',
    remedy: 'Read the secret again, and repeat the change with the new ETag if it still applies.',
  },
  REVISION_CONFLICT: {
    status: 412,
    message: 'The resource has changed: its ETag does not match If-Match.',
    cause: 'Someone changed the resource after you read it. This request changed nothing.',
    remedy: 'Read the resource again, and repeat the change with the new ETag if it still applies.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    message: 'The body is larger than 1 MiB.',
    cause: 'A body can have at most 1,048,576 bytes.',
    remedy: 'Send a smaller body. The value of a secret can have up to 64 KiB.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: 'The body must be sent as application/json, without a content encoding.',
    cause: 'The Content-Type header is missing or names another type, or the body is compressed.',
    remedy: 'Send "Content-Type: application/json" and an uncompressed body.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was used for a different request.',
    cause:
      'For 24 hours, an Idempotency-Key stands for one request with the same method, path, query, If-Match header and body.',
    remedy:
      'Use a new key for a new request. To get the stored response again, repeat the request unchanged.',
  },
  POLICY_VIOLATED: {
    status: 422,
    message: 'A naming policy does not allow this name.',
    cause:
      'The name does not match the pattern of a naming policy that applies to it. The message names the policy and the pattern.',
    remedy:
      'Choose a name that matches the pattern, or ask someone who holds policies:write to change the policy. GET /api/v1/orgs/:org_id/policies lists the policies.',
  },
  APPROVAL_IMPOSSIBLE: {
    status: 422,
    message: 'This policy could never be satisfied: there are not enough approvers.',
    cause:
      'Fewer members than the policy requires can approve in each environment that it applies to. The message says how many can.',
    remedy:
      'Invite more members with a role that holds approvals:decide, add them to the approving team, or require fewer approvals.',
  },
  VALUE_NOT_REPRESENTABLE: {
    status: 422,
    message:
      'The format cannot hold some values exactly as they are stored. See details. Nothing was generated.',
    cause:
      'The program that reads the format would not return the stored value unchanged: for example a line feed in a file for docker run --env-file.',
    remedy:
      'Each item of error.details names a secret and says why. Choose another format or dialect, or leave these secrets out with names.',
  },
  NAME_NOT_REPRESENTABLE: {
    status: 422,
    message: 'The format cannot hold some names. See details. Nothing was generated.',
    cause:
      'A name begins with a digit, is too long or is reserved by the program that reads the format, even after its mapping.',
    remedy:
      'Each item of error.details names a secret and says why. Rename it, choose another format, or leave it out with names.',
  },
  NAME_COLLISION: {
    status: 422,
    message: 'Some names become identical in this format. See details. Nothing was generated.',
    cause:
      'Characters that the format does not allow in names are replaced. After that, two or more of the names are identical.',
    remedy:
      'Each item of error.details names a secret. Rename all but one of them, choose another format, or leave them out with names.',
  },
  IMPORT_UNREADABLE: {
    status: 422,
    message: 'The data is not a readable export of this source. Nothing was imported.',
    cause:
      'The data is not JSON, does not have the structure of exports of the source, is encrypted, is not in UTF-8, or is nested too deeply. The message names the place, and never quotes the data.',
    remedy:
      'Export again as the page of the source under docs/import shows, pass the file unchanged, and check that source names the tool that created it.',
  },
  RESULT_TOO_LARGE: {
    status: 422,
    message: 'The response would hold more than 2,000 secrets or 16 MiB.',
    cause: 'The size of a bulk read and of a generated file is limited.',
    remedy:
      'Narrow the request with ?prefix= and read one part after the other; for a generated file, select secrets with names.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests in the last minute.',
    cause:
      'Each credential has a rate limit per minute. Failed attempts without a credential are limited by IP address.',
    remedy:
      'Wait for the number of seconds in Retry-After. The RateLimit headers of each response show what is left.',
  },
  INTERNAL: {
    status: 500,
    message: 'An unexpected error occurred. Include the Request-Id when you report it.',
    cause: 'This is an error in the service. A change may or may not have been made.',
    remedy:
      'Check the state before you repeat a change, or repeat it with the same Idempotency-Key, so that it is made only once.',
  },
  TARGET_REJECTED: {
    status: 502,
    message: 'The target refused the request.',
    cause: 'The other platform responded with an error status. The message names it.',
    remedy:
      'Check the credentials and settings of the connection. If retry_after is present, repeat the request after that many seconds.',
  },
  TARGET_UNREACHABLE: {
    status: 502,
    message: 'The target did not answer.',
    cause: 'The other platform could not be reached, or did not respond within 10 seconds.',
    remedy: 'Check the address, and repeat the request later.',
  },
  TARGET_TIMEOUT: {
    status: 504,
    message: 'The target did not answer in time.',
    cause: 'The other service did not respond within 10 seconds.',
    remedy: 'Check the address, and repeat the request later.',
  },
  LOOP_DETECTED: {
    status: 508,
    message: 'This call came through an upstream of this service already.',
    cause: 'The base URL of an upstream leads back to this service.',
    remedy: 'Change the base URL of the upstream to the API itself.',
  },
  UNAVAILABLE: {
    status: 503,
    message: 'The service cannot process this request right now.',
    cause:
      'A part of the service that this request needs, such as the database, does not respond. A change may have taken effect all the same: the message says if that is not known.',
    remedy:
      'Repeat the request after the number of seconds in Retry-After. Repeat a POST with the same Idempotency-Key.',
  },
  OVERLOADED: {
    status: 503,
    message: 'This organisation receives more requests than can be processed at once.',
    cause: 'All requests of an organisation pass through one Durable Object, which has reached its capacity.',
    remedy:
      'Repeat the request after the number of seconds in Retry-After. Read all values of an environment in one request instead of one by one.',
  },
  MISCONFIGURED: {
    status: 503,
    message: 'This deployment is not configured correctly.',
    cause:
      'A variable of the deployment is missing or not valid, or does not contain the keys that encrypt the database; or the deployment key, or that of the organisation, is missing from the database. The message says which.',
    remedy:
      'The operator of the deployment runs `npm run doctor`, which checks all variables and keys and says what to do for each.',
  },
} as const satisfies Record<string, Entry>;

export type Code = keyof typeof catalogue;

export interface Detail {
  path: string;
  message: string;
}

/**
 * Why a request was refused. `message` replaces the catalogue's message with a more specific one;
 * `retry_after` is in whole seconds.
 */
export interface Refusal {
  code: Code;
  /** The status, if it differs from the code's usual one. */
  status?: number;
  message?: string;
  details?: Detail[];
  retry_after?: number;
  /** The approval that a held request waits for. */
  approval?: object;
}

export const statusOf = ({ code, status }: Refusal): number => status ?? catalogue[code].status;

/** Creates a refusal, with the catalogue's message unless another one is given. */
export const refuse = (code: Code, more: Omit<Refusal, 'code'> = {}): Refusal => ({ code, ...more });

/** 503 for a change of which the outcome is not known: a repeat under its key finds out. */
export const changeInDoubt = (retry_after: number): Refusal =>
  refuse('UNAVAILABLE', {
    message:
      'It is not known whether this request took effect. Repeat it with the same Idempotency-Key, or check the state before you repeat it.',
    retry_after,
  });

/**
 * 401 for every token that this deployment does not accept, whether it is malformed, mistyped or no longer
 * known, so that an attacker learns nothing more.
 */
export const UNKNOWN_TOKEN =
  'The token is not a valid token of this deployment. Check that it is complete, without typing errors, and was issued by this deployment.';

/** A failed validation with one detail. */
export const invalid = (path: string, message: string): Refusal =>
  refuse('VALIDATION_FAILED', { details: [{ path, message }] });

/** An integrity violation: what was altered, and the affected resource. */
export interface IntegrityViolation {
  event:
    | 'database_diverged'
    | 'versions_missing_or_altered'
    | 'value_does_not_open'
    | 'credential_altered'
    | 'credential_put_back'
    | 'upstream_call_altered'
    | 'events_altered'
    | 'org_key_missing'
    | 'gate_loaded_from_database';
  resource: string;
  /**
   * What the request that detected it was answered; absent for 500, or if it was answered without what is
   * altered.
   */
  status?: number;
}

/** A refusal as an exception, for code that cannot return one. */
export class ApiError extends Error {
  /** `violation`: what the Worker found altered, for the gate to record. */
  constructor(
    readonly refusal: Refusal,
    readonly violation?: IntegrityViolation,
  ) {
    super(refusal.code);
  }
}

/** The body of the response to a refused request. `docs` is a page of this deployment. */
export const errorBody = ({ code, message, details, retry_after, approval }: Refusal, base: string) => ({
  error: {
    code,
    message: message ?? catalogue[code].message,
    docs: `${base}/docs/errors/${code}`,
    ...(details && { details }),
    ...(retry_after !== undefined && { retry_after }),
    ...(approval && { approval }),
  },
});
