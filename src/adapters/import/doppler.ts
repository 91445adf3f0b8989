// Doppler: a JSON download, the API's list of secrets, or `doppler secrets --json`.
import type { Node } from './json';
import { type Found, failure, source } from './source';

/** Names that Doppler adds to every config. */
const OWN = new Set(['DOPPLER_PROJECT', 'DOPPLER_CONFIG', 'DOPPLER_ENVIRONMENT']);

/** A value; from the API and the CLI, an object whose `computed` is the value with resolved references. */
function readOne(name: string, value: Node): Found {
  if (!value.isObject) return { name, value: value.value };
  const computed = value.get('computed');
  if (!computed) throw value.unreadable('has no field computed');
  return computed.isNull ? failure(name, 'RESTRICTED') : { name, value: computed.value };
}

export const doppler = source({
  source: 'doppler',
  accepts: 'json',
  read(data) {
    const secrets = data.get('secrets');
    // A secret may be named `secrets`: then the field is a value, or an object with `computed`.
    const isAnswer = secrets?.isObject === true && secrets.entries().every(([, value]) => value.isObject);
    const map = secrets && isAnswer ? secrets : data;
    return map
      .entries()
      .filter(([name]) => !OWN.has(name))
      .map(([name, value]) => readOne(name, value));
  },
});
