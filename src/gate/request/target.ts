// The environment and secret in a request's path, and whether the caller can reach them. Invariant: by name,
// something outside the caller's reach looks non-existent; by id, a refusal reveals nothing stored.
import { mayReach } from '../../auth/authorize';
import type { Refusal } from '../../errors';
import { noSubject, type Subject } from '../audit/entry';
import type { Core } from '../core';
import type { Ask, Call, Named } from './call';

/** The most environments of an organisation. */
export const MOST_ENVIRONMENTS = 1000;

/** What a request names of a kind: an id, or the name of a secret. Empty if none, and no row has that. */
export const namedId = ({ named }: Pick<Ask, 'named'>, kind: Exclude<keyof Named, 'environment'>): string =>
  named[kind] ?? '';

/** The environment of a request, by id or slug, or the default one; null if there is none. */
export function environmentOf(core: Core, named: string | null | undefined) {
  const ref = named ?? core.rows.get('org', core.org)?.default_environment ?? '';
  return core.rows.get('environment', ref) ?? core.rows.find('environment', '', ref);
}

/** The name of an environment in responses: its slug, or its id if it no longer exists. */
export const slugOf = (core: Core, id: string): string => core.rows.get('environment', id)?.slug ?? id;

/** 403 if the path names something outside the caller's reach. */
export function mayReachNamed({ core, ask, need, caller }: Call<unknown>): Refusal | null {
  const { environment, name, secret } = ask.named;
  if (secret !== undefined) {
    const row = core.rows.get('secret', secret);
    return row && mayReach(caller, need, { environment: row.environment_id, shown: null, name: row.name });
  }
  if (environment === undefined || environment === '' || name === '') return null;
  const row = environmentOf(core, environment);
  return mayReach(caller, need, { environment: row?.id ?? '', shown: environment ?? row?.slug ?? '', name });
}

/** The subject of the audit entry, from the path. */
export function namedSubject({ core, ask }: Call<unknown>): Subject {
  const { environment, name, secret, ...others } = ask.named;
  const subject: Subject = { ...noSubject };
  if (secret !== undefined) {
    const row = core.rows.get('secret', secret);
    subject.resource = secret;
    if (!row) return subject;
    subject.environment = slugOf(core, row.environment_id);
    subject.resource_name = row.name;
    return subject;
  }
  [subject.resource = null] = Object.values(others);
  if (name) subject.resource_name = name;
  if (environment !== undefined && environment !== '' && name !== '')
    subject.environment = environmentOf(core, environment)?.slug ?? null;
  return subject;
}
