// A file for `docker run --env-file`: lines without quotes or escapes.
import { utf8 } from '../../crypto/bytes';
import { environmentStyle } from '../names';
import { format, none, nul } from './format';

/** Docker accepts only shorter lines, in bytes. */
const MOST_LINE = 65_536;

export const dockerEnv = format({
  format: 'docker-env',
  filename: 'docker.env',
  contentType: 'text/plain',
  options: none,
  names: environmentStyle,
  refuses(value, key) {
    if (value.includes('\n')) return 'has a value with a line feed, but the format has one line per variable';
    // Docker would treat it as part of the line end.
    if (value.endsWith('\r')) return 'has a value that ends with a carriage return, which Docker drops';
    if (utf8(`${key}=${value}`).length >= MOST_LINE)
      return 'makes a line of 64 KiB or more, which Docker refuses';
    return nul(value);
  },
  *render(entries) {
    for (const { key, value } of entries) yield `${key}=${value}\n`;
  },
});
