// The operation ids of routes: their names in the OpenAPI document, in generated clients and in links to the
// reference.
import type { Route } from '../http/route';

/** The operation id of each route, in order. Each is unique. */
export function operationIds(routes: Route[]): Map<Route, string> {
  const taken = new Set<string>();
  return new Map(
    routes.map((route) => {
      const own = idOf(route.operation ?? route.action);
      const id = !taken.has(own)
        ? own
        : route.path.endsWith('}')
          ? `${own}_one`
          : idOf(`${route.method} ${route.path}`);
      taken.add(id);
      return [route, id];
    }),
  );
}

const idOf = (words: string) => words.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '');
