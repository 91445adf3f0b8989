import { expect, it } from 'vitest';
import { kubernetes } from '../../../src/adapters/sync/kubernetes';
import { startKubernetes } from '../fakes/kubernetes.ts';
import { running, short, sync } from '../sync';
import { sdk } from './sdk';

const k8s = await sdk('@kubernetes/client-node');

const secrets: Record<string, string> = {
  ...Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`NAME_${i}`, `välue-${i}-$x`])),
  LINES: 'one\ntwo "three" ✓',
};

it.skipIf(!k8s)('sync: kubernetes and the Kubernetes client read the same values', async () => {
  const fake = await running(startKubernetes());
  const connection = new k8s.KubeConfig();
  connection.loadFromOptions({
    clusters: [{ name: 'c', server: fake.url, skipTLSVerify: true }],
    users: [{ name: 'u', token: fake.token }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  const api = connection.makeApiClient(k8s.CoreV1Api);
  const place = { namespace: 'demo', name: 'app-secrets' };
  const config = {
    apiServer: 'https://cluster.example',
    token: fake.token,
    namespace: 'demo',
    secretName: 'app-secrets',
  };
  const data = Object.fromEntries([['THEIRS', Buffer.from('theirs').toString('base64')]]);
  await api.createNamespacedSecret({
    namespace: 'demo',
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'app-secrets' }, data },
  });
  const first = await sync(kubernetes, config, fake, secrets);
  const read = async () => {
    const secret = await api.readNamespacedSecret(place);
    return Object.fromEntries(
      Object.entries(secret.data as Record<string, string>).map(([key, text]) => [
        key,
        Buffer.from(text, 'base64').toString(),
      ]),
    );
  };
  expect(await read()).toEqual({ ...secrets, THEIRS: 'theirs' });
  const second = await sync(kubernetes, config, fake, { ...secrets, NAME_0: 'new' }, { owned: first.owned });
  expect(short(second).filter((line) => !line.endsWith('unchanged'))).toEqual(['NAME_0 updated']);
  expect(await read()).toEqual({ ...secrets, NAME_0: 'new', THEIRS: 'theirs' });
});
