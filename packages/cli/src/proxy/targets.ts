// The upstreams of one run of svc proxy, and which of them a request is for. Invariant: a path is cut as it
// was sent, and never resolved: the vault judges it.
import type { components } from '@secrets-vault/client';
import { usage } from '../errors.ts';
import { UPSTREAM_NAME } from '../names.ts';
import { notDocumented } from '../requests/answers.ts';
import { clean } from '../text.ts';

export type Upstream = Pick<components['schemas']['Upstream'], 'name' | 'base_url'>;

export interface Target extends Upstream {
  /** As in a URL, in lower case. */
  host: string;
  port: number;
  /** The path of the base URL, without a slash at its end. */
  path: string;
}

export function targetOf({ name, base_url }: Upstream): Target {
  const url = URL.canParse(base_url) ? new URL(base_url) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || !UPSTREAM_NAME.test(name)) throw notDocumented(200);
  return {
    name,
    base_url,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (url.protocol === 'http:' ? 80 : 443),
    path: url.pathname.replace(/\/$/, ''),
  };
}

/**
 * The targets that a program gets: those that are named, else all. Two at one address cannot both be served
 * there.
 */
export function chosenTargets(upstreams: readonly Upstream[], only: readonly string[] | undefined): Target[] {
  const missing = only?.find((name) => !upstreams.some((one) => one.name === name));
  if (missing !== undefined)
    throw usage(`There is no upstream ${clean(missing)} that this credential may use.`, 'svc upstream list');
  const targets = upstreams.filter(({ name }) => !only || only.includes(name)).map(targetOf);
  for (const one of targets)
    for (const other of targets)
      if (one !== other && placeOf(one) === placeOf(other) && one.path === other.path)
        throw usage(
          `The upstreams ${clean(one.name)} and ${clean(other.name)} have the same base URL.`,
          'Choose the upstreams with --only',
        );
  return targets;
}

export const placeOf = ({ host, port }: Pick<Target, 'host' | 'port'>): string => `${host}:${port}`;

/** The target of a request to its own host, and the rest of its path; undefined below no base URL. */
export function cut(targets: readonly Target[], path: string): { target: Target; rest: string } | undefined {
  const found = targets
    .filter(({ path: base }) => path.startsWith(base) && /^([/?]|$)/.test(path.slice(base.length)))
    .sort((one, other) => other.path.length - one.path.length)[0];
  if (!found) return undefined;
  return { target: found, rest: path.slice(found.path.length) };
}
