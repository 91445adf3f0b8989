// Keeper: a JSON export of Commander, `{ records }` or the list of records.
import type { Node } from './json';
import { eachOf, type Found, joined, source } from './source';

/**
 * The name of a custom field: for `$type:label:N` the label, with its number from the second one on; without
 * a label, the type.
 */
function labelOf(key: string): string {
  if (!key.startsWith('$')) return key;
  const colon = key.indexOf(':');
  if (colon < 0) return key.slice(1);
  const type = key.slice(1, colon);
  const [, label = '', number = '1'] = /^(.*?)(?::([0-9]+))?$/s.exec(key.slice(colon + 1)) ?? [];
  return `${label || type}${Number(number) > 1 ? `_${number}` : ''}`;
}

const itemOf = (title: string, name: string, value: Node | null): Found[] =>
  !value || value.isNull || value.value === '' ? [] : [{ name: joined(title, name), value: value.value }];

function* readRecord(record: Node): Generator<Found> {
  const title = record.need('title').text();
  yield* eachOf(['login', 'password', 'notes'], (field) => itemOf(title, field, record.get(field)));
  yield* eachOf(record.given('custom_fields')?.entries() ?? [], ([key, value]) =>
    itemOf(title, labelOf(key), value),
  );
}

export const keeper = source({
  source: 'keeper',
  accepts: 'json',
  read: (data) => eachOf((data.isArray ? data : data.need('records')).items(), readRecord),
});
