// What concerns the deployment as a whole, on the wire.
import { z } from '@hono/zod-openapi';

export const RewrapIn = z
  .strictObject({
    cursor: z.string().max(512).optional().openapi({ description: '`next` of the previous call. Leave it out in the first call.' }),
  })
  .openapi('RewrapIn', { example: {} });

export const Rewrapped = z
  .object({
    done: z.int().min(0).openapi({ description: 'Keys that are wrapped by the current master key after this call.', example: 101 }),
    total: z.int().min(0).openapi({ description: 'Number of all wrapped keys.', example: 240 }),
    next: z
      .string()
      .nullable()
      .openapi({ description: 'Pass it as `cursor` in the next call. null when all keys were checked.', example: null }),
  })
  .openapi('Rewrapped');
