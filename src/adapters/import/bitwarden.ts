// Bitwarden's password manager: the unencrypted JSON export.
import { JsonNumber, type Node } from './json';
import { eachOf, type Found, failure, joined, source } from './source';

const LOGIN = '1';
const NOTE = '2';
const SSH_KEY = '5';
const LINKED = '3';

const numberOf = (node: Node, field: string): string => {
  const { value } = node.need(field);
  return value instanceof JsonNumber ? value.source : '';
};

/** The fields of an object that contain a value, each with its new name. */
const valuesOf = (title: string, node: Node | null, fields: Record<string, string>): Found[] =>
  Object.entries(fields).flatMap(([field, name]) => {
    const value = node?.given(field);
    return !value || value.value === '' ? [] : [{ name: joined(title, name), value: value.value }];
  });

function* readItem(item: Node): Generator<Found> {
  if (item.given('deletedDate')) return;
  const title = item.need('name').text();
  const type = numberOf(item, 'type');
  if (![LOGIN, NOTE, SSH_KEY].includes(type)) {
    yield failure(title, 'UNSUPPORTED', 'it is neither a login, a note nor an SSH key');
    return;
  }
  const fields = (item.given('fields')?.items() ?? []).filter((field) => numberOf(field, 'type') !== LINKED);
  const passkeys = item.given('login')?.given('fido2Credentials')?.items() ?? [];
  yield* valuesOf(title, item.given('login'), { username: 'username', password: 'password', totp: 'totp' });
  yield* valuesOf(title, item.given('sshKey'), { privateKey: 'private_key', publicKey: 'public_key' });
  yield* valuesOf(title, item, { notes: 'notes' });
  yield* eachOf(fields, (field) => valuesOf(title, field, { value: field.textOf('name') }));
  if (passkeys.length) yield failure(joined(title, 'fido2Credentials'), 'UNSUPPORTED', 'it is a passkey');
}

export const bitwarden = source({
  source: 'bitwarden',
  accepts: 'json',
  read(data) {
    if (data.isTrue('encrypted') || data.isTrue('passwordProtected'))
      throw data.unreadable('is encrypted. Export again as unencrypted JSON');
    return eachOf(data.need('items').items(), readItem);
  },
});
