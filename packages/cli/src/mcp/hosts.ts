// Where http_request may send secrets. Invariant: an address is checked in the form the request will use, after the platform's URL parser:
// other spellings of an allowed address are accepted, and text that looks like an allowed host but resolves to another is refused.
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
  if (!URL.canParse(text)) throw usage('url must be an absolute address such as https://api.example.com/path.');
  const url = new URL(text);
  // safety: mcp-userinfo
  if (url.username || url.password) throw usage('url must not contain a user name or password. Use basic_auth.');
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

export const nameOf = ({ host, below, port }: AllowedHost): string => `${below ? '*.' : ''}${host}${port && `:${port}`}`;

/** Secrets that may be sent only to certain hosts. */
export type Bindings = ReadonlyMap<string, AllowedHost[]>;

/** `--bind NAME=HOST`. */
export function binding(text: string, flag: string): { name: string; host: AllowedHost } {
  const at = text.indexOf('=');
  if (at < 1) throw usage(`${flag} takes NAME=HOST.`);
  return { name: text.slice(0, at), host: allowedHost(text.slice(at + 1), flag) };
}

/** Refuses a secret that may not be sent to this address. @param url undefined for a program */
export function checkBindings(names: string[], bindings: Bindings, url?: URL): void {
  for (const name of names) {
    const hosts = bindings.get(name);
    // safety: mcp-bind
    if (hosts && !(url && hosts.some((host) => covers(host, url))))
      throw usage(`${clean(name)} is bound to ${hosts.map(nameOf).join(', ')} and cannot be used elsewhere.`);
  }
}
