// Where http_request may send secrets. Invariant: an address is judged as the request will use it, after the parser of the platform has read it:
// other spellings of an address are that address, and what looks like a host but is another is refused.
import { usage } from '../errors.ts';
import { clean } from '../text.ts';

export interface AllowedHost {
  /** As the parser of URLs writes it. */
  host: string;
  /** Any host below `host`, and not itself. */
  below: boolean;
  /** As the parser writes it: empty for the scheme's own. */
  port: string;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** A host of --allow-host: `api.stripe.com`, `*.example.com`, `localhost:3000`. */
export function allowedHost(text: string, flag: string): AllowedHost {
  const wrong = () => usage(`${flag} takes a host such as api.stripe.com, *.example.com or localhost:3000.`);
  const [, star, rest = ''] = /^(\*\.)?([^/?#@\\\s*]+)$/.exec(text) ?? [];
  const url = rest && URL.canParse(`https://${rest}`) ? new URL(`https://${rest}`) : undefined;
  if (!url?.hostname || url.pathname !== '/') throw wrong();
  // A wildcard for a whole top-level domain would be no list.
  if (star && (!url.hostname.includes('.') || /^[\d.]+$|^\[/.test(url.hostname))) throw wrong();
  if (url.hostname.endsWith('.')) throw wrong();
  return { host: url.hostname, below: Boolean(star), port: url.port };
}

const covers = ({ host, below, port }: AllowedHost, url: URL): boolean =>
  // safety: mcp-host
  url.port === port && (below ? url.hostname.endsWith(`.${host}`) : url.hostname === host);

/** What an address must be before anything is read or sent. */
export function checkedAddress(text: string, allowed: AllowedHost[]): URL {
  if (!URL.canParse(text)) throw usage('url is no absolute address such as https://api.example.com/path.');
  const url = new URL(text);
  // safety: mcp-userinfo
  if (url.username || url.password) throw usage('An address with a user or a password is not sent. Use basic_auth.');
  // safety: mcp-https
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
    throw usage('Only https is sent, and http to this machine alone.');
  if (!allowed.some((host) => covers(host, url)))
    throw usage(
      `The host ${clean(url.host)} is not on the list of this server. Allowed: ${allowed.map(nameOf).join(', ')}.`,
      'A person adds it with --allow-host where this server is configured',
    );
  return url;
}

export const nameOf = ({ host, below, port }: AllowedHost): string => `${below ? '*.' : ''}${host}${port && `:${port}`}`;

/** Secrets that go to certain hosts alone. */
export type Bindings = ReadonlyMap<string, AllowedHost[]>;

/** `--bind NAME=HOST`. */
export function binding(text: string, flag: string): { name: string; host: AllowedHost } {
  const at = text.indexOf('=');
  if (at < 1) throw usage(`${flag} takes NAME=HOST.`);
  return { name: text.slice(0, at), host: allowedHost(text.slice(at + 1), flag) };
}

/** Refuses a secret where it may not go. @param url undefined for a program */
export function checkBindings(names: string[], bindings: Bindings, url?: URL): void {
  for (const name of names) {
    const hosts = bindings.get(name);
    // safety: mcp-bind
    if (hosts && !(url && hosts.some((host) => covers(host, url))))
      throw usage(`${clean(name)} is bound to ${hosts.map(nameOf).join(', ')} and goes nowhere else.`);
  }
}
