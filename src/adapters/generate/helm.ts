// Values for a Helm chart, under `secrets`.
import { verbatim } from '../names';
import { format, none, nul } from './format';
import { mapping } from './yaml';

export const helm = format({
  format: 'helm',
  filename: 'values.secrets.yaml',
  contentType: 'application/yaml',
  options: none,
  names: verbatim,
  refuses: nul,
  *render(entries) {
    yield entries.length ? 'secrets:\n' : 'secrets: {}\n';
    yield* mapping(entries, '  ');
  },
});
