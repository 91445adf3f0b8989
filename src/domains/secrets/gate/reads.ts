// Reading one secret, by id or by name. Invariant: the ciphertext of a version is returned only if the
// secret's row, read in the same turn, permits it.

import { reaches } from '../../../auth/authorize';
import type { SecretRow, VersionRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import { isNotModified } from '../../../etag';
import { ciphertexts } from '../../../gate/journal/ciphertexts';
import type { Call, Operation, OperationOutcome } from '../../../gate/request/call';
import { fail, ok } from '../../../gate/request/outcome';
import { writeReadable } from '../../../gate/request/rollout';
import { environmentOf, namedId, slugOf } from '../../../gate/request/target';
import { type Delivered, etagOf, hasVersion, type Readable, readable, revokedVersion } from '../rules';
import { subjectOf } from './state';
import { keep, versionOf } from './versions';

export interface ReadInput {
  /** Whether the Worker accepts `Delivered` as text. */
  as_text?: true;
  version: number | null;
  if_none_match: string | null;
}

/** The maximum length of a text that the Worker caches; a longer value is sent as an object. */
const MOST_TEXT = 4096;

/**
 * The texts of versions, each with the row that it was created for; null if it is too long. Neither object is
 * ever modified.
 */
const texts = new WeakMap<VersionRow, { row: SecretRow; text: string | null }>();

function textOf(found: Readable): string | null {
  const { row, version } = found;
  const known = texts.get(version);
  if (known?.row === row) return known.text;
  const text = version.value_sealed.length > MOST_TEXT ? '' : JSON.stringify(writeReadable(found));
  const made = { row, text: text && text.length <= MOST_TEXT ? text : null };
  texts.set(version, made);
  return made.text;
}

/** A value in transit to the Worker. */
export function deliver(
  { as_text }: { as_text?: true },
  found: Readable,
  environment: string,
  now: number,
): Delivered {
  const text = as_text ? textOf(found) : null;
  return text === null
    ? { ...writeReadable(found), environment, now }
    : { seal_id: found.version.seal_id, text, environment, now };
}

export async function read(
  call: Call<ReadInput>,
  find: () => SecretRow | null,
  missing: () => OperationOutcome = () => fail(refuse('NOT_FOUND')),
): Promise<OperationOutcome> {
  const { core, input } = call;
  for (let fetched: VersionRow | null = null; ; ) {
    const now = core.now();
    const row = find();
    if (!row) {
      const ended = fetched && call.recheck();
      return ended ? fail(ended) : missing();
    }
    // safety: read-rechecked-after-fetch
    const refusal = readable(row, now) ?? (fetched && call.recheck());
    if (refusal) return fail(refusal);
    const number = input.version ?? row.version;
    if (!hasVersion(row, number))
      return fail(refuse('NOT_FOUND', { message: `This secret has no version ${number}.` }));
    const gone = revokedVersion(row, number);
    if (gone) return fail(gone);
    const etag = number === row.version ? etagOf(row) : `"v${number}"`;
    if (isNotModified(input.if_none_match, etag)) return ok(null, { status: 304, etag });
    const version: VersionRow | null =
      fetched?.secret_id === row.id && fetched.version === number
        ? fetched
        : ciphertexts(core).get(row.id, number, now);
    if (version) {
      if (fetched) keep(core, version);
      return {
        ...ok(deliver(input, { row, version }, slugOf(core, row.environment_id), now), { etag }),
        reveals: row,
      };
    }
    fetched = await versionOf(call, row.id, number);
  }
}

const byId = ({ core, ask }: Call<unknown>): SecretRow | null =>
  core.rows.get('secret', namedId(ask, 'secret'));

export function byName({ core, ask }: Call<unknown>): SecretRow | null {
  const environment = environmentOf(core, ask.named.environment);
  return environment && core.rows.find('secret', environment.id, namedId(ask, 'name'));
}

/** Adds the version that is read. */
export const aboutRead = ({ core, input }: Call<ReadInput>, row: SecretRow | null) =>
  row ? { ...subjectOf(core, row), version: input.version ?? row.version } : {};

export const secretRead: Operation<ReadInput> = {
  byReplica: true,
  subject: (call) => aboutRead(call, byId(call)),
  read: (call) => read(call, () => byId(call)),
};

export const secretReadByName: Operation<ReadInput> = {
  byReplica: true,
  subject: (call) => aboutRead(call, byName(call)),
  read: (call) =>
    read(
      call,
      () => byName(call),
      () => fail(unknownPart(call)),
    ),
};

/** The number of environments in which a refusal looks for a name, and how many of them it lists. */
const MOST_SEARCHED = 100;
const MOST_SHOWN = 5;

/**
 * 404 that says which part of a read by name is unknown. The caller may read that name there; of other
 * environments, it lists those where the caller may list or read the name.
 */
function unknownPart({ core, ask, caller }: Call<unknown>): Refusal {
  const name = namedId(ask, 'name');
  const environment = environmentOf(core, ask.named.environment);
  if (!environment) return unknownEnvironment(ask.named.environment);
  const hasIt = (id: string) => core.rows.find('secret', id, name) !== null;
  const elsewhere = core.rows
    .after('environment', '', MOST_SEARCHED)
    // safety: hint-within-permissions
    .filter(({ id }) => reaches(caller, ['secrets:list', 'secrets:read'], id, name) && hasIt(id))
    .slice(0, MOST_SHOWN)
    .map(({ slug }) => slug);
  const hint = elsewhere.length ? ` It exists in: ${elsewhere.join(', ')}.` : '';
  return refuse('NOT_FOUND', {
    message: `There is no secret ${name} in the environment ${environment.slug}.${hint}`,
  });
}

export const unknownEnvironment = (ref: string | null | undefined): Refusal =>
  refuse('NOT_FOUND', {
    message: ref ? `There is no environment ${ref}.` : 'There is no default environment.',
  });

/** 404 for an environment that does not exist, told apart from a name that does not. */
export const noEnvironment = ({ ask }: Call<unknown>): Refusal => ({
  ...unknownEnvironment(ask.named.environment),
  details: [{ path: 'environment', message: 'does not exist' }],
});
