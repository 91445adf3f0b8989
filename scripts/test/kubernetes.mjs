// `npm run test:kubernetes`: syncs to a Kubernetes API server. kube-apiserver and etcd are built once from
// their Go modules into .sdks.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import '../shared/temporary-files.mjs';
import { root } from '../shared/wrangler.mjs';

const modules = path.join(root, 'test/vendors/sdks/kube-apiserver');
const out = path.join(root, '.sdks') + path.sep;
const version = '-X k8s.io/component-base/version.gitVersion=v1.32.0';
const built = spawnSync('go', ['build', '-ldflags', version, '-o', out, '.', './etcd'], {
  cwd: modules,
  stdio: 'inherit',
});
if (built.error) console.log('Go is not installed: the test is skipped.');
const test = [
  '--import',
  './scripts/shared/temporary-files.mjs',
  '--test',
  'test/scripts/deliveries/kubernetes.slow.mjs',
];
const tested = spawnSync(process.execPath, test, { cwd: root, stdio: 'inherit' });
process.exitCode = built.status === 0 || built.error ? (tested.status ?? 1) : 1;
