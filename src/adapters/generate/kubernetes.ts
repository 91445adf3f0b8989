// A Kubernetes Secret. Values are base64, so the manifest can contain any value without escaping.
import { z } from '@hono/zod-openapi';
import { utf8 } from '../../crypto/bytes';
import { kubernetesStyle } from '../names';
import { format, kubernetesOptions } from './format';
import { quoted } from './yaml';

/** The most bytes of keys and decoded values in one Secret. */
const MOST_BYTES = 1024 ** 2;

/** Standard base64 of the UTF-8 bytes of a text. */
function base64(text: string): string {
  let bytes = '';
  for (const byte of utf8(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

export const kubernetes = format({
  format: 'kubernetes',
  filename: 'secret.yaml',
  contentType: 'application/yaml',
  options: z.strictObject(kubernetesOptions),
  names: kubernetesStyle,
  refusesAll(entries) {
    const bytes = entries.reduce((sum, { key, value }) => sum + key.length + utf8(value).length, 0);
    if (bytes <= MOST_BYTES) return [];
    return entries.map(({ name }) => ({
      path: name,
      message: 'is among the values that together exceed the 1 MiB limit of a Secret',
    }));
  },
  *render(entries, { name, namespace }) {
    yield 'apiVersion: "v1"\nkind: "Secret"\nmetadata:\n';
    yield `  name: ${quoted(name)}\n`;
    if (namespace !== undefined) yield `  namespace: ${quoted(namespace)}\n`;
    yield 'type: "Opaque"\n';
    yield entries.length ? 'data:\n' : 'data: {}\n';
    for (const { key, value } of entries) yield `  ${quoted(key)}: "${base64(value)}"\n`;
  },
});
