// This service: all values of an environment, or the flat map that generate returns as JSON.
import { failure, keysOf, source } from './source';

export const svc = source({
  source: 'svc',
  accepts: 'json',
  read(data) {
    const values = data.get('values');
    // A secret may be named `values`: then the field is a text.
    if (!values?.isObject) return keysOf(data);
    const withheld = data.given('withheld')?.items() ?? [];
    return [
      ...keysOf(values),
      ...withheld.map((name) =>
        failure(name.text(), 'VALUE_MISSING', 'it was withheld: reading it needs approval'),
      ),
    ];
  },
});
