// The top-level `secrets` of a Compose file: each is read from an environment variable of the same name, and
// the file contains no values.
import { kubernetesStyle } from '../names';
import { format, none } from './format';
import { quoted } from './yaml';

export const composeSecrets = format({
  format: 'compose-secrets',
  filename: 'compose.secrets.yaml',
  contentType: 'application/yaml',
  options: none,
  names: kubernetesStyle,
  valueless: true,
  *render(entries) {
    yield entries.length ? 'secrets:\n' : 'secrets: {}\n';
    for (const { key } of entries) yield `  ${quoted(key)}:\n    environment: ${quoted(key)}\n`;
  },
});
