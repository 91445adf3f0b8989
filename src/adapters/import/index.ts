// The sources of imports. A new source is a file and a line here.

import { onePassword } from './1password';
import { awsSecretsManager } from './aws-secrets-manager';
import { awsSsm } from './aws-ssm';
import { azureKeyVault } from './azure-key-vault';
import { bitwarden } from './bitwarden';
import { bitwardenSecretsManager } from './bitwarden-secrets-manager';
import { conjur } from './conjur';
import { doppler } from './doppler';
import { dotenv } from './dotenv';
import { gcpSecretManager } from './gcp-secret-manager';
import { infisical } from './infisical';
import { keeper } from './keeper';
import type { Source } from './source';
import { svc } from './svc';
import { vault } from './vault';

export const sources = [
  ...[vault, awsSecretsManager, awsSsm, gcpSecretManager, azureKeyVault, doppler, infisical, onePassword],
  ...[bitwardenSecretsManager, bitwarden, keeper, conjur, dotenv, svc],
] as const satisfies readonly Source[];

export type SourceName = (typeof sources)[number]['source'];

export const sourceOf = (name: SourceName): Source => sources.find(({ source }) => source === name) as Source;
