// Google Cloud Secret Manager: a response of versions.access, or a list of them.
import { crc32c } from '../crc32c';
import { JsonNumber, type Node } from './json';
import { binaryItem, bytesOf, type Found, failure, oneOrMany, segmentAfter, source } from './source';

/** Whether the bytes match the checksum: decimal, as a text (int64 in JSON) or a number. */
function isWhole(bytes: Uint8Array, checksum: Node): boolean {
  const spelled = checksum.value instanceof JsonNumber ? checksum.value.source : checksum.text();
  return spelled === String(crc32c(bytes));
}

function readOne(version: Node): Found {
  const path = version.need('name');
  // A project may be called `secrets` itself.
  const name = segmentAfter(path.text().replace(/^(\/\/[^/]+\/)?projects\/[^/]*\//, ''), 'secrets');
  if (name === null) throw path.unreadable('does not name a secret');
  const payload = version.given('payload');
  const data = payload?.given('data');
  if (!payload || !data) return failure(name, 'VALUE_MISSING');
  const bytes = bytesOf(data.text());
  if (!bytes) throw data.unreadable('is not base64');
  const checksum = payload.given('dataCrc32c');
  if (checksum && !isWhole(bytes, checksum)) return failure(name, 'CHECKSUM_MISMATCH');
  return binaryItem(name, bytes);
}

export const gcpSecretManager = source({
  source: 'gcp-secret-manager',
  accepts: 'json',
  read: (data) => oneOrMany(data).map(readOne),
});
