// Scans in the Worker. The engine runs here; the gate gets hashes and keyed digests. Invariant: nothing of
// the text leaves this isolate except the paths that the caller sent and redacted previews.
import type { TokenKind } from '../../auth/authentication/token';
import { tuple, utf8 } from '../../crypto/bytes';
import { hmacHex } from '../../crypto/digest';
import type { Also, Context, RenderContext } from '../../http/context';
import { keysOf } from '../../http/context';
import type { OrgKeys } from '../../keys/keyring';
import { fingerprintOf } from '../secrets/encryption';
import type { Position } from './engine/lines';
import { type File, type Found, MOST_FINDINGS, type Scanned, scanFiles } from './engine/scan';
import type { FoundToken, KnownSecret, KnownToken, ScanInput, ScanPart } from './payloads';

/** A scan in progress: its findings, and the texts behind the keyed digests. */
export interface Scanning extends Scanned {
  id: string;
  /** The keyed digest that tells a finding in later scans. */
  fingerprintOf(rule: string, text: string): string;
  revoke_live: boolean;
  /** Candidates by their keyed digests. */
  candidatesBy: Map<string, string>;
  /** Tokens of this organisation by hash, in the order sent to the gate. */
  tokens: Map<string, FoundToken>;
}

export function begin(context: Context, id: string, files: readonly File[], revoke_live: boolean): Scanning {
  const keys = keysOf(context);
  const { tokenTag: tag, proof } = context.deployment;
  const scanned = scanFiles(files, { tag, proof });
  const candidatesBy = new Map(
    [...scanned.candidates.keys()].map((value) => [fingerprintOf(keys, utf8(value)), value]),
  );
  // safety: scan-tokens-of-own-org
  const own = scanned.found.flatMap(({ token }) =>
    token?.org === context.org ? [[token.hash, token] as const] : [],
  );
  // safety: scan-fingerprint-keyed
  const fingerprint = (rule: string, text: string) =>
    hmacHex(keys.digest, tuple('scan finding', rule, text)).slice(0, 32);
  return { ...scanned, id, revoke_live, candidatesBy, tokens: new Map(own), fingerprintOf: fingerprint };
}

/** The first request to the gate: may the caller scan? */
export const unscanned = (id: string, revoke_live: boolean): ScanInput => ({
  id,
  revoke_live,
  known: 0,
  tokens: [],
  fingerprints: null,
  places: null,
});

/** The second request: which tokens are live, and which digests are values? */
export function inputOf({ id, revoke_live, found, tokens, candidatesBy }: Scanning): ScanInput {
  return {
    id,
    revoke_live,
    places: null,
    known: found.filter(({ token }) => !token).length,
    tokens: [...tokens.values()],
    fingerprints: [...candidatesBy.keys()],
  };
}

/**
 * The third request, after the gate has named the digests that are values: adds keyed digests of their
 * places.
 */
export function withPlaces(keys: OrgKeys, scanning: Scanning, fingerprints: readonly string[]): ScanInput {
  const places = Object.fromEntries(
    fingerprints.map((fingerprint) => {
      const found = scanning.candidates.get(scanning.candidatesBy.get(fingerprint) ?? '') ?? [];
      return [fingerprint, [...new Set(found.map(({ file, at }) => placeOf(keys, scanning, file, at)))]];
    }),
  );
  return { ...inputOf(scanning), fingerprints: [...fingerprints], places };
}

/**
 * A place as the gate remembers it: a digest of the file's path and the line's text, so a moved line is still
 * the same place.
 */
function placeOf(keys: OrgKeys, { files }: Scanning, file: number, at: number): string {
  const { path, content } = files[file] as File;
  const end = content.indexOf('\n', at);
  const line = content.slice(content.lastIndexOf('\n', at - 1) + 1, end < 0 ? undefined : end);
  return hmacHex(keys.digest, tuple('scan place', path ?? '', line));
}

/** A finding in the response. */
export interface Shown {
  rule: string;
  path: string | null;
  line: number;
  column: number;
  preview: string;
  fingerprint: string;
  secret_id?: string;
  secret_name?: string;
  environment?: string | null;
  live?: boolean;
  credential_id?: string;
  is_caller?: boolean;
  revoked?: boolean;
}

/** A finding with the position where it ends, which only SARIF reports. */
export interface Located extends Shown {
  end: Position;
}

/** The characters of a public prefix that are shown. */
const SHOWN = 4;

// safety: scan-preview-redacted
const previewOf = ({ prefix, length }: Pick<Found, 'prefix' | 'length'>): string =>
  `${prefix.slice(0, SHOWN)}…(${length})`;

/** The most tokens that one request revokes. */
const MOST_REVOKED = 100;

const REVOKING = {
  api_key: 'api_key.revoke',
  session: 'access_token.revoke',
  agent: 'agent.revoke',
  provider: 'provider_token.revoke',
  break_glass: 'break_glass.revoke',
  scim: 'scim_token.revoke',
  // Only the member can end the session.
  refresh: 'auth.session_end',
} as const satisfies Record<TokenKind | 'refresh', Also['action']>;

/**
 * Revokes live tokens by their own operations and returns those that are revoked now. The calling credential
 * and its ancestors come last. Only the topmost of these is revoked: the others are revoked together with it.
 */
async function revoke(
  context: RenderContext,
  tokens: readonly KnownToken[],
): Promise<{ revoked: Set<string>; isCut: boolean }> {
  const live = tokens.filter(({ live, kind, id }) => live && kind !== 'enrolment' && id !== null);
  const own = live
    .filter(({ above }) => above !== null)
    .sort((a, b) => (b.above as number) - (a.above as number));
  const others = live.filter(({ above }) => above === null);
  const revoked = new Set<string>();
  const end = async ({ kind, id, secret }: KnownToken) => {
    const outcome = await context.also(
      kind === 'share'
        ? { action: 'secret.share_revoke', named: { secret, share: id as string }, input: {} }
        : { action: REVOKING[kind as keyof typeof REVOKING], named: { credential: id as string }, input: {} },
    );
    if (outcome.kind === 'ok') revoked.add(id as string);
    return outcome.kind === 'ok';
  };
  for (const token of others.slice(0, MOST_REVOKED)) await end(token);
  const [top, ...below] = own;
  if (top && (await end(top))) for (const { id } of below) revoked.add(id as string);
  return { revoked, isCut: others.length > MOST_REVOKED };
}

/** The result: the findings in file order. */
export async function resultOf(context: RenderContext, scanning: Scanning, part: ScanPart) {
  const { revoked, isCut } = scanning.revoke_live
    ? await revoke(context, part.tokens)
    : { revoked: new Set<string>(), isCut: false };
  const known = new Map([...scanning.tokens.keys()].map((hash, at) => [hash, part.tokens[at] as KnownToken]));
  const stored = storedIn(scanning, part);
  const findings = scanning.found.flatMap((found): (Located & Place)[] => {
    const token = found.token && known.get(found.token.hash);
    const shown = {
      ...shownOf(scanning, found),
      ...(token && tokenShown(token, scanning.revoke_live, revoked)),
    };
    const key = `${found.file} ${found.at} ${found.length}`;
    const secrets = stored.get(key)?.secrets ?? [];
    stored.delete(key);
    return secrets.length ? secrets.map((secret) => ({ ...shown, ...secretShown(secret) })) : [shown];
  });
  for (const { file, at, length, secrets } of stored.values()) {
    const path = (scanning.files[file] as File).path;
    const shown = shownOf(scanning, {
      rule: 'stored-secret',
      path,
      ...scanning.positionOf(file, at),
      file,
      at,
      length,
      prefix: '',
    });
    for (const secret of secrets) findings.push({ ...shown, ...secretShown(secret) });
  }
  findings.sort((a, b) => a.file - b.file || a.at - b.at);
  return {
    id: scanning.id,
    findings: findings.slice(0, MOST_FINDINGS).map(({ file: _, at: __, ...shown }): Located => shown),
    truncated: scanning.truncated || isCut || part.isCut === true || findings.length > MOST_FINDINGS,
  };
}

interface Place {
  file: number;
  at: number;
}

const shownOf = (
  scanning: Scanning,
  { rule, path, line, column, prefix, length, file, at }: Found,
): Located & Place => ({
  rule,
  path,
  line,
  column,
  preview: previewOf({ prefix, length }),
  fingerprint: scanning.fingerprintOf(rule, (scanning.files[file] as File).content.slice(at, at + length)),
  file,
  at,
  end: scanning.positionOf(file, at + length),
});

const secretShown = ({ id, name, environment }: KnownSecret): Partial<Shown> => ({
  secret_id: id,
  secret_name: name,
  environment,
});

const tokenShown = (
  { live, id, isShown, above }: KnownToken,
  revoke_live: boolean,
  revoked: Set<string>,
): Partial<Shown> => ({
  live,
  ...(isShown && id !== null && { credential_id: id }),
  ...(above !== null && { is_caller: true }),
  ...(revoke_live && live && { revoked: id !== null && revoked.has(id) }),
});

/** The places of stored values. */
function storedIn({ candidates, candidatesBy }: Scanning, { secrets }: ScanPart) {
  const stored = new Map<string, Place & { length: number; secrets: KnownSecret[] }>();
  for (const [fingerprint, all] of Object.entries(secrets)) {
    const value = candidatesBy.get(fingerprint) as string;
    for (const { file, at } of candidates.get(value) ?? [])
      stored.set(`${file} ${at} ${value.length}`, { file, at, length: value.length, secrets: all });
  }
  return stored;
}
