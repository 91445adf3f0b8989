// Errors and their exit codes. Exit codes are stable: scripts depend on them. Invariant: an error says what
// to do next, and never contains a value, a token or an argument's content.
import { clean } from './text.ts';

/** Exit codes and their meanings; docs/reference/cli.md is generated from this table. */
export const EXIT_CODES = {
  ok: [0, 'success'],
  failure: [1, 'any other failure'],
  usage: [
    2,
    'an invalid argument, option or configuration file; input that the vault refuses (400, 413, 415, 422)',
  ],
  signedOut: [3, 'not signed in, or the credential has expired or was revoked (401)'],
  refused: [4, 'the credential does not have permission (403)'],
  notFound: [5, 'not found, expired or revoked (404, 410)'],
  conflict: [6, 'it already exists, or was changed in the meantime (409, 412)'],
  unreachable: [
    7,
    'the vault is unreachable or overloaded, or the rate limit is exceeded (429, 5xx, no connection)',
  ],
  approval: [8, 'an approval policy holds the request until it is approved'],
  findings: [9, 'a scan found credentials, or `svc diff --exit-code` or `svc check` found a difference'],
  interrupted: [130, 'interrupted by Ctrl-C'],
  unread: [141, 'the reader of the output closed the pipe before the end'],
} as const satisfies Record<string, [number, string]>;

export type Exit = keyof typeof EXIT_CODES;

export interface Problem {
  exit: Exit;
  /** An error code of the API, or one that svc defines. */
  code?: string;
  status?: number;
  /** The next step, as a sentence or a command. */
  next?: string;
  docs?: string;
  details?: { path: string; message: string }[];
  requestId?: string;
  retryAfter?: number;
  approval?: string;
}

/** A failure with its exit code and the next step. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly problem: Problem,
  ) {
    super(message);
    this.name = 'CliError';
  }
}

export const usage = (message: string, next?: string) =>
  new CliError(message, { exit: 'usage', code: 'USAGE', next });

const BY_STATUS: Record<number, Exit> = {
  400: 'usage',
  401: 'signedOut',
  403: 'refused',
  404: 'notFound',
  405: 'usage',
  409: 'conflict',
  410: 'notFound',
  412: 'conflict',
  413: 'usage',
  415: 'usage',
  422: 'usage',
  429: 'unreachable',
};

/** The exit for the status of a failed response. */
export const exitOfStatus = (status: number): Exit =>
  BY_STATUS[status] ?? (status >= 500 ? 'unreachable' : 'failure');

/**
 * The relevant fields of client errors. The client's classes are not imported, so that simple commands start
 * without it.
 */
interface FromVault {
  name: string;
  message: string;
  status?: number;
  code?: string;
  docs?: string;
  details?: { path: string; message: string }[];
  requestId?: string;
  retryAfter?: number;
  approval?: { id?: string };
}

const NEXT: Record<string, string> = {
  UNAUTHENTICATED: 'Sign in: svc login',
  TOKEN_EXPIRED: 'Sign in again: svc login',
  TOKEN_REVOKED: 'Sign in again: svc login',
  INSUFFICIENT_SCOPE: 'Check the permissions of this credential: svc whoami',
  SECRET_ACCESS_DENIED: 'Check which secrets this credential can read: svc whoami',
  CREDENTIAL_KIND_NOT_ALLOWED: 'Check which credential is in use: svc whoami',
  REAUTHENTICATION_REQUIRED: 'This requires confirmation with a passkey: use the web console',
  NOT_FOUND: 'Check the name or id. To check the organisation and environment, run svc doctor',
  IMPORT_CONFLICT: 'Repeat with --on-conflict skip or overwrite. To see what would happen, add --dry-run',
  SECRET_NAME_TAKEN: 'To change its value: svc set NAME',
  VERSION_CONFLICT: 'Check what changed, then try again: svc history NAME',
  REVISION_CONFLICT: 'Check what changed, then repeat the command',
  RATE_LIMITED: 'Wait, then try again',
};

/** Converts anything thrown to an error with an exit code. */
export function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const known = error as FromVault;
  if (!(error instanceof Error)) return new CliError('Something unexpected went wrong.', { exit: 'failure' });
  if (typeof known.code === 'string' && typeof known.status === 'number' && known.status > 0)
    return fromVault(known);
  if (known.code === 'NO_CREDENTIAL')
    return new CliError(error.message, { exit: 'signedOut', code: known.code });
  if (known.code === 'ENVIRONMENT_NEEDED')
    return new CliError(error.message, {
      exit: 'usage',
      code: known.code,
      next: 'Set it with --env, SVC_ENVIRONMENT or svc init',
    });
  if (known.code === 'PLATFORM_UNREACHABLE')
    return new CliError(error.message, { exit: 'unreachable', code: known.code, next: 'Try again' });
  if (isUnreachable(error))
    return new CliError('The vault cannot be reached.', {
      exit: 'unreachable',
      code: 'UNREACHABLE',
      next: 'Check the address and the network: svc doctor',
    });
  return new CliError(error.message, { exit: 'failure' });
}

/**
 * An error of the vault. Its message stays one line: a hostile vault must not add lines that look like those
 * of svc.
 */
function fromVault(error: FromVault): CliError {
  const { code, status = 0, docs, details, requestId, retryAfter } = error;
  // safety: cli-vault-error-one-line
  const message = clean(error.message);
  const problem = { exit: exitOfStatus(status), code, status, docs, details, requestId, retryAfter };
  if (code === 'APPROVAL_REQUIRED' && error.approval?.id) {
    const { id } = error.approval;
    const next = `Wait for the decision with svc approval wait ${clean(id)}, then repeat the command with --approval ${clean(id)}. Or pass --wait to the command`;
    return new CliError(message, { ...problem, exit: 'approval', approval: id, next });
  }
  const wait = retryAfter === undefined ? undefined : `Try again in ${retryAfter} s`;
  return new CliError(message, { ...problem, next: wait ?? NEXT[code ?? ''] });
}

const CODES =
  /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_)|ENOTFOUND|UND_ERR|CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** Whether the vault was unreachable: no connection, no DNS result, a timeout or a 5xx response. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, status, name } = error as Error & { code?: unknown; status?: unknown };
  if (typeof status === 'number' && status > 0) return status >= 500;
  if (name === 'TimeoutError' || name === 'ConnectionError' || code === 'UNREACHABLE') return true;
  if (typeof code === 'string' && CODES.test(code)) return true;
  return error.message === 'fetch failed' || isUnreachable(error.cause);
}

/** The most details that people are shown. */
const MOST_DETAILS = 20;

/** An error as text for people. */
export function textOf(error: CliError, paint: (text: string) => string): string {
  const { code, status, details = [], next, docs, requestId } = error.problem;
  const about = code && code !== 'USAGE' ? ` (${[code, status].filter(Boolean).join(', ')})` : '';
  const lines = [`${paint('error:')} ${clean(error.message)}${clean(about)}`];
  for (const { path, message } of details.slice(0, MOST_DETAILS))
    lines.push(`  ${path ? `${clean(path)}: ` : ''}${clean(message)}`);
  if (details.length > MOST_DETAILS)
    lines.push(`  and ${details.length - MOST_DETAILS} more: --json prints all of them`);
  if (next) lines.push(`  next: ${clean(next)}`);
  if (docs) lines.push(`  docs: ${clean(docs)}`);
  if (requestId) lines.push(`  request: ${clean(requestId)}`);
  return `${lines.join('\n')}\n`;
}

/** An error as JSON for programs: `{ "error": { … } }`. */
export function jsonOf(error: CliError): object {
  const { exit, code, status, details, next, docs, requestId, retryAfter, approval } = error.problem;
  const fields = {
    code: code ?? 'FAILED',
    message: error.message,
    exit_code: EXIT_CODES[exit][0],
    status,
    details,
    next,
    docs,
  };
  return { error: { ...fields, request_id: requestId, retry_after: retryAfter, approval } };
}
