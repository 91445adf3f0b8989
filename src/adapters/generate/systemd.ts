// A file for systemd's EnvironmentFile=, as parsed by env-file.c: in double quotes, a backslash escapes
// characters that the shell would interpret, and line breaks are allowed.
import { environmentStyle } from '../names';
import { format, none, nul } from './format';

/** systemd drops an assignment with a noncharacter as invalid UTF-8. */
const NONCHARACTER =
  /[\ufdd0-\ufdef]|[\ufffe\uffff]|[\ud83f\ud87f\ud8bf\ud8ff\ud93f\ud97f\ud9bf\ud9ff\uda3f\uda7f\udabf\udaff\udb3f\udb7f\udbbf\udbff][\udffe\udfff]/;

export const systemd = format({
  format: 'systemd',
  filename: 'secrets.env',
  contentType: 'text/plain',
  options: none,
  names: environmentStyle,
  refuses: (value) =>
    nul(value) ??
    (NONCHARACTER.test(value) ? 'has a value with a Unicode noncharacter, which systemd rejects' : null),
  *render(entries) {
    for (const { key, value } of entries) yield `${key}="${value.replace(/["\\`$]/g, '\\$&')}"\n`;
  },
});
