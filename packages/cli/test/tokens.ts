// A token of each kind that the service issues, by the service's own lists: a kind that is added is tested
// too.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const prefixesIn = (file: string) =>
  readFileSync(path.resolve(file), 'utf8').match(/\bsvc_?[a-z]+_(?=')/g) ?? [];

/** Forms of tokens without the usual one. */
const OTHER: Record<string, string> = {
  svcref_: `svcref_org_${'a'.repeat(22)}.ses_${'b'.repeat(22)}.1.${'c'.repeat(43)}`,
  svcdc_: `svcdc_BCDFGHJK.${'d'.repeat(43)}.${'e'.repeat(43)}`,
};

/** As the service signs it (src/keys/jwt.ts). */
const jwt = [
  { alg: 'ES256', typ: 'JWT', kid: 'k'.repeat(22) },
  { sid: `ses_${'s'.repeat(22)}`, org: 'org_1' },
]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .concat('f'.repeat(86))
  .join('.');

export function tokensOfService(): string[] {
  const prefixes = [
    ...prefixesIn('src/auth/authentication/token.ts'),
    ...prefixesIn('src/auth/authentication/proofs.ts'),
    'svc_agent_',
  ];
  if (prefixes.length < 10) throw new Error(`the lists of the service are elsewhere: ${prefixes}`);
  return [...prefixes.map((prefix) => OTHER[prefix] ?? `${prefix}${'Ab1'.repeat(22)}`), jwt];
}
