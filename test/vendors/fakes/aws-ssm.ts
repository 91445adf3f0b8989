// AWS Systems Manager Parameter Store, by
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html: versions without
// idempotency tokens, tiers that go up alone, types that never change, listings with pages that may be empty.
import { AwsError, type AwsFake, input, startAws } from './aws.ts';

export interface AwsParameter {
  Name: string;
  Type: 'String' | 'StringList' | 'SecureString';
  Value: string;
  Version: number;
  tier: 'Standard' | 'Advanced';
}

export interface AwsSsmFake extends AwsFake {
  parameters: Map<string, AwsParameter>;
  seed(Name: string, Value: string, more?: Partial<AwsParameter>): void;
}

const PAGE = 3;
const SEGMENTS = /^(\/[A-Za-z0-9_.-]+)+$/;
const shown = ({ Name, Type, Value, Version }: AwsParameter, WithDecryption: boolean) => ({
  Name,
  Type,
  Version,
  ARN: `arn:aws:ssm:eu-west-1:123456789012:parameter${Name}`,
  DataType: 'text',
  LastModifiedDate: 1,
  Value: Type === 'SecureString' && !WithDecryption ? `encrypted:${Value.length}` : Value,
});

export async function startAwsSsm(): Promise<AwsSsmFake> {
  const parameters = new Map<string, AwsParameter>();
  const fake = (await startAws(
    { name: 'ssm', target: 'AmazonSSM', field: 'message', reads: ['GetParameter', 'GetParametersByPath'] },
    {
      PutParameter(given) {
        input(given, {
          Name: 'string!',
          Value: 'string!',
          Type: 'string',
          Overwrite: 'boolean',
          Tier: 'string',
        });
        const { Name, Value, Type, Overwrite = false, Tier = 'Standard' } = given;
        if (!SEGMENTS.test(Name) || Name.length > 1011 || /^\/(aws|ssm)/i.test(Name))
          throw new AwsError('ValidationException');
        if (Name.split('/').length > 16) throw new AwsError('HierarchyLevelLimitExceededException');
        const there = parameters.get(Name);
        if (there && !Overwrite) throw new AwsError('ParameterAlreadyExists');
        if (!there && !Type) throw new AwsError('ValidationException');
        if (there && Type && Type !== there.Type) throw new AwsError('HierarchyTypeMismatchException');
        if (there?.tier === 'Advanced' && Tier !== 'Advanced') throw new AwsError('ValidationException');
        const most = Tier === 'Advanced' ? 8192 : 4096;
        if (Value === '' || Buffer.byteLength(Value) > most || /\{\{.*\}\}/s.test(Value))
          throw new AwsError('ValidationException');
        const Version = (there?.Version ?? 0) + 1;
        parameters.set(Name, { Name, Value, Type: Type ?? there?.Type, Version, tier: Tier });
        return { Version, Tier };
      },
      GetParameter(given) {
        input(given, { Name: 'string!', WithDecryption: 'boolean' });
        const there = parameters.get(given.Name);
        if (!there) throw new AwsError('ParameterNotFound');
        return { Parameter: shown(there, given.WithDecryption) };
      },
      GetParametersByPath(given) {
        input(given, {
          Path: 'string!',
          Recursive: 'boolean',
          WithDecryption: 'boolean',
          MaxResults: 'number',
          NextToken: 'string',
        });
        if (given.MaxResults > 10 || given.MaxResults < 1 || !/^\/$|^(\/[A-Za-z0-9_.-]+)+$/.test(given.Path))
          throw new AwsError('ValidationException');
        const below = given.Path === '/' ? '/' : `${given.Path}/`;
        const all = [...parameters.values()].filter(({ Name }) => Name.startsWith(below));
        // The first page is empty, and names a next one.
        const start =
          given.NextToken === undefined ? -PAGE : Number(/^next-(\d+)$/.exec(given.NextToken)?.[1]);
        if (Number.isNaN(start)) throw new AwsError('InvalidNextToken');
        const Parameters =
          start < 0 ? [] : all.slice(start, start + PAGE).map((one) => shown(one, given.WithDecryption));
        return { Parameters, ...(start + PAGE < all.length && { NextToken: `next-${start + PAGE}` }) };
      },
      DeleteParameters(given) {
        input(given, { Names: 'array!' });
        if (given.Names.length < 1 || given.Names.length > 10) throw new AwsError('ValidationException');
        const DeletedParameters = given.Names.filter((name: string) => parameters.delete(name));
        return {
          DeletedParameters,
          InvalidParameters: given.Names.filter((name: string) => !DeletedParameters.includes(name)),
        };
      },
    },
  )) as AwsSsmFake;
  const seed = (Name: string, Value: string, more: Partial<AwsParameter> = {}) =>
    parameters.set(Name, { Name, Value, Type: 'SecureString', Version: 1, tier: 'Standard', ...more });
  return Object.assign(fake, { parameters, seed });
}
