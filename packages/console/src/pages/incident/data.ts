// What the pages of incident response read: the graph of a credential, the preview of its containment, and
// incidents.
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from '../../requests/api';
import { may } from '../../session/may';

export type Graph = components['schemas']['CredentialGraph'];
export type Contained = components['schemas']['Contained'];
export type Incident = components['schemas']['Incident'];
export type IncidentReport = components['schemas']['IncidentReport'];
export type Report = NonNullable<IncidentReport['report']>;

/** What a containment is asked to do. */
export interface Choice {
  rotate: boolean;
  /** As a field of the page holds it; an empty text for none. */
  since: string;
}

export const named = ({ name, id }: { name: string | null; id: string }): string => name || id;

export const useGraph = (id: string) =>
  useRead(['credentials', 'graph', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/credentials/{id}/graph', { params: { path: { ...here(), id } }, signal }),
  );

/** Contains a credential, or with `dry_run` answers what that would do. */
export const contain = (id: string, { rotate, since }: Choice, dry_run?: true, signal?: AbortSignal) =>
  vault().api.POST('/orgs/{org_id}/credentials/{id}/contain', {
    params: { path: { ...here(), id } },
    body: {
      ...(rotate && { rotate: 'generated' as const }),
      ...(since && { since: new Date(since).toISOString() }),
      ...(dry_run && { dry_run }),
    },
    signal,
  });

/** What a containment would do now. */
export const usePreview = (id: string, choice: Choice) =>
  useRead(
    ['credentials', 'preview', id, choice.rotate, choice.since],
    (signal) => contain(id, choice, true, signal),
    may('tokens:write'),
  );

const list = (query: { credential?: string; limit: number }) => (signal: AbortSignal) =>
  vault().api.GET('/orgs/{org_id}/incidents', { params: { path: here(), query }, signal });

/** The newest incidents. */
export const useIncidents = () => useRead(['incidents', 'list'], list({ limit: 100 }), may('tokens:read'));

/** The incident of a credential, if it was contained. */
export const useIncidentOf = (credential: string) =>
  useRead(['incidents', 'of', credential], list({ credential, limit: 1 }), may('tokens:read')).data?.data[0];

export const useIncident = (id: string) =>
  useRead(['incidents', 'one', id], (signal) =>
    vault().api.GET('/orgs/{org_id}/incidents/{id}', { params: { path: { ...here(), id } }, signal }),
  );
