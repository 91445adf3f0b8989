// What a vault is, in as few words as can be: a pure step from one state to the next, and what is answered.
// The real one is held against this. Times are milliseconds; a value of null is one that was generated and
// that nobody was told.

export interface Secret {
  name: string;
  version: number;
  amended: number;
  values: (string | null)[];
  /** Whether each was generated. */
  made: boolean[];
  expires: number | null;
  deleted: number | null;
}

export interface Credential {
  kind: 'api_key' | 'session';
  parent: string | null;
  expires: number | null;
  revoked: number | null;
  successor: boolean;
}

export interface State {
  secrets: Record<string, Secret>;
  credentials: Record<string, Credential>;
  /**
   * Whether the name C is refused, and whether reads and updates of B need an approval, which nobody gives.
   */
  naming: boolean;
  approval: boolean;
  /** First answers under an Idempotency-Key. */
  kept: Record<string, Answer>;
}

export interface Answer {
  status: number;
  code?: string;
  /** Other answers that are as right. */
  or?: { status: number; code: string }[];
  version?: number;
  value?: string | null;
  values?: Record<string, string | null>;
  generated?: boolean;
}

interface Conditional {
  secret: string;
  /** The ETag that the caller believes in: version and amendments. */
  tag?: [number, number];
}

export type Op =
  | { do: 'create'; id: string | null; name: string; value: string | null; made: boolean; ttl: number | null }
  | { do: 'put'; id: string | null; name: string; value: string }
  | ({ do: 'patch'; value?: string; name?: string; ttl?: number | null } & Conditional)
  | ({ do: 'rotate'; value: string | null; made: boolean } & Conditional)
  | ({ do: 'rollback'; version: number } & Conditional)
  | ({ do: 'delete'; permanent: boolean } & Conditional)
  | { do: 'restore'; secret: string }
  | { do: 'read'; secret: string; version?: number }
  | { do: 'read by name'; name: string }
  | { do: 'bulk' }
  | { do: 'policy'; which: 'naming' | 'approval'; enabled: boolean }
  | { do: 'mint'; id: string | null; ttl: number }
  | { do: 'revoke'; credential: string }
  | { do: 'rotate key'; id: string | null; credential: string; overlap: number };

/** Who asks, when, and under which Idempotency-Key. */
export interface Asked {
  op: Op;
  as: string;
  now: number;
  key: string | null;
}

const DAY = 86_400_000;
const refused = (status: number, code: string): Answer => ({ status, code });
const KEPT = new Set([200, 201, 204, 400, 404, 409, 410, 422]);
const POSTS = new Set(['create', 'rotate', 'rollback', 'restore', 'mint', 'rotate key']);

/**
 * Whether a session token ended so long ago, half a day, that it may have left the database and be unknown.
 */
const mayBeForgotten = ({ kind, expires, revoked }: Credential, now: number): boolean =>
  kind === 'session' && Math.min(expires ?? now, revoked ?? now) <= now - DAY / 2;

/** Why a credential is one no more, or null. */
export function ended(state: State, id: string, now: number): Answer | null {
  for (let at: string | null = id; at !== null; ) {
    const link: Credential | undefined = state.credentials[at];
    if (!link) return refused(401, 'TOKEN_REVOKED');
    const { expires, revoked } = link;
    // What was over by time, and has perhaps been cleared away, when it was revoked may be called either.
    const late = revoked !== null && expires !== null && expires <= revoked;
    const or = [late && 'TOKEN_EXPIRED', mayBeForgotten(link, now) && 'UNAUTHENTICATED'].flatMap((code) =>
      code ? [{ status: 401, code }] : [],
    );
    if (revoked !== null && revoked <= now) return { ...refused(401, 'TOKEN_REVOKED'), or };
    if (expires !== null && expires <= now) return { ...refused(401, 'TOKEN_EXPIRED'), or };
    at = link.parent;
  }
  return null;
}

/** What a request is answered, and the state after it. `admitted`: who asks is not judged any more. */
export function step(state: State, asked: Asked, admitted = false): [Answer, State] {
  const { op, as, now } = asked;
  const over = admitted ? null : ended(state, as, now);
  if (over) return [over, state];
  if (op.do === 'mint' && !admitted) {
    const caller = state.credentials[as] as Credential;
    if (caller.kind !== 'api_key') return [refused(403, 'CREDENTIAL_KIND_NOT_ALLOWED'), state];
    if (caller.expires !== null && caller.expires < now + op.ttl * 1000)
      return [refused(403, 'SCOPE_EXCEEDS_PARENT'), state];
  }
  const key = asked.key !== null && POSTS.has(op.do) ? asked.key : null;
  if (key !== null && state.kept[key]) return [state.kept[key], state];
  const [answer, next] = act(state, asked);
  if (key === null || !KEPT.has(answer.status)) return [answer, next];
  return [answer, { ...next, kept: { ...next.kept, [key]: answer } }];
}

function act(state: State, { op, as, now }: Asked): [Answer, State] {
  const stay = (answer: Answer): [Answer, State] => [answer, state];
  const live = (name: string) =>
    Object.values(state.secrets).find((secret) => secret.name === name && secret.deleted === null);
  const withSecret = (id: string, secret: Secret): State => ({
    ...state,
    secrets: { ...state.secrets, [id]: secret },
  });
  const expired = (secret: Secret) => secret.expires !== null && secret.expires <= now;
  const isHeld = (...names: string[]) => state.approval && names.includes('B');
  const held = refused(403, 'APPROVAL_REQUIRED');
  const violates = (name: string) => state.naming && name === 'C';
  const violated = refused(422, 'POLICY_VIOLATED');

  switch (op.do) {
    case 'create': {
      if (live(op.name)) return stay(refused(409, 'SECRET_NAME_TAKEN'));
      if (violates(op.name)) return stay(violated);
      const expires = op.ttl === null ? null : now + op.ttl * 1000;
      const made = {
        name: op.name,
        version: 1,
        amended: 0,
        values: [op.value],
        made: [op.made],
        expires,
        deleted: null,
      };
      return [
        { status: 201, version: 1, generated: op.made },
        op.id === null ? state : withSecret(op.id, made),
      ];
    }
    case 'put': {
      const there = Object.entries(state.secrets).find(
        ([, secret]) => secret.name === op.name && secret.deleted === null,
      );
      if (there)
        return act(state, { op: { do: 'patch', secret: there[0], value: op.value }, as, now, key: null });
      return act(state, { op: { ...op, do: 'create', made: false, ttl: null }, as, now, key: null });
    }
    case 'bulk': {
      const readable = Object.values(state.secrets).filter(
        (secret) => secret.deleted === null && !expired(secret) && !isHeld(secret.name),
      );
      return stay({
        status: 200,
        values: Object.fromEntries(readable.map((secret) => [secret.name, secret.values.at(-1) ?? null])),
      });
    }
    case 'read by name': {
      const secret = live(op.name);
      if (!secret) return stay(refused(404, 'NOT_FOUND'));
      if (expired(secret)) return stay(refused(410, 'SECRET_EXPIRED'));
      if (isHeld(secret.name)) return stay(held);
      return stay({ status: 200, ...shown(secret), value: secret.values.at(-1) ?? null });
    }
    case 'policy':
      // An approval policy holds its own end.
      if (op.which === 'approval' && state.approval && !op.enabled) return stay(held);
      return [{ status: 200 }, { ...state, [op.which]: op.enabled }];
    case 'mint': {
      const made: Credential = {
        kind: 'session',
        parent: as,
        expires: now + op.ttl * 1000,
        revoked: null,
        successor: false,
      };
      return [
        { status: 201 },
        op.id === null ? state : { ...state, credentials: { ...state.credentials, [op.id]: made } },
      ];
    }
    case 'revoke': {
      const row = state.credentials[op.credential];
      if (!row) return stay(refused(404, 'NOT_FOUND'));
      const answer: Answer = {
        status: 204,
        ...(mayBeForgotten(row, now) && { or: [{ status: 404, code: 'NOT_FOUND' }] }),
      };
      if (row.revoked !== null) return stay(answer);
      return [
        answer,
        { ...state, credentials: { ...state.credentials, [op.credential]: { ...row, revoked: now } } },
      ];
    }
    case 'rotate key': {
      const row = state.credentials[op.credential];
      if (!row) return stay(refused(404, 'NOT_FOUND'));
      if (ended(state, op.credential, now) || row.successor) return stay(refused(409, 'CONFLICT'));
      const end = now + op.overlap * 1000;
      const old: Credential = {
        ...row,
        successor: true,
        ...(op.overlap === 0 ? { revoked: now } : { expires: Math.min(row.expires ?? end, end) }),
      };
      const successor: Credential = { ...row, successor: false };
      const credentials = {
        ...state.credentials,
        [op.credential]: old,
        ...(op.id !== null && { [op.id]: successor }),
      };
      return [{ status: 201 }, { ...state, credentials }];
    }
  }

  const secret = state.secrets[op.secret];
  if (op.do === 'restore') {
    if (!secret || (secret.deleted !== null && secret.deleted + 7 * DAY <= now))
      return stay(refused(404, 'NOT_FOUND'));
    if (secret.deleted === null) return stay(refused(409, 'CONFLICT'));
    if (live(secret.name)) return stay(refused(409, 'SECRET_NAME_TAKEN'));
    if (violates(secret.name)) return stay(violated);
    if (isHeld(secret.name)) return stay(held);
    const back = { ...secret, deleted: null, amended: secret.amended + 1 };
    return [{ status: 200, ...shown(secret) }, withSecret(op.secret, back)];
  }
  if (op.do === 'delete') {
    const gone = !secret || (secret.deleted !== null && (!op.permanent || secret.deleted + 7 * DAY <= now));
    if (gone) return stay(refused(404, 'NOT_FOUND'));
    if (stale(secret, op.tag)) return stay(refused(412, 'VERSION_CONFLICT'));
    if (!op.permanent)
      return [
        { status: 204 },
        withSecret(op.secret, { ...secret, deleted: now, amended: secret.amended + 1 }),
      ];
    const { [op.secret]: _, ...rest } = state.secrets;
    return [{ status: 204 }, { ...state, secrets: rest }];
  }
  if (!secret || secret.deleted !== null) return stay(refused(404, 'NOT_FOUND'));
  if (expired(secret) && !(op.do === 'patch' && op.ttl !== undefined))
    return stay(refused(410, 'SECRET_EXPIRED'));
  if (op.do === 'read') {
    const version = op.version ?? secret.version;
    if (version > secret.version || version < 1) return stay(refused(404, 'NOT_FOUND'));
    if (isHeld(secret.name)) return stay(held);
    return stay({ status: 200, ...shown(secret), version, value: secret.values[version - 1] ?? null });
  }
  if (op.do === 'rollback' && (op.version > secret.version || op.version < 1))
    return stay(refused(404, 'NOT_FOUND'));
  if (stale(secret, op.tag)) return stay(refused(412, 'VERSION_CONFLICT'));

  const advance = (value: string | null, made: boolean, rest: Partial<Secret> = {}): [Answer, State] => {
    const values = [...secret.values, value];
    const all = [...secret.made, made];
    const next = { ...secret, ...rest, version: secret.version + 1, amended: 0, values, made: all };
    return [{ status: 200, ...shown(next) }, withSecret(op.secret, next)];
  };
  if (op.do !== 'patch' && isHeld(secret.name)) return stay(held);
  if (op.do === 'rotate') return advance(op.value, op.made);
  if (op.do === 'rollback')
    return advance(secret.values[op.version - 1] ?? null, secret.made[op.version - 1] ?? false);

  if (op.name !== undefined && op.name !== secret.name && live(op.name))
    return stay(refused(409, 'SECRET_NAME_TAKEN'));
  const rest: Partial<Secret> = {
    ...(op.name !== undefined && { name: op.name }),
    ...(op.ttl !== undefined && { expires: op.ttl === null ? null : now + op.ttl * 1000 }),
  };
  const differs = Object.entries(rest).some(([field, value]) => value !== secret[field as keyof Secret]);
  // Who may not read the value is not told that it equals theirs.
  const isNew = op.value !== undefined && (op.value !== secret.values.at(-1) || isHeld(secret.name));
  if (isNew || differs) {
    if (op.name !== undefined && op.name !== secret.name && violates(op.name)) return stay(violated);
    if (isHeld(secret.name, op.name ?? secret.name)) return stay(held);
  }
  if (isNew) return advance(op.value as string, false, rest);
  const next = { ...secret, ...rest, amended: secret.amended + (differs ? 1 : 0) };
  return [{ status: 200, ...shown(secret) }, withSecret(op.secret, next)];
}

const shown = ({ version, made }: Secret) => ({ version, generated: made.at(-1) ?? false });
const stale = (secret: Secret, tag: [number, number] | undefined) =>
  tag !== undefined && (tag[0] !== secret.version || tag[1] !== secret.amended);
