// The overview as its page and the navigation read it: once, and again after what it tells of has changed.
import type { components } from '@secrets-vault/client';
import { here, useRead, vault } from '../../requests/api';

export type Overview = components['schemas']['Overview'];
export type Item = components['schemas']['OverviewItem'];

/** How often it is read again, in milliseconds: ends come without an event. */
const EVERY = 60_000;

export const useOverview = (enabled = true) =>
  useRead(
    ['overview'],
    (signal) => vault().api.GET('/orgs/{org_id}/overview', { params: { path: here() }, signal }),
    enabled,
    () => enabled && EVERY,
  );
