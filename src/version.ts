// The version of this checkout, from package.json, and what exactly runs.
import manifest from '../package.json';

export const { version } = manifest;

/**
 * The version that runs, with its commit as build metadata (SemVer) if the scripts that started or deployed
 * it know it.
 */
export const running = ({ COMMIT = '' }: { COMMIT?: string }): string =>
  /^[0-9a-f]{12}(-changed)?$/.test(COMMIT) ? `${version}+${COMMIT}` : version;
