// The platforms that secrets are written to. A new one is a file, a name in ../platforms.ts and a line here.
import type { SyncPlatform } from '../platforms';
import type { SyncAdapter } from './adapter';
import { awsSecretsManager } from './aws-secrets-manager';
import { awsSsm } from './aws-ssm';
import { azureKeyVault } from './azure-key-vault';
import { circleci } from './circleci';
import { gcpSecretManager } from './gcp-secret-manager';
import { heroku } from './heroku';
import { kubernetes } from './kubernetes';

const list = [heroku, circleci, awsSecretsManager, awsSsm, gcpSecretManager, azureKeyVault, kubernetes];

export const syncAdapters = Object.fromEntries(list.map((each) => [each.platform, each])) as Record<SyncPlatform, SyncAdapter>;
