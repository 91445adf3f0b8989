// Request and response schemas of the deployment.
import { z } from '@hono/zod-openapi';

export const RewrapIn = z
  .strictObject({
    cursor: z
      .string()
      .max(512)
      .optional()
      .openapi({ description: '`next` of the previous response. Omit it in the first request.' }),
  })
  .openapi('RewrapIn', { example: {} });

export const Rewrapped = z
  .object({
    done: z
      .int()
      .min(0)
      .openapi({ description: 'Keys wrapped by the current master key after this request.', example: 101 }),
    total: z.int().min(0).openapi({ description: 'Total number of wrapped keys.', example: 240 }),
    next: z.string().nullable().openapi({
      description: 'Pass it as `cursor` in the next request. null once all keys have been checked.',
      example: null,
    }),
  })
  .openapi('Rewrapped');
