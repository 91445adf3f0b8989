// A file for systemd's EnvironmentFile=, as env-file.c reads it: between double quotes a backslash stands before what the shell would take for
// its own, and lines may end inside.
import { environmentStyle } from '../names';
import { format, none, nul } from './format';

/** systemd drops an assignment with a noncharacter as if it were no UTF-8. */
const NONCHARACTER =
  /[\ufdd0-\ufdef]|[\ufffe\uffff]|[\ud83f\ud87f\ud8bf\ud8ff\ud93f\ud97f\ud9bf\ud9ff\uda3f\uda7f\udabf\udaff\udb3f\udb7f\udbbf\udbff][\udffe\udfff]/;

export const systemd = format({
  format: 'systemd',
  filename: 'secrets.env',
  contentType: 'text/plain',
  options: none,
  names: environmentStyle,
  refuses: (value) => nul(value) ?? (NONCHARACTER.test(value) ? 'has a value with a Unicode noncharacter, which systemd refuses' : null),
  *render(entries) {
    for (const { key, value } of entries) yield `${key}="${value.replace(/["\\`$]/g, '\\$&')}"\n`;
  },
});
