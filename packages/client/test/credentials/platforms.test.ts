// OIDC tokens of platforms: requested as each platform documents, from a stand-in that records the requests.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ConnectionError, CredentialError } from '../../src/api/errors.js';
import { platformToken } from '../../src/credentials/ci.js';
import { thrown } from '../support.ts';

interface Asked {
  line: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

/**
 * A platform at a free port or a socket, and its requests. It sends the next of `replies`, or the last again;
 * status 0 closes the connection.
 */
async function platform(socket: string | null, ...replies: [status: number, body: string][]) {
  const asked: Asked[] = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const [status, text] = replies[Math.min(asked.length, replies.length - 1)] as [number, string];
    asked.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
    if (status === 0) return request.socket.destroy();
    response.writeHead(status, status === 302 ? { Location: 'http://127.0.0.1:1/' } : {}).end(text);
  });
  await new Promise<void>((done) =>
    socket === null ? server.listen(0, '127.0.0.1', done) : server.listen(socket, done),
  );
  onTestFinished(() => void server.close());
  return { asked, host: socket ?? `127.0.0.1:${(server.address() as { port: number }).port}` };
}

const inScratch = (name: string) => path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'token-')), name);
const AUDIENCE = 'https://vault.example.com';
const encoded = encodeURIComponent(AUDIENCE);

it('platform: a token in a variable or a file is read from there', async () => {
  const file = inScratch('token');
  fs.writeFileSync(file, 'from-kubernetes\n');
  for (const [variables, expected] of [
    [{ SVC_ID_TOKEN: 'from-gitlab', GITLAB_CI: 'true' }, 'from-gitlab'],
    [{ SVC_ID_TOKEN_FILE: file }, 'from-kubernetes'],
    [{ CIRCLE_OIDC_TOKEN_V2: 'from-circleci', CIRCLE_OIDC_TOKEN: 'older' }, 'from-circleci'],
    [{ CIRCLE_OIDC_TOKEN: 'older' }, 'older'],
    [{ BITBUCKET_STEP_OIDC_TOKEN: 'from-bitbucket' }, 'from-bitbucket'],
    [{ VERCEL_OIDC_TOKEN: 'from-vercel' }, 'from-vercel'],
  ] as [Record<string, string>, string][])
    expect(await platformToken(AUDIENCE, variables)).toBe(expected);
});

it('platform: GitHub Actions issues a token for the audience', async () => {
  const { asked, host } = await platform(null, [200, JSON.stringify({ count: 1, value: 'from-github' })]);
  const url = `http://${host}/token?api-version=2.0`;
  const env = {
    GITHUB_ACTIONS: 'true',
    ACTIONS_ID_TOKEN_REQUEST_URL: url,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner',
  };
  expect(await platformToken(AUDIENCE, env)).toBe('from-github');
  expect(asked).toMatchObject([
    { line: `GET /token?api-version=2.0&audience=${encoded}`, headers: { authorization: 'bearer runner' } },
  ]);
});

it('platform: Azure Pipelines issues a token for the access token of the job', async () => {
  const { asked, host } = await platform(null, [200, JSON.stringify({ oidcToken: 'from-azure' })]);
  const at = '/acme/1b1f8e1c/_apis/distributedtask/hubs/build/plans/2c/jobs/3d/oidctoken';
  const env = { TF_BUILD: 'True', SYSTEM_OIDCREQUESTURI: `http://${host}${at}`, SYSTEM_ACCESSTOKEN: 'job' };
  expect(await platformToken(AUDIENCE, env)).toBe('from-azure');
  const headers = { authorization: 'Bearer job', 'x-tfs-fedauthredirect': 'Suppress', 'content-length': '0' };
  expect(asked).toMatchObject([{ line: `POST ${at}?api-version=7.1-preview.1`, headers, body: '' }]);
});

it('platform: a Fly Machine requests the token on the socket', async () => {
  const { asked, host } = await platform(inScratch('api'), [200, 'from-fly\n']);
  expect(await platformToken(AUDIENCE, { FLY_APP_NAME: 'api' }, host)).toBe('from-fly');
  expect(asked).toMatchObject([{ line: 'POST /v1/tokens/oidc', body: JSON.stringify({ aud: AUDIENCE }) }]);
});

it('platform: the metadata server of Google Cloud issues a token for the audience', async () => {
  const { asked, host } = await platform(null, [200, 'from-google']);
  for (const env of [{ K_SERVICE: 'app' }, { CLOUD_RUN_JOB: 'app' }, { GAE_SERVICE: 'app' }, {}])
    expect(await platformToken(AUDIENCE, { ...env, GCE_METADATA_HOST: host })).toBe('from-google');
  const line = `GET /computeMetadata/v1/instance/service-accounts/default/identity?audience=${encoded}`;
  expect(asked).toMatchObject(Array(4).fill({ line, headers: { 'metadata-flavor': 'Google' } }));
});

it('platform: a Vercel function uses the token of its request instead of the token of the build', async () => {
  const context = Symbol.for('@vercel/request-context');
  const headers = { 'x-vercel-oidc-token': 'from-request' };
  vi.stubGlobal(context as unknown as string, { get: () => ({ headers }) });
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(await platformToken(AUDIENCE, { VERCEL_OIDC_TOKEN: 'from-build' })).toBe('from-request');
});

it('platform: without a token, the error says what to do', async () => {
  const { host } = await platform(null, [403, 'no']);
  const SYSTEM_OIDCREQUESTURI = `http://${host}/`;
  for (const [variables, says] of [
    [{}, 'SVC_ID_TOKEN'],
    [{ GITHUB_ACTIONS: 'true' }, 'id-token: write'],
    [{ GITLAB_CI: 'true' }, 'id_tokens'],
    [{ TF_BUILD: 'True', SYSTEM_OIDCREQUESTURI }, 'SYSTEM_ACCESSTOKEN: $(System.AccessToken)'],
    [{ TF_BUILD: 'True', SYSTEM_OIDCREQUESTURI, SYSTEM_ACCESSTOKEN: 'job' }, 'status 403'],
    [{ SVC_ID_TOKEN_FILE: inScratch('none') }, 'SVC_ID_TOKEN_FILE'],
  ] as [Record<string, string>, string][]) {
    const error = await thrown(platformToken(AUDIENCE, variables));
    expect(error).toBeInstanceOf(CredentialError);
    expect(error).toMatchObject({ code: 'NO_CREDENTIAL', message: expect.stringContaining(says) });
  }
});

it('platform: a request that fails is repeated, and is an outage if it fails again', async () => {
  const late = await platform(inScratch('late'), [0, ''], [503, 'later'], [200, 'at-last']);
  expect(await platformToken(AUDIENCE, { FLY_APP_NAME: 'api' }, late.host)).toBe('at-last');
  const error = await thrown(platformToken(AUDIENCE, { FLY_APP_NAME: 'api' }, inScratch('none')));
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ code: 'PLATFORM_UNREACHABLE', message: expect.stringContaining('Fly') });
});

it('platform: a redirect is not followed, so that the access token goes to no other address', async () => {
  const { asked, host } = await platform(null, [302, '']);
  const env = { SYSTEM_OIDCREQUESTURI: `http://${host}/`, SYSTEM_ACCESSTOKEN: 'job' };
  expect(await thrown(platformToken(AUDIENCE, env))).toMatchObject({ code: 'NO_CREDENTIAL' });
  expect(asked).toHaveLength(1);
});
