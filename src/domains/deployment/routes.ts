// What the bootstrap token may do to the deployment as a whole.
import { rewrap } from '../../crypto/keyring';
import { fromCursor, toCursor } from '../../db/page';
import { ApiError, refuse } from '../../errors';
import { route } from '../../http/route';
import * as wire from './wire';

const path = '/deployment/keys/rewrap';

export const deploymentRoutes = [
  route({
    method: 'post',
    path,
    action: 'deployment.rewrap',
    tag: 'Deployment',
    summary: 'Put keys under the current master key',
    description:
      'With the bootstrap token, after a new master key has come first in MASTER_KEYS. About 100 keys a call, while reads and writes go on; repeat with `next` until it is null, and from the start for as long as `done` is below `total`. MISCONFIGURED names a master key that is missing; the key wrapped by it is left as it is.',
    body: { schema: wire.RewrapIn, optional: true },
    answers: { 200: wire.Rewrapped },
    refusals: ['INVALID_CURSOR'],
    async deployment({ body }, context) {
      const after = body.cursor === undefined ? '' : fromCursor(context.deployment.cursor, '', path, body.cursor);
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
      return { json: { ...counts, next: next === null ? null : toCursor(context.deployment.cursor, '', path, next) } };
    },
  }),
];
