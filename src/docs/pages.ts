import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Route } from '../http/route';

// biome-ignore lint/suspicious/noExplicitAny: placeholder
export function docsRoutes(_app: OpenAPIHono<any>, _routes: Route[]) {}
