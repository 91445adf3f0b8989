// `npm run test:single-sign-on`: signs people in with Keycloak and with oidc-provider, in Chromium, on
// `npm start`. Keycloak is installed once into .sdks, with Maven; without it, its tests are skipped.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import '../shared/temporary-files.mjs';
import { root } from '../shared/wrangler.mjs';

const VERSION = '26.7.3';
const folder = path.join(root, '.sdks', 'keycloak');

if (!fs.existsSync(folder)) {
  const unpacked = `${folder}.new`;
  fs.rmSync(unpacked, { recursive: true, force: true });
  // Without a project, Maven leaves marks in the working directory.
  const cwd = path.dirname(unpacked);
  fs.mkdirSync(cwd, { recursive: true });
  const { status } = spawnSync(
    'mvn',
    [
      ...['-q', '-B', 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'],
      `-Dartifact=org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`,
      `-DoutputDirectory=${unpacked}`,
    ],
    { cwd, stdio: 'inherit' },
  );
  const built = path.join(unpacked, `keycloak-${VERSION}`);
  const options = ['build', '--db=dev-mem', '--health-enabled=false'];
  const isBuilt =
    status === 0 && spawnSync(path.join(built, 'bin/kc.sh'), options, { stdio: 'inherit' }).status === 0;
  if (isBuilt) fs.renameSync(built, folder);
  else process.stderr.write('\nKeycloak cannot be installed: its tests are SKIPPED.\n\n');
  fs.rmSync(unpacked, { recursive: true, force: true });
}

const tests = [
  ...['--import', './scripts/shared/temporary-files.mjs', '--test', '--test-concurrency=1'],
  ...['test/scripts/sign-in/single-sign-on.slow.mjs', 'test/scripts/sign-in/keycloak.slow.mjs'],
];
process.exitCode = spawnSync(process.execPath, tests, { cwd: root, stdio: 'inherit' }).status ?? 1;
