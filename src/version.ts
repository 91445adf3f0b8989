// The version of this checkout, from package.json.
import manifest from '../package.json';

export const { version } = manifest;
