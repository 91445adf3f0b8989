// Where http_request may send secrets. Invariants: an address is checked in the form the request will use,
// after the platform's URL parser: other spellings of an allowed address are accepted, and text that looks
// like an allowed host but resolves to another is refused. A bound secret is used only as one of its bindings
// says; a secret without one goes only to the hosts of --allow-host.
import { usage } from '../errors.ts';
import { clean } from '../text.ts';

export interface AllowedHost {
  /** In the form the URL parser writes. */
  host: string;
  /** Allows subdomains of `host` but not `host` itself. */
  below: boolean;
  /** In the form the URL parser writes: empty for the scheme's default port. */
  port: string;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** A host of --allow-host: `api.stripe.com`, `*.example.com`, `localhost:3000`. */
export function allowedHost(text: string, flag: string): AllowedHost {
  const wrong = () => usage(`${flag} takes a host such as api.stripe.com, *.example.com or localhost:3000.`);
  const [, star, rest = ''] = /^(\*\.)?([^/?#@\\\s*]+)$/.exec(text) ?? [];
  const url = rest && URL.canParse(`https://${rest}`) ? new URL(`https://${rest}`) : undefined;
  if (!url?.hostname || url.pathname !== '/') throw wrong();
  // A wildcard for a whole top-level domain would not be a restriction.
  if (star && (!url.hostname.includes('.') || /^[\d.]+$|^\[/.test(url.hostname))) throw wrong();
  if (url.hostname.endsWith('.')) throw wrong();
  return { host: url.hostname, below: Boolean(star), port: url.port };
}

const covers = ({ host, below, port }: AllowedHost, url: URL): boolean =>
  // safety: mcp-host
  url.port === port && (below ? url.hostname.endsWith(`.${host}`) : url.hostname === host);

/** Checks an address before any secret is read or sent. */
export function checkedAddress(text: string, allowed: AllowedHost[]): URL {
  // The parser drops line breaks and spaces at the ends, and would call another address than the one that is
  // written.
  if (!URL.canParse(text) || /\p{Cc}|^\s|\s$/u.test(text))
    throw usage('url must be an absolute address such as https://api.example.com/path.');
  const url = new URL(text);
  // safety: mcp-userinfo
  if (url.username || url.password)
    throw usage('url must not contain a user name or password. Use basic_auth.');
  // safety: mcp-https
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
    throw usage('url must use https. http is allowed only for this machine.');
  if (!allowed.some((host) => covers(host, url)))
    throw usage(
      `The host ${clean(url.host)} is not allowed on this server. Allowed hosts: ${allowed.map(nameOf).join(', ')}.`,
      'A person can add it with --allow-host in the configuration of this server',
    );
  return url;
}

export const nameOf = ({ host, below, port }: AllowedHost): string =>
  `${below ? '*.' : ''}${host}${port && `:${port}`}`;

/** Where one secret may be sent. */
export interface Binding {
  host: AllowedHost;
  /** This path and those below it, without a final slash; empty for all. */
  path: string;
  /** In lower case; undefined for every place that takes references. */
  header?: string;
}

export type Bindings = ReadonlyMap<string, Binding[]>;

export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** `--bind NAME=HOST[/PATH][,header=HEADER]`. */
export function binding(text: string, flag: string): { name: string; binding: Binding } {
  const [, name = '', host = '', path = '', header] =
    /^([^=]+)=([^/,]+)(\/[^,?#]*)?(?:,header=([^,]+))?$/.exec(text) ?? [];
  if (!name || (header !== undefined && !HEADER_NAME.test(header)) || !isPlain(path))
    throw usage(`${flag} takes NAME=HOST, NAME=HOST/PATH or NAME=HOST/PATH,header=HEADER.`);
  const prefix = path && new URL(path, 'https://host').pathname.replace(/\/+$/, '');
  return { name, binding: { host: allowedHost(host, flag), path: prefix, header: header?.toLowerCase() } };
}

/**
 * What servers read differently: control characters, and segments of dots. Some servers trim spaces and dots
 * from segments before they resolve them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: servers differ in what they do with them.
const UNLIKE = /[\\\x00-\x1f\x7f]|^\/\/|(^|\/)[\s.]*\.[\s.]*([;/?#]|$)/;

/**
 * Whether all servers read a path alike: without segments that lead elsewhere, however often they are
 * encoded.
 */
function isPlain(path: string): boolean {
  let text = path;
  for (let round = 0; round < 4; round++) {
    // Some map other forms of a dot or slash to the plain one.
    if (UNLIKE.test(text) || UNLIKE.test(text.normalize('NFKC'))) return false;
    try {
      const once = decodeURIComponent(text);
      if (once === text) return true;
      text = once;
    } catch {
      return false;
    }
  }
  return false;
}

const isBelow = (prefix: string, path: string): boolean =>
  // safety: mcp-bind-path
  prefix === '' || (isPlain(path) && (path === prefix || path.startsWith(`${prefix}/`)));

const shownBinding = ({ host, path, header }: Binding): string =>
  `${nameOf(host)}${path}${header ? ` in the header ${header}` : ''}`;

/**
 * A place where references stand: in one header of a request, or elsewhere in it. Undefined for a program.
 */
export type Place = { url: URL; header?: string } | undefined;

/** Refuses secrets that may not be used in this place. */
export function checkUse(
  names: string[],
  { bindings, hosts }: { bindings: Bindings; hosts: AllowedHost[] },
  place: Place,
): void {
  for (const name of names) {
    const bound = bindings.get(name);
    // safety: mcp-bind
    if (bound && !(place && bound.some((one) => fits(one, place))))
      throw usage(
        `${clean(name)} is bound to ${bound.map(shownBinding).join(', ')} and cannot be used elsewhere.`,
      );
    // safety: mcp-unbound
    if (!bound && place && !hosts.some((host) => covers(host, place.url)))
      throw usage(`${clean(name)} is not bound to ${clean(place.url.host)}, which takes bound secrets only.`);
  }
}

const fits = ({ host, path, header }: Binding, place: NonNullable<Place>): boolean =>
  // safety: mcp-bind-header
  covers(host, place.url) &&
  isBelow(path, place.url.pathname) &&
  (header === undefined || header === place.header);
