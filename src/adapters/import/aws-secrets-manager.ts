// AWS Secrets Manager: a response of GetSecretValue, a list of them, or a response of BatchGetSecretValue.
import { JsonObject, Node, parseJson, TooLarge, Unreadable } from './json';
import {
  binaryItem,
  bytesOf,
  eachOf,
  type Found,
  failure,
  incomplete,
  keysOf,
  oneOrMany,
  source,
  vendorCode,
} from './source';

/** The JSON object in a text; null for any other text. */
function objectOf(text: string, path: string): Node | null {
  if (!/^[ \t\r\n]*\{/.test(text)) return null;
  try {
    const value = parseJson(text);
    return value instanceof JsonObject ? new Node(value, path) : null;
  } catch (error) {
    // It is an object, but too large or too deep.
    if (error instanceof TooLarge || (error instanceof Unreadable && error.message.startsWith('nested')))
      throw error;
    return null;
  }
}

/** Whether a text is that of a JSON object; false of one that is too large or too deep to tell. */
function isObject(text: string, path: string): boolean {
  try {
    return objectOf(text, path) !== null;
  } catch {
    return false;
  }
}

/** One secret as a client of AWS reads it here afterwards. */
function readWhole(secret: Node): Found {
  const name = secret.need('Name').text();
  const text = secret.given('SecretString')?.text();
  const binary = secret.given('SecretBinary');
  if (text !== undefined)
    return { name, value: text, ...(isObject(text, name) && { type: 'json' as const }) };
  if (!binary) return failure(name, 'VALUE_MISSING');
  const bytes = bytesOf(binary.text());
  if (!bytes) throw binary.unreadable('is not base64');
  return { name, value: Buffer.from(bytes).toString('base64'), encoding: 'bytes' };
}

function readOne(secret: Node, whole: boolean): Found[] {
  if (whole) return [readWhole(secret)];
  const name = secret.need('Name').text();
  const text = secret.given('SecretString');
  const binary = secret.given('SecretBinary');
  if (text) {
    const map = objectOf(text.text(), text.path);
    if (!map) return [{ name, value: text.text() }];
    const keys = keysOf(map);
    return keys.length ? keys : [failure(name, 'VALUE_MISSING', 'the map has no keys')];
  }
  if (!binary) return [failure(name, 'VALUE_MISSING')];
  const bytes = bytesOf(binary.text());
  if (!bytes) throw binary.unreadable('is not base64');
  return [binaryItem(name, bytes)];
}

function read(data: Node, whole: boolean): Found[] {
  const batch = data.get('SecretValues');
  if (!batch) return readOne(data, whole);
  const errors = data.given('Errors')?.items() ?? [];
  return [
    ...batch.items().flatMap((one) => readOne(one, whole)),
    ...errors.map((error) =>
      failure(error.textOf('SecretId'), 'SOURCE_ERROR', vendorCode(error.textOf('ErrorCode'))),
    ),
    ...incomplete(data, 'NextToken'),
  ];
}

export const awsSecretsManager = source({
  source: 'aws-secrets-manager',
  accepts: 'json',
  read: (data, _now, { whole = false }) => eachOf(oneOrMany(data), (one) => read(one, whole)),
});
