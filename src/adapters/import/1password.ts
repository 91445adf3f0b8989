// 1Password: an item from `op item get --format json`, or a list of items.
import type { Node } from './json';
import { eachOf, type Found, failure, joined, oneOrMany, source } from './source';

/**
 * Fields without a value are skipped. The value of a one-time password is its secret; `totp`, the current
 * code, is ignored.
 */
function readField(title: string, field: Node): Found[] {
  const value = field.given('value');
  if (!value || value.value === '') return [];
  const label = field.textOf('label') || field.need('id').text();
  const section = field.given('section')?.textOf('label') ?? '';
  return [
    { name: section === '' ? joined(title, label) : joined(title, section, label), value: value.value },
  ];
}

function* readItem(item: Node): Generator<Found> {
  const title = item.need('title').text();
  yield* eachOf(item.need('fields').items(), (field) => readField(title, field));
  yield* eachOf(item.given('files')?.items() ?? [], (file) => [
    failure(joined(title, file.textOf('name')), 'UNSUPPORTED', 'it is a file'),
  ]);
}

export const onePassword = source({
  source: '1password',
  accepts: 'json',
  read: (data) => eachOf(oneOrMany(data), readItem),
});
