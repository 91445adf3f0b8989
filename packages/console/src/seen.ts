// Changes to what other people may change too. Each names the state that its member saw (If-Match). If the resource is another by then,
// nothing is changed, and the difference is shown. Invariant: a change is made only to a state that was shown: the one when the dialog
// opened, or one whose difference the member has read since.
import { type components, VaultError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { at, here, queries, vault } from './api';
import { ChangedError, differencesOf } from './differences';

/** A resource of the API, with its revision, or the ETag of a secret. */
export interface Resource {
  id: string;
  revision?: number;
  etag?: string;
}

const tagOf = ({ etag, revision }: Resource): string => etag ?? `"r${revision}"`;

/** An incident without its report, which nobody changes. */
export const summaryOf = ({ report: _, rotation: __, recent: ___, timeline: ____, ...incident }: components['schemas']['IncidentReport']) =>
  incident;

/** How to read a resource again, by the prefix of its id. A secret is read without its value. */
const readers: Record<string, (id: string) => Promise<{ data: Resource | undefined }>> = {
  org: () => vault().api.GET('/orgs/{org_id}', { params: { path: here() } }),
  env: (id) => vault().api.GET('/orgs/{org_id}/environments/{id}', at(id)),
  mem: (id) => vault().api.GET('/orgs/{org_id}/members/{id}', at(id)),
  team: (id) => vault().api.GET('/orgs/{org_id}/teams/{id}', at(id)),
  key: (id) => vault().api.GET('/orgs/{org_id}/api-keys/{id}', at(id)),
  agt: (id) => vault().api.GET('/orgs/{org_id}/agent-credentials/{id}', at(id)),
  trs: (id) => vault().api.GET('/orgs/{org_id}/trusts/{id}', at(id)),
  dev: (id) => vault().api.GET('/orgs/{org_id}/devices/{id}', at(id)),
  pol: (id) => vault().api.GET('/orgs/{org_id}/policies/{id}', at(id)),
  whk: (id) => vault().api.GET('/orgs/{org_id}/webhooks/{id}', at(id)),
  int: (id) => vault().api.GET('/orgs/{org_id}/integrations/{id}', at(id)),
  async inc(id) {
    const { data } = await vault().api.GET('/orgs/{org_id}/incidents/{id}', at(id));
    return { data: summaryOf(data) };
  },
  async sec(id) {
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets', { params: { path: here(), query: { id } } });
    return { data: data.data[0] };
  },
};

/** The header that names what the member saw. */
export interface Header {
  'If-Match': string;
}
type Call<Answer> = (header: Header) => Promise<Answer>;

/** The state that took the place of one that a page still holds: after its own change, or when the member accepted the difference. */
const successors = new WeakMap<Resource, Resource>();

const CONFLICTS = ['REVISION_CONFLICT', 'VERSION_CONFLICT'];

/** Makes a change to a resource as the member saw it. */
export async function change<Answer>(resource: Resource, call: Call<Answer>): Promise<Answer> {
  const seen = successors.get(resource) ?? resource;
  try {
    const answer = await call({ 'If-Match': tagOf(seen) });
    const { data } = answer as { data?: Resource };
    if (data?.id === seen.id) successors.set(resource, data);
    return answer;
  } catch (error) {
    if (!(error instanceof VaultError) || !CONFLICTS.includes(error.code)) throw error;
    const now = (await readers[seen.id.slice(0, seen.id.indexOf('_'))]?.(seen.id))?.data;
    // The page behind shows the current state too.
    void queries.invalidateQueries();
    if (!now) throw error;
    throw new ChangedError(differencesOf(seen, now), () => void successors.set(resource, now));
  }
}

/** Makes a change to the resource of a dialog. */
export type Changing = <Answer>(call: Call<Answer>) => Promise<Answer>;

/**
 * Makes changes to a resource as it was when the dialog opened, however often the page behind is refreshed. Without a resource, the dialog
 * creates one.
 */
export function useChange(resource: Resource | undefined): Changing {
  const [seen] = useState(resource);
  return (call) => (seen ? change(seen, call) : Promise.reject(new Error('There is nothing to change')));
}

/**
 * The fields of a change that differ from those for the state that the form opened with, each as a whole. Only they are sent, so that what a
 * colleague changed elsewhere stays, also after the member repeats their change.
 */
export const changedOf = <Fields extends object>(first: Fields, now: Fields): Partial<Fields> =>
  Object.fromEntries(
    Object.entries(now).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(first[field as keyof Fields])),
  ) as Partial<Fields>;

/**
 * The input of a form that is always on its page. Until the member changes something, it follows the resource. From then on it keeps the
 * input and the state that they saw, whatever others change.
 * @param draftOf what the form shows of the resource
 */
export function useDraft<Of extends Resource, Draft>(resource: Of, draftOf: (resource: Of) => Draft) {
  const [seen, see] = useState(resource);
  const [draft, setDraft] = useState(() => draftOf(resource));
  const is = (other: Of) => JSON.stringify(draft) === JSON.stringify(draftOf(other));
  const isSame = is(seen);
  if (seen !== resource && (isSame || is(resource))) {
    see(resource);
    setDraft(() => draftOf(resource));
  }
  return { seen, draft, setDraft, isSame };
}
