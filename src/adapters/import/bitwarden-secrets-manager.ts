// Bitwarden Secrets Manager: the output of `bws secret list` or `bws secret get`.
import { itemOf, oneOrMany, source } from './source';

export const bitwardenSecretsManager = source({
  source: 'bitwarden-secrets-manager',
  accepts: 'json',
  read: (data) => oneOrMany(data).map((secret) => itemOf(secret.need('key').text(), secret.get('value'))),
});
