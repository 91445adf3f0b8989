// The servers of one run of svc proxy, all on 127.0.0.1: a port for each upstream, and an HTTPS proxy that
// serves the hosts of upstreams itself and tunnels the rest. Invariant: each request is judged before the
// vault is asked anything.
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { staysBelow } from '@secrets-vault/client';
import { hasKey, hasProxyKey, isOfPage } from './access.ts';
import type { Authority } from './authority.ts';
import { forward, type Gateway, type Incoming, refuse, upgrade } from './forward.ts';
import { cut, placeOf, type Target } from './targets.ts';

const ADDRESS = '127.0.0.1';

export interface Running {
  /** The address of the proxy, without the token. */
  proxy: string;
  /** The address of each upstream, by its name. */
  urls: Map<string, string>;
  close(): void;
}

interface Refused {
  status: number;
  code: string;
  message: string;
}

const forbidden = (message: string): Refused => ({ status: 403, code: 'FORBIDDEN', message });
const OF_PAGE = forbidden('svc proxy serves programs, and this request comes from a web page.');

const isHost = (given: string | undefined, host: string, port: number, isDefault = false): boolean => {
  const lower = given?.toLowerCase();
  const name = net.isIPv6(host) ? `[${host}]` : host;
  return lower === `${name}:${port}` || (isDefault && lower === name);
};

/** Judges a request to the port of an upstream. */
function judged(request: http.IncomingMessage, port: number, token: string): Refused | null {
  const { headers } = request;
  // safety: proxy-page
  if (isOfPage(headers)) return OF_PAGE;
  // A page can make its own name resolve to this machine.
  // safety: proxy-host
  if (!isHost(headers.host, ADDRESS, port) && !isHost(headers.host, 'localhost', port))
    return forbidden('The request is for another host than this port.');
  // safety: proxy-token
  if (!hasKey(headers, token))
    return forbidden('The request does not bring the key that svc proxy gave to its program.');
  return null;
}

const NOT_ALLOWED = { status: 403, code: 'USE_NOT_ALLOWED' } as const;

/** Refuses a path that may be read as another one. */
function checked(found: Refused | Omit<Incoming, 'request'>): typeof found {
  // safety: proxy-path
  if ('path' in found && !(found.path.startsWith('/') && staysBelow(found.path)))
    return { ...NOT_ALLOWED, message: 'This path may be read as another one, and is not sent.' };
  return found;
}

/** Answers requests by `find`, which says what one is for, or why it is refused. */
function serverOf(
  find: (request: http.IncomingMessage) => Refused | Omit<Incoming, 'request'>,
  gateway: Gateway,
): http.Server {
  // A request may take as long as its upload does.
  const server = http.createServer({ requestTimeout: 0 }, (request, response) => {
    const found = checked(find(request));
    if ('status' in found) return refuse(response, found.status, found.code, found.message);
    void forward({ request, ...found }, response, gateway);
  });
  server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    const found = checked(find(request));
    if ('status' in found || request.headers.upgrade?.toLowerCase() !== 'websocket')
      return socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    upgrade({ request, ...found }, socket, head, gateway).catch(() => socket.destroy());
  });
  return server;
}

const listening = (server: http.Server): Promise<number> =>
  new Promise((done, fail) => {
    server.once('error', fail).listen(0, ADDRESS, () => done((server.address() as AddressInfo).port));
  });

/** Starts all servers. */
export async function startProxy(
  targets: readonly Target[],
  { gateway, authority, token }: { gateway: Gateway; authority: Authority; token: string },
): Promise<Running> {
  const servers: http.Server[] = [];
  const sockets = new Set<Duplex>();
  const track = <Socket extends Duplex>(socket: Socket): Socket => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // Node.js gives a socket without a listener with each upgrade and CONNECT, and would end the process.
    // safety: proxy-broken-off
    socket.on('error', () => socket.destroy());
    return socket;
  };
  const urls = new Map<string, string>();
  for (const { name } of targets) {
    let port = 0;
    const server = serverOf((request) => {
      const refused = judged(request, port, token);
      if (refused) return refused;
      return { upstream: name, path: request.url ?? '/', own: `http://${ADDRESS}:${port}` };
    }, gateway);
    port = await listening(server);
    servers.push(server);
    urls.set(name, `http://${ADDRESS}:${port}`);
  }
  const proxy = proxyServer(targets, { gateway, authority, token, track });
  const port = await listening(proxy);
  servers.push(proxy);
  for (const server of servers) server.on('connection', track);
  return {
    proxy: `${ADDRESS}:${port}`,
    urls,
    close: () => {
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Proxying {
  gateway: Gateway;
  authority: Authority;
  token: string;
  track<Socket extends Duplex>(socket: Socket): Socket;
}

function proxyServer(
  targets: readonly Target[],
  { gateway, authority, token, track }: Proxying,
): http.Server {
  /** What a connection within a tunnel is for. */
  const places = new WeakMap<object, Target[]>();
  const inner = serverOf((request) => {
    const here = places.get(request.socket) ?? [];
    const [{ host = '', port = 0 } = {}] = here;
    const { headers, url = '/' } = request;
    if (isOfPage(headers)) return OF_PAGE;
    // safety: proxy-inner-host
    if (!isHost(headers.host, host, port, port === 443))
      return forbidden('The request is for another host than its tunnel.');
    const found = cut(here, url);
    if (!found) return { ...NOT_ALLOWED, message: 'No upstream has this path below its base URL.' };
    const { name, base_url } = found.target;
    const origin = `https://${headers.host}${new URL(base_url).pathname.replace(/\/$/, '')}`;
    return { upstream: name, path: found.rest.startsWith('/') ? found.rest : `/${found.rest}`, own: origin };
  }, gateway);
  const proxy = http.createServer((_, response) =>
    refuse(response, 403, 'FORBIDDEN', 'This port takes CONNECT alone, for https.'),
  );
  proxy.on('connect', (request: http.IncomingMessage, socket: net.Socket, head: Buffer) => {
    // safety: proxy-connect-token
    if (isOfPage(request.headers) || !hasProxyKey(request.headers, token)) return refused(socket);
    const [, name = '', digits = ''] =
      /^(\[[0-9a-f:.]+\]|[^:[\]@/?#\s]+):(\d{1,5})$/i.exec(request.url ?? '') ?? [];
    const at = { host: name.replace(/^\[|\]$/g, '').toLowerCase(), port: Number(digits) };
    if (!at.host || at.port < 1 || at.port > 65_535) return refused(socket, '400 Bad Request');
    const here = targets.filter((one) => placeOf(one) === placeOf(at));
    if (here.length === 0) return tunnel(at, socket, head, track);
    void serveWithin(here, socket, head);
  });

  async function serveWithin(here: Target[], socket: net.Socket, head: Buffer): Promise<void> {
    const secureContext = await authority.contextOf((here[0] as Target).host);
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length) socket.unshift(head);
    const secure = new tls.TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
    places.set(track(secure), here);
    secure.on('error', () => socket.destroy());
    inner.emit('connection', secure);
  }
  return proxy;
}

const refused = (socket: net.Socket, what = '403 Forbidden'): void => {
  socket.end(`HTTP/1.1 ${what}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
};

/** Passes bytes to any other host, as they are. */
function tunnel(
  { host, port }: { host: string; port: number },
  socket: net.Socket,
  head: Buffer,
  track: Proxying['track'],
): void {
  const other = track(net.connect({ host, port }));
  let isOpen = false;
  other.once('connect', () => {
    isOpen = true;
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length) other.write(head);
    socket.pipe(other);
    other.pipe(socket);
  });
  other.once('error', () => {
    if (isOpen) socket.destroy();
    else refused(socket, '502 Bad Gateway');
  });
  socket.once('close', () => other.destroy());
  other.once('close', () => isOpen && socket.destroySoon());
}
