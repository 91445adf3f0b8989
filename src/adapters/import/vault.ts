// HashiCorp Vault and OpenBao: responses of the KV engines, version 1 and 2, alone or in a map of path →
// response.
import { JsonNumber, type Node } from './json';
import { eachOf, type Found, failure, keysOf, source } from './source';

/**
 * Whether `data` of a response is that of KV 2. A KV 1 secret may have keys named `data` and `metadata`; the
 * contents of metadata decide.
 */
function isVersioned(data: Node): boolean {
  const metadata = data.get('metadata');
  return (
    metadata?.isObject === true &&
    metadata.get('version')?.value instanceof JsonNumber &&
    typeof metadata.get('created_time')?.value === 'string' &&
    data.get('data') !== null
  );
}

function read(answer: Node, name: string, path: string | null): Found[] {
  const at = (map: Node): Found[] => keysOf(map).map((item) => ({ ...item, path }));
  const data = answer.need('data');
  if (!data.isObject) throw data.unreadable('is not an object');
  if (!isVersioned(data)) return at(data);
  const inner = data.get('data') as Node;
  // A deletion time may be in the future: only a version without data is deleted.
  if (inner.isNull || data.need('metadata').isTrue('destroyed')) return [failure(name, 'DELETED')];
  return at(inner);
}

export const vault = source({
  source: 'vault',
  accepts: 'json',
  read(data) {
    if (data.get('data')) return read(data, 'data', null);
    return eachOf(data.entries(), ([path, answer]) => read(answer, path, path));
  },
});
