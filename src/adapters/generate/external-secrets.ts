// An ExternalSecret of the External Secrets Operator: references by name, without values.
import { z } from '@hono/zod-openapi';
import { kubernetesStyle } from '../names';
import { format, KubernetesName, kubernetesOptions } from './format';
import { quoted } from './yaml';

/** A duration in Go syntax, such as 1h or 1h30m; 0 fetches once. */
const Duration = z
  .string()
  .max(32)
  .regex(/^(0|(\d{1,9}(\.\d{1,9})?(h|m|s|ms))+)$/, 'must be a duration such as 1h, 30m or 1h30m');

export const externalSecrets = format({
  format: 'external-secrets',
  filename: 'external-secret.yaml',
  contentType: 'application/yaml',
  options: z.strictObject({
    ...kubernetesOptions,
    store: KubernetesName.default('svc'),
    storeKind: z.enum(['SecretStore', 'ClusterSecretStore']).default('SecretStore'),
    refreshInterval: Duration.default('1h'),
  }),
  names: kubernetesStyle,
  valueless: true,
  *render(entries, { name, namespace, store, storeKind, refreshInterval }) {
    yield 'apiVersion: "external-secrets.io/v1"\nkind: "ExternalSecret"\nmetadata:\n';
    yield `  name: ${quoted(name)}\n`;
    if (namespace !== undefined) yield `  namespace: ${quoted(namespace)}\n`;
    yield `spec:\n  refreshInterval: ${quoted(refreshInterval)}\n`;
    yield `  secretStoreRef:\n    name: ${quoted(store)}\n    kind: ${quoted(storeKind)}\n`;
    yield `  target:\n    name: ${quoted(name)}\n`;
    yield entries.length ? '  data:\n' : '  data: []\n';
    for (const entry of entries)
      yield `    - secretKey: ${quoted(entry.key)}\n      remoteRef:\n        key: ${quoted(entry.name)}\n`;
  },
});
