// Reads the options of an operator's script. `npm run doctor --deep` gives --deep to npm, not to the script,
// which would then do something else in silence: options that npm took are refused.
import { parseArgs as parse } from 'node:util';

/** Options that npm has too: a .npmrc or CI may set them for npm itself. */
const NPMS_OWN = ['json', 'yes', 'force', 'only', 'help'];

/** @type {typeof parse} */
export function parseArgs(config) {
  const taken = Object.keys(config?.options ?? {}).filter(
    (name) =>
      !NPMS_OWN.includes(name) && process.env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined,
  );
  const script = process.env.npm_lifecycle_event;
  if (script && taken.length > 0) {
    const names = taken.map((name) => `--${name}`).join(' ');
    // Not thrown: scripts answer an option that does not parse with their usage alone.
    process.stderr.write(
      `npm took ${names}: put -- before the options, as in npm run ${script} -- ${names}\n`,
    );
    process.exit(1);
  }
  return parse(config);
}
