// Scans the files of one request. Invariants: a finding contains the position of a credential and never the
// credential itself; the work is bounded for any input.
import { readDeviceCode, readRefreshToken } from '../../../auth/authentication/proofs';
import { ANY_TOKEN, readAnyToken } from '../../../auth/authentication/token';
import { sha256 } from '../../../crypto/digest';
import type { FoundToken } from '../payloads';
import { type Candidate, candidatesOf } from './candidates';
import { find, type Hit } from './find';
import { allowedLines, type Position, positions } from './lines';

export interface File {
  path: string | null;
  content: string;
}

/** A finding, by its place in one of the files. */
export interface Found extends Position {
  rule: string;
  path: string | null;
  file: number;
  at: number;
  length: number;
  prefix: string;
  /** For a token of this service that belongs to an organisation: its organisation and hash. */
  token?: FoundToken & { org: string };
}

/** The keys that genuine tokens of this deployment are signed with. */
export interface TokenKeys {
  tag: Uint8Array;
  proof: Uint8Array;
}

/** Possible values of secrets, with the places where each occurs first. */
export type Places = Map<string, { file: number; at: number }[]>;

export interface Scanned {
  files: readonly File[];
  found: Found[];
  candidates: Places;
  /** Line and column of a place. */
  positionOf(file: number, at: number): Position;
  truncated: boolean;
}

/** Limits of one scan. */
export const MOST_FINDINGS = 1000;
export const MOST_CANDIDATES = 20_000;
/** Places of one value that are reported. */
const MOST_PLACES = 50;

const REFRESH_TOKEN = /svcref_org_\w{22}\.ses_\w{22}\.[1-9]\d{0,8}\.[\w-]{43}/g;
const DEVICE_CODE = /svcdc_[A-Z]{8}\.[\w-]{43}\.[\w-]{43}/g;

const prefixOf = (spelled: string) => /^svc(?:_live|_agent|[a-z]+)_/.exec(spelled)?.[0] ?? '';

type OwnHit = Hit & { token?: Found['token'] };

/** Tokens of this deployment, recognised by their tag regardless of the surrounding text. */
function ownTokens(text: string, { tag, proof }: TokenKeys): OwnHit[] {
  const all = (form: RegExp, read: (spelled: string) => { token?: Found['token'] } | null): OwnHit[] =>
    [...text.matchAll(form)].flatMap(({ 0: spelled, index: at }) => {
      const found = read(spelled);
      return found
        ? [{ rule: 'svc-token', at, length: spelled.length, prefix: prefixOf(spelled), ...found }]
        : [];
    });
  return [
    ...all(ANY_TOKEN, (spelled) => {
      const read = readAnyToken(spelled);
      // safety: scan-only-genuine-tokens
      if (!read?.isGenuine(tag)) return null;
      const { kind, org, hash } = read;
      return { token: { kind, org, hash } };
    }),
    ...all(REFRESH_TOKEN, (spelled) => {
      const read = readRefreshToken(proof, spelled);
      return read && { token: { kind: 'refresh', hash: sha256(spelled), ...read } };
    }),
    // A device code belongs to no organisation, and expires within minutes.
    ...all(DEVICE_CODE, (spelled) => (readDeviceCode(proof, spelled) === null ? null : {})),
  ];
}

/** Findings by format that do not overlap with tokens of this service. */
const apart = (hits: readonly Hit[], tokens: readonly Hit[]): Hit[] =>
  tokens.length === 0
    ? [...hits]
    : hits.filter(
        (hit) => !tokens.some(({ at, length }) => hit.at < at + length && at < hit.at + hit.length),
      );

export function scanFiles(files: readonly File[], keys: TokenKeys): Scanned {
  const tellers: ((at: number) => Position)[] = [];
  const positionOf = (file: number, at: number): Position => {
    tellers[file] ??= positions((files[file] as File).content);
    return (tellers[file] as (at: number) => Position)(at);
  };
  const found: Found[] = [];
  const allowed = files.map(({ content }) => allowedLines(content));
  let truncated = false;
  for (const [file, { path, content }] of files.entries()) {
    const isReported = ({ at }: Hit) => !allowed[file]?.(at);
    const tokens = ownTokens(content, keys).slice(0, MOST_FINDINGS + 1);
    const hits = [...tokens, ...apart(find(content).slice(0, MOST_FINDINGS + 1), tokens)]
      .filter(isReported)
      .sort((a, b) => a.at - b.at);
    for (const { isGuess: _, ...hit } of hits) {
      if (found.length >= MOST_FINDINGS) truncated = true;
      else found.push({ ...hit, path, file, ...positionOf(file, hit.at) });
    }
  }
  const { candidates, isCut } = candidatesIn(files, allowed);
  return { files, found, candidates, positionOf, truncated: truncated || isCut };
}

/** Candidates for values in all files, likeliest first, each once with its first places. */
function candidatesIn(
  files: readonly File[],
  allowed: readonly ((at: number) => boolean)[],
): { candidates: Places; isCut: boolean } {
  const candidates: Places = new Map();
  let isCut = false;
  const lists = files.map(({ content }) => candidatesOf(content));
  const note = ({ value, at }: Candidate, file: number) => {
    if (allowed[file]?.(at)) return;
    const places = candidates.get(value);
    if (places) {
      if (places.length < MOST_PLACES && !places.some((one) => one.file === file && one.at === at))
        places.push({ file, at });
    } else if (candidates.size >= MOST_CANDIDATES) isCut = true;
    else candidates.set(value, [{ file, at }]);
  };
  for (const rank of [0, 1, 2] as const)
    for (const [file, list] of lists.entries()) for (const one of list[rank]) note(one, file);
  return { candidates, isCut };
}
