// A Kubernetes Secret:
// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/. One merge
// patch of `data` sets and deletes keys and leaves all others unchanged; a missing Secret is created.
import { z } from '@hono/zod-openapi';
import { fromBase64, fromUtf8, toBase64, utf8 } from '../../crypto/bytes';
import {
  bytesOf,
  KB,
  type Mapped,
  type Problem,
  syncAdapter,
  TargetError,
  Token,
  tooLarge,
  Url,
} from './adapter';
import { checked } from './names';
import { allWritten } from './parts';
import { documented, path, shaped } from './shapes';

const MOST = 1024 * KB;

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

const Config = z.strictObject({
  apiServer: Url.regex(/^[^?#]*$/, 'must be the URL of an API server, without query or fragment').regex(
    /^https?:\/\/[^/@]+(\/|$)/,
    'must not contain a user name or password',
  ),
  token: Token,
  namespace: z.string().regex(LABEL, 'must be a DNS label'),
  secretName: z.string().regex(SUBDOMAIN, 'must be a DNS subdomain name'),
});

const Secret = z.object({
  kind: z.literal('Secret'),
  data: z.record(z.string(), z.string().nullable()).nullish(),
});

/** https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#StatusReason */
const REASONS = [
  ...['Unauthorized', 'Forbidden', 'NotFound', 'AlreadyExists', 'Conflict', 'Gone', 'Invalid', 'BadRequest'],
  ...['MethodNotAllowed', 'NotAcceptable', 'RequestEntityTooLarge', 'UnsupportedMediaType', 'Expired'],
  ...['ServerTimeout', 'Timeout', 'TooManyRequests', 'InternalError', 'ServiceUnavailable', 'StoreReadError'],
];

const NO_NAMESPACE: Problem = { code: 'TARGET_NOT_FOUND', message: 'The namespace does not exist.' };
const FULL: Problem = {
  code: 'VALUE_TOO_LARGE',
  message: `All values in the Secret would have more than ${MOST} bytes.`,
};

export const kubernetes = syncAdapter({
  platform: 'kubernetes',
  config: Config,
  credentials: ['token'],
  urls: ({ apiServer }) => [{ field: 'apiServer', url: apiServer }],
  // The ports of API servers: https://kubernetes.io/docs/reference/networking/ports-and-protocols/
  ports: [6443],
  name: (name): Mapped => checked(name.replaceAll('/', '_'), 253, /^\.(\.|$)/),
  value: (value) => tooLarge(value, MOST),
  redeploy: true,
  vendor: ({ token }) => ({
    headers: { Authorization: `Bearer ${token}` },
    code: (body) => documented(REASONS, (body as { reason?: unknown } | undefined | null)?.reason),
  }),
  open(client, { apiServer, namespace, secretName }) {
    const secrets = `${apiServer.replace(/\/+$/, '')}/api/v1/namespaces/${path(namespace)}/secrets`;
    const url = `${secrets}/${path(secretName)}`;
    const patch = (data: object, expects: number[]) =>
      client.call({
        method: 'PATCH',
        url,
        headers: { 'Content-Type': 'application/merge-patch+json' },
        json: { data },
        expects,
      });
    const create = (data: object) => {
      const metadata = { name: secretName, namespace };
      const json = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
      return client.call({ method: 'POST', url: secrets, json, expects: [404, 409] });
    };
    return {
      async list() {
        const { status, body } = await client.call({ method: 'GET', url, expects: [404] });
        if (status === 404) return [];
        // A key without bytes may be null in JSON.
        return Object.entries(shaped(Secret, body).data ?? {}).map(([target, data]) => ({
          target,
          value: textOf(data ?? ''),
        }));
      },
      async write(puts, removals) {
        if (puts.reduce((sum, { value }) => sum + bytesOf(value), 0) > MOST) {
          if (removals.length)
            await patch(Object.fromEntries(removals.map(({ target }) => [target, null])), [404]);
          const results = allWritten([], removals);
          for (const { target } of puts) results.set(target, { action: 'failed', ...FULL });
          return results;
        }
        const data = Object.fromEntries(puts.map(({ target, value }) => [target, toBase64(utf8(value))]));
        const changes = { ...data, ...Object.fromEntries(removals.map(({ target }) => [target, null])) };
        const { status } = await patch(changes, [404]);
        if (status === 404 && puts.length) {
          const created = await create(data);
          if (created.status === 404) throw new TargetError(NO_NAMESPACE, 'sync');
          if (created.status === 409) await patch(changes, []);
        }
        return allWritten(puts, removals);
      },
    };
  },
});

function textOf(data: string): string | null {
  const bytes = fromBase64(data);
  return bytes && fromUtf8(bytes);
}
