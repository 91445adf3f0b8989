// What the lists of resources would show a caller. Invariant: incidents and reports name nothing else of
// upstreams, log streams, domains and connections to identity providers.
import { type Caller, reachesAll } from '../../../auth/authorize';
import { covers } from '../../../auth/scopes';
import type { UpstreamRow } from '../../../db/schema';
import type { Call } from '../../../gate/request/call';
import { whole } from '../../log-streams/gate/maker';
import { actions as ssoNeeds } from '../../sso/actions';
import { isVisible } from '../../upstreams/gate/permission';
import type { SetUp } from '../payloads';

const holds = ({ permissions }: Caller, scopes: readonly string[]): boolean =>
  scopes.some((scope) => permissions.some((own) => covers(own.scopes, scope)));

/** Whether the caller may list log streams, domains or connections to identity providers. */
export const mayListSetUp = (call: Call<unknown>, kind: SetUp): boolean =>
  // safety: report-set-up-as-listed
  kind === 'log_streams' ? whole(call) === null : holds(call.caller, ssoNeeds['domain.list'].scopes);

/** Whether the caller may see an upstream. One that is gone: whether the caller might see any. */
export const maySeeUpstream = ({ caller }: Call<unknown>, row: UpstreamRow | null): boolean =>
  // safety: report-upstreams-as-listed
  row ? isVisible(caller, row) : reachesAll(caller, ['upstreams:read']);
