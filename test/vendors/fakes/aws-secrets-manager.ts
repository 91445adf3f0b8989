// AWS Secrets Manager, by https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_Operations.html:
// versions with idempotency tokens, names that stay taken while a secret is scheduled for deletion, pages
// that may be short.
import { AwsError, type AwsFake, input, startAws } from './aws.ts';

export interface AwsSecret {
  name: string;
  /** Versions, oldest first. */
  versions: { token: string; text: string | null; binary: string | null }[];
  current: string | null;
  deleted: boolean;
  recoveryDays: number | null;
  description: string;
}

export interface AwsSecretsManagerFake extends AwsFake {
  secrets: Map<string, AwsSecret>;
  /** The current text of a secret that is not being deleted. */
  text(name: string): string | null;
  /** Puts a secret there as somebody else would. */
  seed(name: string, text: string | null, more?: Partial<AwsSecret>): void;
}

const PAGE = 3;
const arn = (name: string) => `arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-a1b2c3`;

export async function startAwsSecretsManager(): Promise<AwsSecretsManagerFake> {
  const secrets = new Map<string, AwsSecret>();
  const find = (name: string): AwsSecret => {
    const secret = secrets.get(name);
    if (!secret) throw new AwsError('ResourceNotFoundException');
    return secret;
  };
  const usable = (name: string): AwsSecret => {
    const secret = find(name);
    if (secret.deleted) throw new AwsError('InvalidRequestException');
    return secret;
  };
  const store = (secret: AwsSecret, text: string, token: string): string[] => {
    const size = Buffer.byteLength(text);
    if (size < 1 || size > 65_536) throw new AwsError('ValidationException');
    if (token.length < 32 || token.length > 64) throw new AwsError('ValidationException');
    const same = secret.versions.find((version) => version.token === token);
    // A repeat is no new version, and does not become current again.
    if (same && same.text !== text) throw new AwsError('ResourceExistsException');
    if (same) return secret.current === token ? ['AWSCURRENT'] : [];
    secret.versions.push({ token, text, binary: null });
    secret.current = token;
    return ['AWSCURRENT'];
  };
  const fake = (await startAws(
    {
      name: 'secretsmanager',
      target: 'secretsmanager',
      field: 'Message',
      reads: ['ListSecrets', 'GetSecretValue'],
    },
    {
      CreateSecret(given) {
        input(given, { Name: 'string!', SecretString: 'string!', ClientRequestToken: 'string!' });
        const { Name, SecretString, ClientRequestToken } = given;
        if (!/^[A-Za-z0-9/_+=.@-]{1,512}$/.test(Name)) throw new AwsError('ValidationException');
        const there = secrets.get(Name);
        if (there?.deleted) throw new AwsError('InvalidRequestException');
        if (
          there &&
          !there.versions.some(({ token, text }) => token === ClientRequestToken && text === SecretString)
        )
          throw new AwsError('ResourceExistsException');
        const secret = there ?? empty(Name);
        store(secret, SecretString, ClientRequestToken);
        secrets.set(Name, secret);
        return { ARN: arn(Name), Name, VersionId: ClientRequestToken };
      },
      PutSecretValue(given) {
        input(given, { SecretId: 'string!', SecretString: 'string!', ClientRequestToken: 'string!' });
        const { SecretId, SecretString, ClientRequestToken } = given;
        const VersionStages = store(usable(SecretId), SecretString, ClientRequestToken);
        return { ARN: arn(SecretId), Name: SecretId, VersionId: ClientRequestToken, VersionStages };
      },
      GetSecretValue(given) {
        input(given, { SecretId: 'string!', VersionId: 'string', VersionStage: 'string' });
        const secret = usable(given.SecretId);
        const version = secret.versions.find(({ token }) => token === secret.current);
        if (!version) throw new AwsError('ResourceNotFoundException');
        const content =
          version.text === null ? { SecretBinary: version.binary } : { SecretString: version.text };
        return {
          ARN: arn(secret.name),
          Name: secret.name,
          VersionId: version.token,
          VersionStages: ['AWSCURRENT'],
          CreatedDate: 1,
          ...content,
        };
      },
      ListSecrets(given) {
        input(given, {
          MaxResults: 'number',
          NextToken: 'string',
          Filters: 'array',
          IncludePlannedDeletion: 'boolean',
        });
        if (given.MaxResults !== undefined && (given.MaxResults < 1 || given.MaxResults > 100))
          throw new AwsError('InvalidParameterException');
        let all = [...secrets.values()].filter(({ deleted }) => !deleted || given.IncludePlannedDeletion);
        for (const filter of given.Filters ?? []) {
          input(filter, { Key: 'string!', Values: 'array!' });
          if (filter.Key !== 'name' || filter.Values.some((value: string) => value === ''))
            throw new AwsError('InvalidParameterException');
          all = all.filter(({ name }) => filter.Values.some((value: string) => name.startsWith(value)));
        }
        const start = given.NextToken === undefined ? 0 : Number(/^next-(\d+)$/.exec(given.NextToken)?.[1]);
        if (Number.isNaN(start)) throw new AwsError('InvalidNextTokenException');
        const SecretList = all
          .slice(start, start + PAGE)
          .map(({ name, description }) => ({ ARN: arn(name), Name: name, Description: description }));
        return { SecretList, ...(start + PAGE < all.length && { NextToken: `next-${start + PAGE}` }) };
      },
      DeleteSecret(given) {
        input(given, {
          SecretId: 'string!',
          RecoveryWindowInDays: 'number',
          ForceDeleteWithoutRecovery: 'boolean',
        });
        const secret = usable(given.SecretId);
        const days = given.RecoveryWindowInDays ?? 30;
        if (days < 7 || days > 30) throw new AwsError('InvalidParameterException');
        if (given.ForceDeleteWithoutRecovery) secrets.delete(secret.name);
        Object.assign(secret, { deleted: true, recoveryDays: days });
        return { ARN: arn(secret.name), Name: secret.name, DeletionDate: 1 };
      },
      RestoreSecret(given) {
        input(given, { SecretId: 'string!' });
        Object.assign(find(given.SecretId), { deleted: false, recoveryDays: null });
        return { ARN: arn(given.SecretId), Name: given.SecretId };
      },
    },
  )) as AwsSecretsManagerFake;
  return Object.assign(fake, {
    secrets,
    text(name: string) {
      const secret = secrets.get(name);
      return secret && !secret.deleted
        ? (secret.versions.find(({ token }) => token === secret.current)?.text ?? null)
        : null;
    },
    seed(name: string, text: string | null, more: Partial<AwsSecret> = {}) {
      const version = { token: `theirs-${'0'.repeat(30)}`, text, binary: text === null ? 'AAEC' : null };
      secrets.set(name, {
        ...empty(name),
        versions: [version],
        current: version.token,
        description: 'theirs',
        ...more,
      });
    },
  });
}

const empty = (name: string): AwsSecret => ({
  name,
  versions: [],
  current: null,
  deleted: false,
  recoveryDays: null,
  description: '',
});
