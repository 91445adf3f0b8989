// Scans the files of one request. Invariants: a finding contains the position of a credential and never the credential itself; the work is
// bounded for any input.
import { type Kind, type PageKind, readPageToken, readToken } from '../../../auth/token';
import { type Candidate, candidatesOf } from './candidates';
import { find, type Hit } from './find';
import { type Position, positions } from './lines';

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
  /** For a token of this service: its organisation and hash. */
  token?: { kind: Kind | PageKind; org: string; hash: string };
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

const TOKEN = /svc(?:_live|sess|ag|_agent|prov|bg|enrol|share)_([0-9A-Za-z]{66})/g;

/** Tokens of this deployment, recognised by their tag regardless of the surrounding text. */
function ownTokens(text: string, tagKey: Uint8Array): (Hit & { token: Found['token'] })[] {
  return [...text.matchAll(TOKEN)].flatMap(({ 0: spelled, 1: body, index }) => {
    const at = index as number;
    const read = readToken(spelled) ?? readPageToken('enrolment', spelled) ?? readPageToken('share', spelled);
    // safety: scan-only-genuine-tokens
    if (!read?.isGenuine(tagKey)) return [];
    const { kind, org, hash } = read;
    const token = { kind, org, hash };
    return [{ rule: 'svc-token', at, length: spelled.length, prefix: spelled.slice(0, -(body as string).length), token }];
  });
}

/** Findings by format that do not overlap with tokens of this service. */
const apart = (hits: readonly Hit[], tokens: readonly Hit[]): Hit[] =>
  tokens.length === 0
    ? [...hits]
    : hits.filter((hit) => !tokens.some(({ at, length }) => hit.at < at + length && at < hit.at + hit.length));

export function scanFiles(files: readonly File[], tagKey: Uint8Array): Scanned {
  const tellers: ((at: number) => Position)[] = [];
  const positionOf = (file: number, at: number): Position => {
    tellers[file] ??= positions((files[file] as File).content);
    return (tellers[file] as (at: number) => Position)(at);
  };
  const found: Found[] = [];
  let truncated = false;
  for (const [file, { path, content }] of files.entries()) {
    const tokens = ownTokens(content, tagKey).slice(0, MOST_FINDINGS + 1);
    const hits = [...tokens, ...apart(find(content).slice(0, MOST_FINDINGS + 1), tokens)].sort((a, b) => a.at - b.at);
    for (const { isGuess: _, ...hit } of hits) {
      if (found.length >= MOST_FINDINGS) truncated = true;
      else found.push({ ...hit, path, file, ...positionOf(file, hit.at) });
    }
  }
  const { candidates, isCut } = candidatesIn(files);
  return { files, found, candidates, positionOf, truncated: truncated || isCut };
}

/** Candidates for values in all files, likeliest first, each once with its first places. */
function candidatesIn(files: readonly File[]): { candidates: Places; isCut: boolean } {
  const candidates: Places = new Map();
  let isCut = false;
  const lists = files.map(({ content }) => candidatesOf(content));
  const note = ({ value, at }: Candidate, file: number) => {
    const places = candidates.get(value);
    if (places) {
      if (places.length < MOST_PLACES && !places.some((one) => one.file === file && one.at === at)) places.push({ file, at });
    } else if (candidates.size >= MOST_CANDIDATES) isCut = true;
    else candidates.set(value, [{ file, at }]);
  };
  for (const rank of [0, 1, 2] as const) for (const [file, list] of lists.entries()) for (const one of list[rank]) note(one, file);
  return { candidates, isCut };
}
