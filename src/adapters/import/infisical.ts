// Infisical: the list from `infisical export --format=json`, or the API's response with its imports.
import type { Node } from './json';
import { type Found, failure, itemOf, source } from './source';

function readList(list: Node): Found[] {
  return list.items().flatMap((secret): Found[] => {
    if (secret.textOf('type') === 'personal') return [];
    const isApi = secret.get('secretKey') !== null;
    const name = secret.need(isApi ? 'secretKey' : 'key').text();
    if (secret.isTrue('secretValueHidden')) return [failure(name, 'RESTRICTED')];
    return [itemOf(name, secret.get(isApi ? 'secretValue' : 'value'))];
  });
}

export const infisical = source({
  source: 'infisical',
  accepts: 'json',
  read(data) {
    if (data.isArray) return readList(data);
    const found = readList(data.need('secrets'));
    const taken = new Set(found.map(({ name }) => name));
    // A later import takes precedence over an earlier one; secrets listed directly take precedence over all
    // imports.
    for (const imported of (data.given('imports')?.items() ?? []).reverse()) {
      const further = readList(imported.need('secrets')).filter(({ name }) => !taken.has(name));
      for (const { name } of further) taken.add(name);
      found.push(...further);
    }
    return found;
  },
});
