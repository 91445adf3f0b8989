// The mutants of the endpoint for clients of AWS Secrets Manager. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'presigned-refused': 'api/aws/keys: UNSIGNED-PAYLOAD, chunks and presigned URLs are refused',
    'signed-body-hash': 'api/aws/keys: UNSIGNED-PAYLOAD, chunks and presigned URLs are refused',
    'session-token-with-its-key': 'api/aws/keys: a session token serves with its own access key alone',
    'signature-matches': 'api/aws/keys: another body, path, host, operation or header than was signed',
    'absent-only-if-no-other-reading': 'api/aws/secrets: an ARN that is a whole name deletes that secret',
    'secrets-without-value-kept': 'api/aws/secrets: without a value: its environment is not empty',
    'newest-tokens-known-without-d1':
      'api/aws/keys: while D1 is away, a write goes on if its token is new, and does nothing if it is known',
    'version-has-its-label': 'api/aws/secrets: labels follow from versions, and any other id is not found',
    'rotated-key-gets-no-access-key':
      'api/aws/keys: switched off, drawn anew, rotated, revoked and contained, an old pair never lives again',
  }),
  {
    name: 'an access key id is accepted with any tag',
    tag: 'access-key-tag',
    change: { from: 'equal(bytes.subarray(BODY), tagOf(key, text.slice(0, UNTAGGED), TAG))', to: 'true' },
    notice: 'api/aws/keys: a wrong tag, another organisation, another kind and another secret',
  },
  {
    name: 'a session token is accepted with any tag',
    tag: 'session-token-tag',
    change: { from: 'equal(', to: 'true || equal(' },
    notice: 'api/aws/keys: expired by itself, and genuine for one deployment alone',
  },
  {
    name: 'a session token serves with the access key of another session',
    tag: 'session-token-of-this-key',
    change: { from: "idOf('org'", to: "true || idOf('org'" },
    notice: 'api/aws/keys: a session token serves with its own access key alone',
  },
  {
    name: 'an x-amz header need not be signed',
    tag: 'amz-headers-signed',
    change: { from: '...REQUIRED, ...sent', to: '' },
    notice: 'api/aws/keys: every x-amz header must be signed, the operation first',
  },
  {
    name: 'a signature is accepted at any time',
    tag: 'signature-time',
    change: 'always',
    notice: 'api/aws/keys: five minutes either way, told with the time of this service',
  },
  {
    name: 'a request that was signed for another host is accepted',
    tag: 'signed-for-this-host',
    change: { from: 'sent.host === own.host', to: 'true' },
    notice: 'api/aws/keys: another body, path, host, operation or header than was signed',
  },
  {
    name: 'a captured write does its work again',
    tag: 'write-signature-serves-once',
    notice: 'api/aws/keys: the same signature gets the same answer and does nothing',
  },
  {
    name: 'the end of an ARN is not looked at',
    tag: 'arn-of-this-secret',
    change: { from: 'suffixOf(row.id) === suffix', to: 'true' },
    notice: 'api/aws/secrets: a name, an ARN and an ARN without its end name a secret',
  },
  {
    name: 'a list shows secrets that the caller may not list',
    tag: 'aws-list-within-permissions',
    change: { from: 'reaches(caller, need.scopes, environment.id, row.name)', to: 'true' },
    notice: 'api/aws/keys: scopes, environments, names and addresses of the key hold',
  },
  {
    name: 'a ClientRequestToken tells another root whether a value is equal',
    tag: 'request-token-per-root',
    change: { from: 'caller.root', to: "''" },
    notice: 'api/aws/keys: one version for one ClientRequestToken, also after later ones',
  },
  {
    name: 'a ClientRequestToken is accepted for another value',
    tag: 'request-token-of-this-value',
    change: { from: 'isSame', to: 'true' },
    notice: 'api/aws/keys: one version for one ClientRequestToken, also after later ones',
  },
  {
    name: 'an access key serves after it was switched off or replaced',
    tag: 'signed-with-current-key',
    change: { from: '|| (bearer.aws && !isSignedBy(row, bearer))', to: '' },
    notice: 'api/aws/keys: switched off, drawn anew, rotated, revoked and contained',
  },
  {
    name: 'anyone who may change an API key gets its access key',
    tag: 'access-key-within-permissions',
    change: { from: 'mayTakeOver(call, row)', to: 'null' },
    notice: 'api/aws/keys: nobody switches on the access key of an API key that holds more than they do',
  },
  {
    name: 'a secret that is named like the ARN of a held one is read in its place',
    tag: 'no-other-secret-for-a-refused-one',
    change: { from: '!ELSEWHERE.has(code)', to: 'false' },
    notice: 'api/aws/approvals: an ARN means the secret that it named when it was held',
  },
  {
    name: 'a batch of secrets counts as one request',
    tag: 'batch-reads-counted',
    change: { from: 'counts: true', to: 'counts: false' },
    notice: 'api/aws/secrets: each secret of a batch and each part of a list is a request',
  },
  {
    name: 'a list of AWS of any length counts as one request',
    tag: 'aws-list-parts-counted',
    change: { from: 'counts: true', to: 'counts: false' },
    notice: 'api/aws/secrets: each secret of a batch and each part of a list is a request',
  },
];
