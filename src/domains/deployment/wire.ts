// What concerns the deployment as a whole, on the wire.
import { z } from '@hono/zod-openapi';

export const RewrapIn = z
  .strictObject({
    cursor: z.string().max(512).optional().openapi({ description: 'The `next` of the call before; absent for the first one.' }),
  })
  .openapi('RewrapIn', { example: {} });

export const Rewrapped = z
  .object({
    done: z.int().min(0).openapi({ description: 'Wrapped keys that are under the current master key, after this call.', example: 101 }),
    total: z.int().min(0).openapi({ description: 'All wrapped keys.', example: 240 }),
    next: z.string().nullable().openapi({ description: 'Pass it as `cursor`; null once every key has been looked at.', example: null }),
  })
  .openapi('Rewrapped');
