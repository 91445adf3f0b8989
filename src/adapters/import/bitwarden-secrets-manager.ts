// Bitwarden Secrets Manager: what `bws secret list` or `bws secret get` prints.
import { itemOf, oneOrMany, source } from './source';

export const bitwardenSecretsManager = source({
  source: 'bitwarden-secrets-manager',
  accepts: 'json',
  read: (data) => oneOrMany(data).map((secret) => itemOf(secret.need('key').text(), secret.get('value'))),
});
