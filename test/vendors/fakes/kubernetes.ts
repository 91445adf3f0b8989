// Secrets of a Kubernetes API server, by
// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/ and RFC 7386:
// media types of patches, validation of keys and sizes, immutable Secrets, errors as `Status`.
import { type Fake, type FakeAnswer, type FakeRequest, startFake } from './server.ts';

export interface KubernetesSecret {
  apiVersion: 'v1';
  kind: 'Secret';
  metadata: { name: string; namespace: string; labels?: Record<string, string>; resourceVersion: string };
  type: string;
  immutable?: boolean;
  data?: Record<string, string>;
}

export interface KubernetesFake extends Fake {
  token: string;
  namespaces: Set<string>;
  /** By `namespace/name`. */
  secrets: Map<string, KubernetesSecret>;
  /** Verbs that the token may not use. */
  denied: Set<string>;
  /** A path in front of the API, as of a proxy. */
  base: string;
  text(key: string, secret?: string): string | undefined;
  seed(name: string, texts: Record<string, string>, more?: Partial<KubernetesSecret>): void;
}

class KubernetesError extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string) {
    super(reason);
    this.status = status;
    this.reason = reason;
  }
}

const VERBS: Record<string, string> = { GET: 'get', PATCH: 'patch', POST: 'create' };

export async function startKubernetes(): Promise<KubernetesFake> {
  const fake = (await startFake((request): FakeAnswer => {
    try {
      return { status: request.method === 'POST' ? 201 : 200, body: api(fake, request) };
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      const { status, reason } = error;
      const body = {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `made up: ${request.text}`,
        reason,
        code: status,
      };
      return { status, body };
    }
  })) as KubernetesFake;
  return Object.assign(fake, {
    token: 'made.up.service-account-token',
    base: '',
    namespaces: new Set(['demo']),
    secrets: new Map(),
    denied: new Set<string>(),
    text(key: string, secret = 'demo/app-secrets') {
      const data = fake.secrets.get(secret)?.data?.[key];
      return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8');
    },
    seed(name: string, texts: Record<string, string>, more: Partial<KubernetesSecret> = {}) {
      const data = Object.fromEntries(
        Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
      );
      const metadata = { name, namespace: 'demo', labels: { team: 'theirs' }, resourceVersion: '1' };
      fake.secrets.set(`demo/${name}`, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        type: 'Opaque',
        data,
        ...more,
      });
    },
  });
}

function api(fake: KubernetesFake, { method, path, headers, json }: FakeRequest): object {
  if (headers.authorization !== `Bearer ${fake.token}`) throw new KubernetesError(401, 'Unauthorized');
  const [, namespace = '', name] =
    new RegExp(`^${fake.base}/api/v1/namespaces/([^/]+)/secrets(?:/([^/]+))?$`).exec(path) ?? [];
  const verb = VERBS[method];
  if (!namespace || !verb || (name === undefined) !== (verb === 'create'))
    throw new KubernetesError(404, 'NotFound');
  if (fake.denied.has(verb)) throw new KubernetesError(403, 'Forbidden');
  const there = fake.secrets.get(`${namespace}/${name}`);
  if (verb === 'create') return create(fake, namespace, headers['content-type'], json);
  if (!there) throw new KubernetesError(404, 'NotFound');
  if (verb === 'get') return there;
  if (headers['content-type'] !== 'application/merge-patch+json')
    throw new KubernetesError(415, 'UnsupportedMediaType');
  const patched = merge(there, json) as KubernetesSecret;
  if (there.immutable && JSON.stringify(patched) !== JSON.stringify(there))
    throw new KubernetesError(422, 'Invalid');
  validate(patched);
  patched.metadata = {
    ...patched.metadata,
    resourceVersion: String(Number(there.metadata.resourceVersion) + 1),
  };
  fake.secrets.set(`${namespace}/${name}`, patched);
  return patched;
}

// biome-ignore lint/suspicious/noExplicitAny: a body of any shape.
function create(fake: KubernetesFake, namespace: string, type: string | undefined, json: any): object {
  if (!type?.startsWith('application/json')) throw new KubernetesError(415, 'UnsupportedMediaType');
  if (json?.apiVersion !== 'v1' || json.kind !== 'Secret') throw new KubernetesError(400, 'BadRequest');
  if (json.metadata?.namespace !== undefined && json.metadata.namespace !== namespace)
    throw new KubernetesError(400, 'BadRequest');
  if (!fake.namespaces.has(namespace)) throw new KubernetesError(404, 'NotFound');
  const key = `${namespace}/${json.metadata?.name}`;
  if (fake.secrets.has(key)) throw new KubernetesError(409, 'AlreadyExists');
  validate(json);
  const secret = { ...json, metadata: { ...json.metadata, resourceVersion: '1' } };
  fake.secrets.set(key, secret);
  return secret;
}

/** RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = typeof target === 'object' && target !== null ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}

function validate({ data = {}, metadata: { name } }: KubernetesSecret) {
  if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)) throw new KubernetesError(422, 'Invalid');
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    if (!/^[-._a-zA-Z0-9]{1,253}$/.test(key) || key === '.' || key.startsWith('..'))
      throw new KubernetesError(422, 'Invalid');
    if (typeof value !== 'string' || Buffer.from(value, 'base64').toString('base64') !== value)
      throw new KubernetesError(400, 'BadRequest');
    size += Buffer.from(value, 'base64').length;
  }
  if (size > 1_048_576) throw new KubernetesError(422, 'Invalid');
}
