// Azure Key Vault: a secret bundle, a list of them, or a page `{ value: [...] }`. The CLI writes times as ISO
// texts, the API as Unix seconds.
import { JsonNumber, type Node } from './json';
import { type Found, failure, incomplete, itemOf, segmentAfter, source } from './source';

const CERTIFICATES = /^application\/x-(pkcs12|pem-file)$/i;

/** When a secret expires, in milliseconds; null for never. */
function endOf(attributes: Node | null): number | null {
  const end = attributes?.given('exp') ?? attributes?.given('expires');
  if (!end) return null;
  const time = end.value instanceof JsonNumber ? Number(end.value.source) * 1000 : Date.parse(end.text());
  if (!Number.isFinite(time)) throw end.unreadable('is not a time');
  return time;
}

function readOne(secret: Node, now: number): Found {
  const id = secret.need('id');
  const name = segmentAfter(id.text(), 'secrets');
  if (name === null) throw id.unreadable('does not name a secret');
  const attributes = secret.given('attributes');
  const end = endOf(attributes);
  if (attributes?.get('enabled')?.value === false) return failure(name, 'DISABLED');
  if (end !== null && end <= now) return failure(name, 'EXPIRED');
  if (secret.isTrue('managed')) return failure(name, 'MANAGED');
  if (CERTIFICATES.test(secret.textOf('contentType'))) return failure(name, 'CERTIFICATE');
  return itemOf(name, secret.get('value'));
}

export const azureKeyVault = source({
  source: 'azure-key-vault',
  accepts: 'json',
  read(data, now) {
    if (data.isArray) return data.items().map((secret) => readOne(secret, now));
    const page = data.get('value');
    if (!page?.isArray) return [readOne(data, now)];
    return [...page.items().map((secret) => readOne(secret, now)), ...incomplete(data, 'nextLink')];
  },
});
