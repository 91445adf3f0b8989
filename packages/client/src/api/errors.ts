// Error classes. Invariant: an error contains the vault's description of the failure, and never a value, a
// token or a request.
import type { components } from './openapi.js';

type Refusal = components['schemas']['Error']['error'];

/** Details of a failed call. */
export interface VaultErrorInit {
  /** A stable code, such as `SECRET_EXPIRED`. */
  code: string;
  /** The HTTP status; 0 if there was no response. */
  status: number;
  /** The page that explains the cause and the fix. */
  docs?: string;
  /** Seconds after which the call may succeed. */
  retryAfter?: number;
  /** The `Request-Id` of the response, which is also in the vault's logs and audit log. */
  requestId?: string;
  /** What is wrong with each field. */
  details?: readonly { path: string; message: string }[];
  /** The underlying error, if the failure does not come from the vault. */
  cause?: unknown;
}

/**
 * A call that failed: the vault refused it or could not be reached. Each subclass covers a group of statuses;
 * `code` is the exact error.
 *
 * @example
 * try {
 *   await vault.get('DATABASE_URL');
 * } catch (error) {
 *   if (error instanceof NotFoundError) useDefault();
 *   else throw error;
 * }
 */
export class VaultError extends Error {
  override name = 'VaultError';
  /** A stable code, such as `SECRET_EXPIRED`. A deployment lists all codes at `/docs/errors`. */
  readonly code: string;
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The page of the deployment that explains the cause and the fix. */
  readonly docs: string | undefined;
  /** Seconds after which the call may succeed. */
  readonly retryAfter: number | undefined;
  /** The `Request-Id` of the response. */
  readonly requestId: string | undefined;
  /** What is wrong with each field, if the vault reports it. */
  readonly details: readonly { path: string; message: string }[];

  /** @internal */
  constructor(message: string, { cause, ...about }: VaultErrorInit) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = about.code;
    this.status = about.status;
    this.docs = about.docs;
    this.retryAfter = about.retryAfter;
    this.requestId = about.requestId;
    this.details = about.details ?? [];
  }

  /** The fields that are safe to log. */
  toJSON(): Record<string, unknown> {
    const { name, message, code, status, docs, retryAfter, requestId } = this;
    return { name, message, code, status, docs, retryAfter, requestId };
  }
}

/**
 * 400, 405, 413, 415 or 422: the request is invalid. `details` lists the fields. `ENVIRONMENT_NEEDED`: the
 * call names no environment, and the credential cannot reach the default one. `INVALID_PATH_PARAMETER`: an id
 * or a name is `.` or `..`; nothing was sent.
 *
 * @example
 * if (error instanceof InvalidRequestError) console.error(error.details);
 */
export class InvalidRequestError extends VaultError {
  override name = 'InvalidRequestError';
}

/**
 * 401: the credential is unknown, expired or revoked.
 *
 * @example
 * if (error instanceof AuthenticationError) console.error('This program needs a new credential.');
 */
export class AuthenticationError extends VaultError {
  override name = 'AuthenticationError';
}

/**
 * 403: the credential does not have permission.
 *
 * @example
 * if (error instanceof PermissionError) console.error(`${error.message} See ${error.docs}`);
 */
export class PermissionError extends VaultError {
  override name = 'PermissionError';
}

/**
 * 403 `APPROVAL_REQUIRED`: a policy holds the call until it is approved. Nothing has been done. Repeat the
 * same call with `approval` once it is approved.
 *
 * @example
 * const held = await vault.rotate('API_KEY', { value }).catch((error) => error);
 * if (held instanceof ApprovalRequiredError) console.log(`waiting for ${held.approval.id}`);
 */
export class ApprovalRequiredError extends PermissionError {
  override name = 'ApprovalRequiredError';
  /** The request for approval. */
  readonly approval: NonNullable<Refusal['approval']>;

  /** @internal */
  constructor(message: string, about: VaultErrorInit & { approval: NonNullable<Refusal['approval']> }) {
    super(message, about);
    this.approval = about.approval;
  }
}

/**
 * 404: the resource does not exist, or the credential has no access to it.
 *
 * @example
 * if (error instanceof NotFoundError) useDefault();
 */
export class NotFoundError extends VaultError {
  override name = 'NotFoundError';
}

/**
 * 409 or 412: the call conflicts with the current state, such as a name that is taken or a version that has
 * changed.
 *
 * @example
 * if (error instanceof ConflictError && error.code === 'VERSION_CONFLICT') readAgainAndRetry();
 */
export class ConflictError extends VaultError {
  override name = 'ConflictError';
}

/**
 * 410: the resource no longer exists, such as an expired or revoked secret.
 *
 * @example
 * if (error instanceof GoneError && error.code === 'SECRET_EXPIRED') askForNewValue();
 */
export class GoneError extends VaultError {
  override name = 'GoneError';
}

/**
 * 429: too many requests. `retryAfter` says how long to wait.
 *
 * @example
 * if (error instanceof RateLimitError) setTimeout(again, (error.retryAfter ?? 60) * 1000);
 */
export class RateLimitError extends VaultError {
  override name = 'RateLimitError';
}

/**
 * 5xx: the vault, or the target of the operation, failed.
 *
 * @example
 * if (error instanceof ServerError) console.error(`The vault failed: request ${error.requestId}`);
 */
export class ServerError extends VaultError {
  override name = 'ServerError';
}

/**
 * There was no complete response: the connection failed (`CONNECTION_FAILED`), or the vault took too long
 * (`TIMED_OUT`). A change may have been made.
 *
 * @example
 * if (error instanceof ConnectionError) console.error('Check the current state before you retry the change.');
 */
export class ConnectionError extends VaultError {
  override name = 'ConnectionError';
}

/**
 * The client cannot get a token: no OIDC token was found, or `load` returned no session (`NO_CREDENTIAL`); or
 * the token contains characters that no token has (`MALFORMED_CREDENTIAL`).
 *
 * @example
 * if (error instanceof CredentialError) console.error('Sign in: svc login');
 */
export class CredentialError extends VaultError {
  override name = 'CredentialError';
}

const classes: Record<number, typeof VaultError> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  412: ConflictError,
  429: RateLimitError,
};

/** The error for a response. */
export async function errorOf(response: Response): Promise<VaultError> {
  const refusal = refusalIn(await response.json().catch(() => null));
  const { status } = response;
  const about: VaultErrorInit = {
    code: refusal?.code ?? 'UNEXPECTED_RESPONSE',
    status,
    docs: refusal?.docs,
    retryAfter: secondsOf(response.headers.get('Retry-After')) ?? refusal?.retry_after,
    requestId: response.headers.get('Request-Id') ?? undefined,
    details: refusal?.details,
  };
  const message =
    refusal?.message ??
    `The response has status ${status} and is not from the vault: check the URL and any proxies.`;
  if (refusal?.approval) return new ApprovalRequiredError(message, { ...about, approval: refusal.approval });
  const Class =
    classes[status] ?? (status >= 500 ? ServerError : status >= 400 ? InvalidRequestError : VaultError);
  return new Class(message, about);
}

type Untrusted = { [Field in keyof Refusal]?: unknown };

/** The fields of a refusal that have their types: a proxy or a foreign server may answer anything. */
function refusalIn(body: unknown): (Omit<Partial<Refusal>, 'code'> & { code: string }) | null {
  const { code, message, docs, retry_after, details, approval } =
    (body as { error?: Untrusted | null } | null)?.error ?? {};
  if (typeof code !== 'string') return null;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const isDetail = (each: unknown) =>
    typeof (each as Detail)?.path === 'string' && typeof (each as Detail).message === 'string';
  const hasId = typeof (approval as { id?: unknown } | null | undefined)?.id === 'string';
  return {
    code,
    message: text(message),
    docs: text(docs),
    retry_after: typeof retry_after === 'number' && retry_after >= 0 ? retry_after : undefined,
    details: Array.isArray(details) ? details.filter(isDetail) : undefined,
    approval: hasId ? (approval as Refusal['approval']) : undefined,
  };
}

type Detail = { path: string; message: string };

/** Retry-After in seconds. The header is a number or a date. */
function secondsOf(header: string | null): number | undefined {
  if (!header) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds));
}
