// AWS Systems Manager Parameter Store: responses of GetParameter, GetParameters and GetParametersByPath, or a
// list of parameters.
import type { Node } from './json';
import { type Found, failure, incomplete, itemOf, source } from './source';

const readOne = (parameter: Node): Found => itemOf(parameter.need('Name').text(), parameter.get('Value'));

export const awsSsm = source({
  source: 'aws-ssm',
  accepts: 'json',
  read(data) {
    if (data.isArray) return data.items().map(readOne);
    const one = data.get('Parameter');
    if (one) return [readOne(one)];
    const invalid = data.given('InvalidParameters')?.items() ?? [];
    return [
      ...data.need('Parameters').items().map(readOne),
      ...invalid.map((name) => failure(name.text(), 'SOURCE_ERROR', 'InvalidParameters')),
      ...incomplete(data, 'NextToken'),
    ];
  },
});
