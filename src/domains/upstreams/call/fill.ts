// Puts secrets into a call. Pure. Invariants: `{{NAME}}` is filled once, and nothing of a caller is a
// template; what would damage an answer when masked, or could be guessed from a masked one, is not placed.
import { toBase64, utf8 } from '../../../crypto/bytes';
import type { UpstreamAuth } from '../../../db/upstreams';
import { ApiError, type Refusal, refuse } from '../../../errors';
import { placedBy, REFERENCE } from '../references';
import { queryAsSent, withoutParameters } from './path';
import { asCompared, type HeaderList } from './request-headers';
import type { PlacedValue, UsePlan } from './use-plan';

/** Shorter values cannot be masked without damage to answers. */
const LEAST_BYTES = 8;
/** A list could hold shorter ones. */
const LEAST_UNGUESSABLE = 16;
/** What servers take in one header. */
const MOST_BYTES = 16_384;

const problem = (name: string, what: string): Refusal =>
  refuse('VALUE_NOT_REPRESENTABLE', { message: `The value of ${name} ${what}` });

const BLANKS = ' \t\r\n';

/** A value as it is sent: without blanks and line breaks at its ends. A pattern takes quadratic time. */
export function trimmed(value: string): string {
  const isBlank = (at: number) => BLANKS.includes(value.charAt(at));
  let from = 0;
  let to = value.length;
  while (from < to && isBlank(from)) from++;
  while (to > from && isBlank(to - 1)) to--;
  return value.slice(from, to);
}

/** Why a value may not be placed. `inHeader`: as it is, in the text of a header. */
function valueProblem(
  name: string,
  { value, isChosen }: PlacedValue,
  { guessable = false, inHeader = false },
): Refusal | null {
  const sent = trimmed(value);
  const bytes = utf8(sent).length;
  // safety: use-short-value
  if (bytes < LEAST_BYTES)
    return problem(name, `has under ${LEAST_BYTES} bytes, so that answers cannot be masked.`);
  if (bytes > MOST_BYTES) return problem(name, `has over ${MOST_BYTES} bytes, and cannot be sent.`);
  // safety: use-guessable-value
  if (!guessable && (bytes < LEAST_UNGUESSABLE || isChosen))
    return problem(
      name,
      `may be guessed from a masked answer: it has under ${LEAST_UNGUESSABLE} bytes, or a person chose it. Set guessable in auth to place it nevertheless.`,
    );
  // safety: use-no-line-breaks
  if (inHeader && /[\r\n\0]/.test(sent)) return problem(name, 'has a line break or NUL, and cannot be sent.');
  return null;
}

/** Fills texts of one entry of `auth`, and notes what was placed. */
export interface Filler {
  fill(text: string, inHeader?: boolean): string;
  placed: Set<string>;
}

/** Throws a refusal for a value that may not be placed. */
export function filler(
  plan: Pick<UsePlan, 'values'>,
  { guessable }: Pick<UpstreamAuth, 'guessable'>,
): Filler {
  const placed = new Set<string>();
  return {
    placed,
    fill(text, inHeader = true) {
      return text.replace(REFERENCE, (_, name: string) => {
        const value = Object.hasOwn(plan.values, name) ? plan.values[name] : undefined;
        if (value === undefined) throw new ApiError(refuse('USE_NOT_ALLOWED'));
        const found = valueProblem(name, value, { guessable: guessable === true, inHeader });
        if (found) throw new ApiError(found);
        placed.add(trimmed(value.value));
        return trimmed(value.value);
      });
    },
  };
}

/** A call with its secrets, but for a signature. The platform sends the text of a header as UTF-8. */
export interface Placed {
  url: string;
  headers: [name: string, value: string][];
  /** What answers must not show: each value, and what is made of them. */
  masked: string[];
}

/** The header that an entry sets, or null. */
function headerOf(auth: UpstreamAuth, { fill }: Filler, token: string | null): [string, string] | null {
  switch (auth.type) {
    case 'header':
      return [auth.name.toLowerCase(), fill(auth.value)];
    case 'basic': {
      const username = fill(auth.username, false);
      const password = fill(auth.password, false);
      if (username.includes(':'))
        throw new ApiError(problem('the user name', 'has a colon, and cannot be sent.'));
      return ['authorization', `Basic ${toBase64(utf8(`${username}:${password}`))}`];
    }
    case 'oauth2_client_credentials':
    case 'google_service_account':
    case 'github_app':
      return token === null ? null : ['authorization', `Bearer ${token}`];
    default:
      return null;
  }
}

/** Whether an upstream's `auth` sets a header, as servers compare names. */
export function isSet(auth: readonly UpstreamAuth[]): (name: string) => boolean {
  const set = new Set(auth.flatMap(headersSet).map(asCompared));
  // safety: use-headers-of-auth-once
  return (name) => set.has(asCompared(name));
}

function headersSet(entry: UpstreamAuth): string[] {
  switch (entry.type) {
    case 'header':
      return [entry.name];
    case 'query':
      return [];
    case 'aws_sigv4':
      return ['authorization', 'x-amz-date', 'x-amz-security-token'];
    default:
      return ['authorization'];
  }
}

/** What a token was got with: an API may show the credentials of its clients. */
function gotWith(entry: UpstreamAuth, { values }: Pick<UsePlan, 'values'>): string[] {
  const given = placedBy([entry]).flatMap((name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return value ? [trimmed(value.value)] : [];
  });
  const keys = entry.type === 'google_service_account' ? given.flatMap(privateKeyIn) : [];
  return [...given, ...keys].filter((text) => utf8(text).length >= LEAST_BYTES);
}

function privateKeyIn(text: string): string[] {
  try {
    const { private_key: key } = JSON.parse(text) as { private_key?: unknown };
    return typeof key === 'string' ? [trimmed(key)] : [];
  } catch {
    return [];
  }
}

/**
 * Puts the secrets of a plan into a call; throws a refusal if one may not be placed. `tokens`: those that the
 * service got, by the entry of `auth`.
 */
export function place(
  plan: Pick<UsePlan, 'auth' | 'values' | 'upstream'>,
  call: { path: string; query: string; headers: HeaderList },
  tokens: ReadonlyMap<number, string> = new Map(),
): Placed {
  const isReplaced = isSet(plan.auth);
  const headers = call.headers
    .filter(([name]) => !isReplaced(name))
    .map(([...pair]): [string, string] => pair);
  const parameters = plan.auth.filter((entry) => entry.type === 'query');
  const removed = parameters.map(({ name }) => name);
  let query = queryAsSent(withoutParameters(call.query, removed));
  const masked = new Set<string>();
  for (const [at, entry] of plan.auth.entries()) {
    const filling = filler(plan, entry);
    const token = tokens.get(at) ?? null;
    const header = headerOf(entry, filling, token);
    if (header) headers.push(header);
    if (entry.type === 'basic' && header) masked.add(header[1].slice('Basic '.length));
    if (entry.type === 'query')
      query += `${query ? '&' : '?'}${encodeURIComponent(entry.name)}=${encodeURIComponent(filling.fill(entry.value, false))}`;
    if (token !== null) for (const text of [token, ...gotWith(entry, plan)]) masked.add(text);
    for (const value of filling.placed) masked.add(value);
  }
  return { url: `${plan.upstream.base_url}${call.path}${queryAsSent(query)}`, headers, masked: [...masked] };
}
