// Changes to what other people may change too. Each names the state that its member saw (If-Match). If the
// resource is another by then, nothing is changed, and the difference is shown. Invariant: a change is made
// only to a state that was shown: the one when the dialog opened, or one whose difference the member has read
// since. A form then shows their changes to that state (merge.ts).
import { type components, VaultError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { ChangedError } from '../changes/changed-error';
import { differencesOf } from '../changes/differences';
import { type Lines, mergedDraft } from '../changes/merge';
import { at, here, queries, vault } from './api';

/** A resource of the API, with its revision, or the ETag of a secret. */
export interface Resource {
  id: string;
  revision?: number;
  etag?: string;
}

const tagOf = ({ etag, revision }: Resource): string => etag ?? `"r${revision}"`;

/** An incident without its report, which nobody changes. */
export const summaryOf = ({
  report: _,
  rotation: __,
  recent: ___,
  timeline: ____,
  ...incident
}: components['schemas']['IncidentReport']) => incident;

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
  log: (id) => vault().api.GET('/orgs/{org_id}/log-streams/{id}', at(id)),
  ups: (id) => vault().api.GET('/orgs/{org_id}/upstreams/{id}', at(id)) as never,
  dom: (id) => vault().api.GET('/orgs/{org_id}/domains/{id}', at(id)),
  sso: (id) => vault().api.GET('/orgs/{org_id}/sso-connections/{id}', at(id)),
  int: (id) => vault().api.GET('/orgs/{org_id}/integrations/{id}', at(id)),
  async inc(id) {
    const { data } = await vault().api.GET('/orgs/{org_id}/incidents/{id}', at(id));
    return { data: summaryOf(data) };
  },
  async sec(id) {
    const { data } = await vault().api.GET('/orgs/{org_id}/secrets', {
      params: { path: here(), query: { id } },
    });
    return { data: data.data[0] };
  },
};

/** The header that names what the member saw. */
export interface Header {
  'If-Match': string;
}
type Call<Answer> = (header: Header) => Promise<Answer>;

/**
 * The state that took the place of one that a page still holds: after its own change, or when the member
 * accepted the difference.
 */
const successors = new WeakMap<Resource, Resource>();

/**
 * The state that a change is made to: what came of the member's own change to a resource that the page has
 * not read again.
 */
export const currentOf = <Of extends Resource>(resource: Of): Of =>
  (successors.get(resource) as Of | undefined) ?? resource;

const CONFLICTS = ['REVISION_CONFLICT', 'VERSION_CONFLICT'];

/**
 * Makes a change to a resource as the member saw it.
 * @param accept what to do when the member wants to make it to the current state instead
 */
export async function change<Of extends Resource, Answer>(
  resource: Of,
  call: Call<Answer>,
  accept: (now: Of) => void = (now) => void successors.set(resource, now),
): Promise<Answer> {
  const seen = currentOf(resource);
  try {
    const answer = await call({ 'If-Match': tagOf(seen) });
    const { data } = answer as { data?: Resource };
    if (data?.id === seen.id) successors.set(resource, { ...seen, ...data });
    return answer;
  } catch (error) {
    if (!(error instanceof VaultError) || !CONFLICTS.includes(error.code)) throw error;
    const now = (await readers[seen.id.slice(0, seen.id.indexOf('_'))]?.(seen.id))?.data;
    // The page behind shows the current state too.
    void queries.invalidateQueries();
    if (!now) throw error;
    throw new ChangedError(differencesOf(seen, now), () => accept(now as Of));
  }
}

const NOTHING = new Error('There is nothing to change');

/** Makes a change to the resource of a dialog. */
export type Changing = <Answer>(call: Call<Answer>) => Promise<Answer>;

/**
 * Makes changes to a resource as it was when the dialog opened, however often the page behind is refreshed.
 * Without a resource, the dialog creates one.
 */
export function useChange(resource: Resource | undefined): Changing {
  const [seen] = useState(resource);
  return (call) => (seen ? change(seen, call) : Promise.reject(NOTHING));
}

/**
 * The input of a form that changes a resource as it was when the form opened. When the member keeps their
 * change after a colleague's, the form shows it in the current state, and that is what is saved.
 * @param draftOf what the form shows of the resource; of none, if it creates one
 * @param lines the fields of the form that are texts with an entry in each line
 */
export function useEdit<Of extends Resource | undefined, Draft extends object>(
  resource: Of,
  draftOf: (resource: Of) => Draft,
  lines?: Lines<Draft>,
) {
  const [{ seen, first }, see] = useState(() => {
    const now = (resource && currentOf(resource)) as Of;
    return { seen: now, first: draftOf(now) };
  });
  const [draft, setDraft] = useState(first);
  /** Shows another state of the resource, with the changes of the member. */
  const follow = (now: Of) => {
    const next = draftOf(now);
    see({ seen: now, first: next });
    setDraft((mine) => mergedDraft(first, mine, next, lines));
  };
  const changing = <Answer>(call: Call<Answer>): Promise<Answer> =>
    seen ? change<Resource, Answer>(seen, call, (now) => follow(now as Of)) : Promise.reject(NOTHING);
  const isSame = JSON.stringify(draft) === JSON.stringify(first);
  return { seen, first, draft, setDraft, isSame, changing, follow };
}

/**
 * The input of a form that is always on its page. Until the member changes something, it follows the
 * resource. From then on it keeps the input and the state that they saw, whatever others change.
 */
export function useDraft<Of extends Resource, Draft extends object>(
  resource: Of,
  draftOf: (resource: Of) => Draft,
  lines?: Lines<Draft>,
) {
  const edit = useEdit(resource, draftOf, lines);
  const { seen, draft, isSame, follow } = edit;
  const now = currentOf(resource);
  if (seen !== now && (isSame || JSON.stringify(draft) === JSON.stringify(draftOf(now)))) follow(now);
  return edit;
}
