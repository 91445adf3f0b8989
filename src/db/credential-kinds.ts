// The kinds of credentials, and how they differ wherever credentials are stored, counted or ended. A new kind
// begins here. What else depends on the kind asks for one of these facts or is a record of all kinds, but for
// what docs/architecture/code.md names.

interface Facts {
  /**
   * A session: it lives for a day at most or ends with a sign-out, is not counted among the live credentials,
   * and leaves no row behind.
   */
  isBrief: boolean;
  /**
   * The number of the organisation that a panic raises to end it. A panic that keeps the API keys and trusts
   * raises `generation` alone.
   */
  endedBy: 'generation' | 'keys_generation';
  /**
   * Its row is in the gate alone: it lives for a day at most, so a gate that lost its storage ends it, and
   * the caller mints again.
   */
  isLocal?: true;
  /** Its reads may be answered by a replica, which knows its row. */
  isForReplicas?: true;
}

export const credentialKinds = {
  api_key: { isBrief: false, endedBy: 'keys_generation', isForReplicas: true },
  session: { isBrief: true, endedBy: 'generation', isLocal: true, isForReplicas: true },
  agent: { isBrief: false, endedBy: 'generation', isForReplicas: true },
  provider: { isBrief: false, endedBy: 'generation' },
  break_glass: { isBrief: false, endedBy: 'generation' },
  browser: { isBrief: true, endedBy: 'generation', isForReplicas: true },
  trust: { isBrief: false, endedBy: 'keys_generation' },
  scim: { isBrief: false, endedBy: 'keys_generation' },
} as const satisfies Record<string, Facts>;

export type CredentialKind = keyof typeof credentialKinds;
export type BriefKind = {
  [K in CredentialKind]: (typeof credentialKinds)[K]['isBrief'] extends true ? K : never;
}[CredentialKind];
export type LastingKind = Exclude<CredentialKind, BriefKind>;

const all = Object.keys(credentialKinds) as [CredentialKind, ...CredentialKind[]];

export const isBrief = (kind: CredentialKind): kind is BriefKind => credentialKinds[kind].isBrief;
export const isLasting = (kind: CredentialKind): kind is LastingKind => !isBrief(kind);
export const kindsOfCredentials = all;
export const lastingKinds: LastingKind[] = all.filter(isLasting);

/** Whether D1 has no row of it. */
export const isLocal = (kind: CredentialKind): boolean => (credentialKinds[kind] as Facts).isLocal ?? false;

/** Whether replicas answer reads by it. */
export const isForReplicas = (kind: CredentialKind): boolean =>
  (credentialKinds[kind] as Facts).isForReplicas ?? false;

const listed = (kinds: readonly string[]) => `(${kinds.map((kind) => `'${kind}'`).join(', ')})`;
/** Those in the gate alone, as a list of SQL. D1 has those that an earlier release wrote. */
export const LOCAL_KINDS = listed(all.filter(isLocal));
/** The brief kinds, as a list of SQL. */
export const BRIEF_KINDS = listed(all.filter(isBrief));
/**
 * SQL for the least generation of the live credentials of the kind in a column. It has two parameters:
 * `keys_generation` and `generation` of the organisation.
 */
export const leastGeneration = (column: string): string =>
  `iif(${column} in ${listed(all.filter((kind) => credentialKinds[kind].endedBy === 'keys_generation'))}, ?, ?)`;
