// HTTP routes for the bootstrap token.

import { fromCursor, toCursor } from '../../db/page';
import { ApiError, refuse } from '../../errors';
import { route } from '../../http/route';
import { rewrap } from '../../keys/keyring';
import * as wire from './wire';

const path = '/deployment/keys/rewrap';

export const deploymentRoutes = [
  route({
    method: 'post',
    path,
    action: 'deployment.rewrap',
    tag: 'Deployment',
    summary: 'Rewrap keys with the current master key',
    description:
      'Send it after you put a new master key first in MASTER_KEYS. Each request rewraps about 100 keys; reads and writes continue in the meantime. Repeat with `next` as `cursor` until `next` is null, and start again while `done` is below `total`. If a master key is missing, the request fails with MISCONFIGURED, which names it, and the keys it wraps stay unchanged. If the first master key opens none of the keys under its id, nothing is rewrapped.',
    body: { schema: wire.RewrapIn, optional: true },
    answers: { 200: wire.Rewrapped },
    refusals: ['INVALID_CURSOR'],
    async deployment({ body }, context) {
      const after =
        body.cursor === undefined ? '' : fromCursor(context.deployment.cursor, '', path, body.cursor);
      if (after === null) throw new ApiError(refuse('INVALID_CURSOR'));
      context.trace.d1_calls += 2;
      const { changed, next, ...counts } = await rewrap(context.env.DB, context.settings.masterKeys, after);
      console.log(
        JSON.stringify({
          level: 'info',
          event: 'keys_rewrapped',
          request_id: context.request.id,
          changed,
          ...counts,
          whole: next === null,
        }),
      );
      return {
        json: { ...counts, next: next === null ? null : toCursor(context.deployment.cursor, '', path, next) },
      };
    },
  }),
];
