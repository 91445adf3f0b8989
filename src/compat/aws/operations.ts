// The operations of AWS Secrets Manager, by name.
import { listSecrets } from './lists';
import { getRandomPassword } from './random-password';
import type { AwsCall } from './route';
import { secrets } from './secrets';
import { batchGetSecretValue, values } from './values';

const calls: Record<string, AwsCall> = {
  ...values,
  ...secrets,
  ListSecrets: listSecrets,
  GetRandomPassword: getRandomPassword,
};

/** The call of an operation; null for one that AWS does not have. BatchGetSecretValue has two forms. */
export function callOf(operation: string, members: Record<string, unknown>): AwsCall | null {
  if (operation !== 'BatchGetSecretValue')
    return Object.hasOwn(calls, operation) ? (calls[operation] as AwsCall) : null;
  return 'Filters' in members && !('SecretIdList' in members)
    ? batchGetSecretValue.batchOfFilters
    : batchGetSecretValue.batchOfIds;
}
