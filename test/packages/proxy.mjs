// A proxy in front of a real service that makes networks and services fail on purpose. Invariant: what it
// forwards reaches the service unchanged, so that whatever was done twice shows in the service.
import http from 'node:http';

/**
 * @typedef {object} Fault what happens to one request
 * @property {'refuse' | 'cut' | 'lose' | 'break' | 'hang'} [kind] `refuse` answers in place of the service;
 *   `cut` ends the connection before the service hears of it; `lose` lets the service answer, and ends the
 *   connection instead of passing it on; `break` passes half the body on; `hang` lets the service answer, and
 *   never passes it on
 * @property {number} [status] for `refuse`
 * @property {Record<string, string>} [headers] for `refuse`
 * @property {unknown} [body] for `refuse`
 * @property {number} [delay] milliseconds before anything happens
 * @property {(request: http.IncomingMessage) => boolean} [when] which requests it is for
 * @property {number} [times] how many; 1 by default
 *
 * @typedef {{ method: string, path: string, headers: http.IncomingHttpHeaders }} Seen
 */

/** @param {string} target the service's origin */
export async function startProxy(target) {
  /** @type {Fault[]} */
  let faults = [];
  /** @type {Seen[]} */
  const seen = [];
  let isDown = false;
  const server = http.createServer(async (request, response) => {
    if (isDown) return request.socket.destroy();
    const { method = 'GET', url = '/' } = request;
    seen.push({ method, path: url, headers: request.headers });
    const fault = faults.find(({ when = () => true }) => when(request));
    if (fault) {
      fault.times = (fault.times ?? 1) - 1;
      if (fault.times === 0) faults = faults.filter((each) => each !== fault);
    }
    if (fault?.delay) await new Promise((done) => setTimeout(done, fault.delay));
    if (fault?.kind === 'cut') return request.socket.destroy();
    if (fault?.kind === 'refuse') {
      response.writeHead(fault.status ?? 503, { 'Content-Type': 'application/json', ...fault.headers });
      return response.end(JSON.stringify(fault.body ?? {}));
    }
    forward(request, response, fault);
  });

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response @param {Fault} [fault] */
  function forward(request, response, fault) {
    const { method, url, headers } = request;
    const onward = http.request(new URL(url ?? '/', target), {
      method,
      headers: { ...headers, host: new URL(target).host },
      agent: false,
    });
    onward.on('error', () => request.socket.destroy());
    response.on('close', () => onward.destroy());
    onward.on('response', async (answer) => {
      if (fault?.kind === 'lose' || fault?.kind === 'hang' || fault?.kind === 'break') {
        const parts = [];
        for await (const part of answer) parts.push(part);
        if (fault.kind === 'hang') return;
        if (fault.kind === 'lose') return request.socket.destroy();
        const whole = Buffer.concat(parts);
        response.writeHead(answer.statusCode ?? 500, {
          ...answer.headers,
          'content-length': String(whole.length),
        });
        response.write(whole.subarray(0, whole.length / 2), () => request.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    request.pipe(onward);
  }

  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    /** Everything that came, in order. */
    seen,
    /** The next requests fail so. @param {...Fault} next */
    fail: (...next) => {
      faults.push(...next);
    },
    /** Whether nothing gets through; ends what is open. @param {boolean} down */
    down: (down) => {
      isDown = down;
      if (down) server.closeAllConnections();
    },
    /** Ends every connection once. */
    hangUp: () => server.closeAllConnections(),
    /** @param {string} method @param {string} [part] of the path */
    count: (method, part = '') =>
      seen.filter((each) => each.method === method && each.path.includes(part)).length,
    reset: () => {
      faults = [];
      seen.length = 0;
      isDown = false;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
