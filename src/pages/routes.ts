import type { OpenAPIHono } from '@hono/zod-openapi';
export function pageRoutes(_app: OpenAPIHono<any>) {}
