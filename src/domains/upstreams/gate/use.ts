// Calls of upstreams in the gate: whether one may begin, and what became of it. Invariants: nothing is sent
// that `allow`, the caller's bounds, the maker's right and the policies did not let through; the intent is
// durable before the values leave the gate, and the audit entry before the answer begins.
import { type Caller, USING } from '../../../auth/authorize';
import { matches } from '../../../auth/globs';
import type { SecretRow, UpstreamRow, VersionRow } from '../../../db/schema';
import { type Code, catalogue, type Refusal, refuse, statusOf } from '../../../errors';
import type { Draft } from '../../../gate/audit/entry';
import { reportViolation } from '../../../gate/audit/integrity';
import type { Core } from '../../../gate/core';
import { ciphertexts } from '../../../gate/journal/ciphertexts';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/request/call';
import { ok } from '../../../gate/request/outcome';
import type { Plan } from '../../../gate/request/plan';
import { namedId, slugOf } from '../../../gate/request/target';
import { lineageOf } from '../../../gate/rows/ends-with-parent';
import { quotaRootOf } from '../../../gate/rows/quota-root';
import { deliver } from '../../secrets/gate/reads';
import { keep, keyOf, versionOf } from '../../secrets/gate/versions';
import { readable, revokedVersion } from '../../secrets/rules';
import { isAllowed } from '../call/allow';
import { ROUND } from '../call/lease';
import { behindBase } from '../call/path';
import { shownCall } from '../call/shown';
import type { UseCall, UseEnd } from '../call/use-plan';
import { directionOf, isAlive, leases } from './call-leases';
import { HEARD, type Intent, intents, type Lost, MOST_CALLS } from './intents';
import { tokens } from './own-tokens';
import { makerOf, mayUse, works } from './permission';

const upstreamOf = ({ core, ask }: Call<unknown>): UpstreamRow | null =>
  core.rows.find('upstream', '', namedId(ask, 'use'));

/** Whether a caller may know of an upstream by what bounds its use. */
const isWithin = ({ permissions }: Caller, name: string): boolean =>
  permissions.some(
    ({ scopes, upstreams }) =>
      (scopes.includes('*') ||
        scopes.includes('secrets:*') ||
        USING.some((scope) => scopes.includes(scope))) &&
      (upstreams === null || upstreams.some((pattern) => matches(pattern, name))),
  );

/** 404 for an upstream outside the caller's bounds, 403 for one whose secrets it may not use. */
function mayCall(call: Call<unknown>): Refusal | null {
  const row = upstreamOf(call);
  // safety: use-of-unknown-upstream
  if (!row || !isWithin(call.caller, row.name)) return null;
  // safety: use-within-secrets
  return mayUse(call.caller, row)
    ? null
    : refuse('SECRET_ACCESS_DENIED', {
        message: 'This credential may not use each secret that this upstream places.',
      });
}

const notAllowed = (message: string) => refuse('USE_NOT_ALLOWED', { message });

/** Why a call may not begin, but for rates and policies; null if it may. */
function barred(call: Call<UseCall>, row: UpstreamRow, secrets: readonly (SecretRow | null)[], now: number) {
  const { core, input } = call;
  // safety: use-allowed
  if (!isAllowed(row.allow, input))
    return notAllowed('The upstream does not allow this method, this path or a header of this request.');
  // safety: use-while-maker-may-read
  if (!works(core, row))
    return notAllowed(
      'Whoever made this upstream has ended or may not read its secrets any more. Somebody who may has to change it.',
    );
  for (const secret of secrets) {
    if (!secret) return notAllowed('A secret that this upstream places does not exist.');
    // safety: use-of-readable-secrets
    const gone = readable(secret, now) ?? revokedVersion(secret, secret.version);
    if (gone) return gone;
  }
  return (input.bytes ?? input.whole?.body.bytes ?? 0) > row.max_request_bytes
    ? refuse('PAYLOAD_TOO_LARGE', { message: `This upstream takes ${row.max_request_bytes} bytes at most.` })
    : null;
}

const secretsOf = ({ rows }: Core, { environment_id, secrets }: UpstreamRow) =>
  secrets.map((name) => rows.find('secret', environment_id, name));

/** The current versions, by secret and number. */
async function versionsOf(call: Call<unknown>): Promise<Map<string, VersionRow>> {
  const row = upstreamOf(call);
  const found = new Map<string, VersionRow>();
  if (!row || !mayUse(call.caller, row)) return found;
  for (const secret of secretsOf(call.core, row)) {
    if (!secret || readable(secret, call.core.now()) !== null) continue;
    found.set(keyOf(secret.id, secret.version), await versionOf(call, secret.id, secret.version));
  }
  return found;
}

const notShown = refuse('LIMIT_REACHED', {
  message:
    'The address and headers of this request are too long to be shown to approvers, so it cannot be approved.',
});

/** The start of a path, for a sentence. Deciders are shown all of it beside. */
const shortened = (path: string): string => (path.length > 200 ? `${path.slice(0, 200)}…` : path);

const isWriting = (method: string) => !['GET', 'HEAD', 'OPTIONS'].includes(method);

function planOf(given: Call<UseCall>, now: number, fetched: Map<string, VersionRow>): Plan | Refusal {
  const row = upstreamOf(given);
  if (!row || !isWithin(given.caller, row.name)) return refuse('NOT_FOUND');
  const path = behindBase(row.base_url, given.input);
  // safety: use-behind-base-url
  if (path === null)
    return mayCall(given) ?? notAllowed('The URL does not begin with the base URL of the upstream.');
  const input: UseCall = { ...given.input, path };
  const call: Call<UseCall> = { ...given, input };
  const { core, ask, caller } = call;
  const secrets = secretsOf(core, row);
  const refused = mayCall(call) ?? barred(call, row, secrets, now);
  if (refused) return refused;
  const placed = secrets as SecretRow[];
  const found = placed.map(
    ({ id, version }) => ciphertexts(core).get(id, version, now) ?? fetched.get(keyOf(id, version)),
  );
  if (found.some((version) => !version)) return refuse('UNAVAILABLE', { retry_after: 1 });
  for (const version of fetched.values()) keep(core, version);
  // One request is one call, also where its first reply was lost.
  const { id } = ask.request;
  // Not the root of approvals: agents below agents have roots of their own there.
  // safety: uses-counted-for-quota-root
  const root = quotaRootOf(core, caller);
  const wait = intents(core).get(id)
    ? 0
    : intents(core).wait(now, { root, upstream: row.id, rate: row.rate_limit });
  if (wait > 0) return refuse('RATE_LIMITED', { retry_after: Math.ceil(wait / 1000) });
  const environment = slugOf(core, row.environment_id);
  const used = placed.map(({ id, name, version }) => ({ id, name, version }));
  return {
    status: 200,
    data: {
      intent: id,
      upstream: { id: row.id, name: row.name, base_url: row.base_url },
      auth: row.auth,
      values: placed.map((secret, n) =>
        deliver({}, { row: secret, version: found[n] as VersionRow }, environment, now),
      ),
      max_request_bytes: row.max_request_bytes,
      max_response_bytes: row.max_response_bytes,
      timeout_seconds: row.timeout_seconds,
      held: null,
      ends_at: endsAt(call, row),
    } satisfies Begun,
    isRead: true,
    // safety: websocket-approved-once
    uses: { upstream: row, secrets: placed, isWriting: isWriting(input.method), isOnce: input.isWebSocket },
    describes: `call ${input.method} ${shortened(input.path)} of the upstream ${row.name}`,
    shows: shownCall(input, row) ?? [],
    audit: {
      resource: row.id,
      resource_name: row.name,
      environment,
      use: {
        host: new URL(row.base_url).host,
        method: input.method,
        path: `${new URL(row.base_url).pathname.replace(/\/$/, '')}${input.path}`.slice(0, MOST_PATH),
        secrets: used,
      },
    },
    intent(core: Core, draft: Draft) {
      const { credential } = caller;
      const user = { bearer: ask.bearer, credential, root, ip: ask.request.ip, direction: directionOf(row) };
      const until = now + row.timeout_seconds * 1000 + HEARD;
      intents(core).begin({ id, upstream: row.id, user, draft, at: now, until });
      // safety: call-begins-under-lease
      leases(core).give(id);
      core.schedule.at('uses', until);
    },
  };
}
const MOST_PATH = 2000;

/** When a call ends by its time: with the caller's lineage, the JWT that a member sent, or the maker. */
function endsAt({ core, ask: { bearer }, caller }: Call<unknown>, row: UpstreamRow): number | null {
  const credential = core.rows.get('credential', caller.credential);
  const times = [
    caller.expires_at,
    ...(credential ? lineageOf(core, credential).map(({ expires_at }) => expires_at) : []),
    typeof bearer === 'object' && 'kind' in bearer ? bearer.until : null,
    makerOf(core, row)?.expires_at,
  ].filter((time) => time != null);
  return times.length ? Math.min(...times) : null;
}

/** What the Worker gets to make a call. Values are ciphertexts; `held`: only what was approved is sent. */
export interface Begun {
  intent: string;
  upstream: { id: string; name: string; base_url: string };
  auth: UpstreamRow['auth'];
  values: ReturnType<typeof deliver>[];
  max_request_bytes: number;
  max_response_bytes: number;
  timeout_seconds: number;
  held: { approval: string; isRepeatable: boolean } | null;
  ends_at: number | null;
}

const begin: Operation<UseCall> = {
  subject(call) {
    const row = upstreamOf(call);
    return row && isWithin(call.caller, row.name)
      ? { resource: row.id, resource_name: row.name, environment: slugOf(call.core, row.environment_id) }
      : { resource: null };
  },
  reach: mayCall,
  endsNothing: true,
  change: {
    before: versionsOf,
    plan(call, now, { fetched }) {
      const made = planOf(call, now, fetched as Map<string, VersionRow>);
      return call.ask.approval && !isRefusal(made) && made.shows?.length === 0 ? notShown : made;
    },
  },
};

/** The audit entry of a call, in the turn in which its answer begins, or in which it ends without one. */
function settle(
  core: Core,
  { id, draft }: Intent,
  status: number,
  fields: Partial<Draft>,
  isOver = true,
): void {
  core.storage.transactionSync(() => {
    core.auditLog.append({ ...draft, ...fields }, status, core.now());
    if (isOver) intents(core).over(id);
    else intents(core).answered(id, core.now() + HEARD);
  });
  if (isOver) leases(core).over(id);
}

interface AnsweredInput {
  intent: string;
  status: number | null;
  code: string | null;
  request_bytes: number;
}

const quiet = (data: unknown): OperationOutcome => ({ ...ok(data), audited: true });

const isCode = (code: string | null): code is Code => code !== null && Object.hasOwn(catalogue, code);

/** The answer of an upstream has begun, or there is none. It may be given only if this says so. */
const answered: Operation<AnsweredInput> = {
  read({ core, ask, input }) {
    const found = intents(core).get(input.intent);
    if (!found) return quiet({ may: false });
    // The reply may have been lost: what it said is said again.
    // safety: use-entry-once
    if (found.isAnswered) {
      const isAsSaid = ask.repeated && isOver(found) === (input.status === null);
      return quiet({ may: isAsSaid && isAlive(core, found) });
    }
    const status = input.status ?? (isCode(input.code) ? statusOf(refuse(input.code)) : 502);
    const may = isAlive(core, found);
    const use = found.draft.use && { ...found.draft.use, request_bytes: input.request_bytes };
    const isLast = input.status === null || !may;
    settle(core, found, status, { use }, isLast);
    // The token was revoked there: the next call gets another one.
    // safety: refused-token-dropped
    if (input.status === 401) tokens(core).drop(found.upstream);
    return quiet({ may });
  },
};

/**
 * Whether a call may go on. The Worker asks all the time, and the gate holds each question until the call has
 * ended, or for a round. Invariant: `may` is true only after the whole round, and with a new lease, since the
 * Worker counts its lease from the end of the round.
 */
const alive: Operation<{ intent: string; wait?: number }> = {
  async read({ core, input: { intent, wait = 0 } }) {
    const until = Date.now() + Math.min(wait, ROUND);
    for (;;) {
      const found = intents(core).get(intent);
      if (!found || isOver(found) || !isAlive(core, found)) return quiet({ may: false });
      intents(core).heard(intent, core.now() + HEARD);
      leases(core).give(intent);
      const left = until - Date.now();
      if (left <= 0) return quiet({ may: true });
      await leases(core).wait(intent, left);
    }
  },
};

/** A kept token of the upstream for a call; null if this call gets one. */
const token: Operation<{ intent: string; index: number }> = {
  async read({ core, input: { intent, index } }) {
    const found = intents(core).get(intent);
    if (!found || isOver(found) || !isAlive(core, found)) return quiet({ failed: 'TOKEN_REVOKED' });
    return quiet(await tokens(core).take(found, index, core.now()));
  },
};

/** What came of getting a token. */
const keepToken: Operation<{ intent: string; index: number; got: Parameters<Tokens['put']>[2] }> = {
  read({ core, input: { intent, index, got } }) {
    const found = intents(core).get(intent);
    if (found) tokens(core).put(found, index, got, core.now());
    return quiet({});
  },
};

type Tokens = ReturnType<typeof tokens>;

/** Whether the end of a call is recorded. */
const isOver = ({ until }: Intent): boolean => until === 0;

const ENDS: Record<UseEnd, number> = {
  complete: 200,
  caller_gone: 499,
  upstream_broke_off: 502,
  too_large: 502,
  timeout: 504,
  credential_ended: 403,
};

/** A stream of over a minute has ended, or an answer was broken off. */
const ended: Operation<{ intent: string; response_bytes: number; how: UseEnd; isNoted: boolean }> = {
  read({ core, input }) {
    const found = intents(core).get(input.intent);
    if (!found?.isAnswered || isOver(found)) return quiet({});
    const fields = { response_bytes: input.response_bytes, ended: input.how };
    if (input.isNoted) settle(core, found, ENDS[input.how] ?? 502, endOf(found, fields));
    else {
      // It ended once: a further word says nothing new.
      intents(core).over(found.id);
      leases(core).over(found.id);
    }
    return quiet({});
  },
};

/** What an entry says of the end of an answer. */
const endOf = (
  { draft: { use } }: Intent,
  fields: { ended: string; response_bytes?: number },
): Partial<Draft> => ({ action: 'secret.use_end', ...(use && { use: { ...use, ...fields } }) });

/** How many lost calls one run records; it runs again at once while there are more. */
const PER_RUN = 200;

/** Records calls, and answers, of which nothing was heard: no request leaves without a trace. */
export function recordLost(core: Core, now: number): number | null {
  const lost = intents(core).lost(now, PER_RUN);
  // safety: lost-use-recorded
  recordUnknown(core, lost);
  return lost.length === PER_RUN ? now : intents(core).sweep(now);
}

function recordUnknown(core: Core, calls: readonly Lost[]): void {
  for (const { id, upstream, intent } of calls) {
    // The entry of an answer is written: what is missing is its end.
    const end = intent?.isAnswered ? endOf(intent, { ended: 'unknown' }) : {};
    if (intent) settle(core, intent, 502, { ...end, reason: 'unknown' });
    else settleAltered(core, { id, upstream });
  }
}

/** Nobody can tell who made the call: the entry has the upstream, and the id of the request. */
function settleAltered(core: Core, { id, upstream }: Omit<Lost, 'intent'>): void {
  const violation = { event: 'upstream_call_altered', resource: upstream, status: 502 } as const;
  core.storage.transactionSync(() => {
    reportViolation(core, violation, { request_id: id, ip: '', user_agent: null });
    intents(core).over(id);
  });
  leases(core).over(id);
}

/** The gate is given up: calls under way get their entries now, and no further one begins meanwhile. */
export function recordUnderWay(core: Core, now: number): void {
  intents(core).pause(now);
  // safety: use-under-way-recorded-at-reset
  recordUnknown(core, intents(core).lost(Number.MAX_SAFE_INTEGER, MOST_CALLS.once));
}

export const useOperations = {
  'use.begin': begin,
  'use.answered': answered,
  'use.alive': alive,
  'use.ended': ended,
  'use.token': token,
  'use.keep_token': keepToken,
};
