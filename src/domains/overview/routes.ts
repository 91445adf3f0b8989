// HTTP routes of the overview and of search.
import { route } from '../../http/route';
import { histogramOf } from '../audit/histogram';
import type { OverviewParts } from './gate/operations';
import * as wire from './wire';

const tag = 'Overview';
/** How often ten segments of the audit log are opened for the activity. */
const ROUNDS = 2;

export const overviewRoutes = [
  route({
    method: 'get',
    path: '/orgs/{org_id}/overview',
    action: 'org.overview',
    tag,
    summary: 'Show what needs somebody now',
    description:
      'By urgency, with the number and the first items of each part. A part needs the scope of its list and has what that list shows to the caller; a part that the caller may not list is absent.',
    answers: { 200: wire.Overview },
    async render({ parts, activity }: OverviewParts, _input, context) {
      const total = Object.values(parts).reduce((sum, { count }) => sum + count, 0);
      return {
        json: {
          total,
          ...parts,
          ...(activity && { activity: await histogramOf(context, activity, ROUNDS) }),
        },
      };
    },
  }),
  route({
    method: 'get',
    path: '/orgs/{org_id}/search',
    action: 'org.search',
    tag,
    summary: 'Find by part of a name',
    description:
      'Up to 20 of each kind, of those that its list shows to the caller. A kind that the caller may not list is absent. What is searched for is in no log and in no audit entry.',
    query: wire.SearchQuery,
    answers: { 200: wire.Found },
    prepare: ({ query }) => ({ input: { text: query.q } }),
  }),
];
