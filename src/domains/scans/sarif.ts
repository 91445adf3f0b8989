// Findings as SARIF 2.1.0 (OASIS), with the properties that GitHub's code scanning requires. Invariant:
// nothing in it is made of what was found, except its place, its length, the redacted preview and a keyed
// digest; so it confirms no guess.
import { tuple } from '../../crypto/bytes';
import { sha256 } from '../../crypto/digest';
import { version } from '../../version';
import { ruleNames } from './engine/formats';
import type { Located } from './service';

/** The name used for a text that is not a file. */
const TEXT = 'text';

const HELP: Record<string, string> = {
  'svc-token': 'Revoke the token, then remove it from the file. It stays in the history of a repository.',
  'stored-secret':
    'Rotate the secret, then remove its value from the file. It stays in the history of a repository.',
};
const HELP_ELSEWHERE =
  'Replace the credential where it was issued, then remove it from the file: it stays in the history of a repository. Store the new one in the vault.';

const messageOf = ({ rule, preview, live, secret_id, secret_name, environment }: Located): string =>
  [
    `${ruleNames.get(rule) ?? rule}: ${preview}.`,
    ...(secret_id === undefined
      ? []
      : [
          `It is the current value of the secret ${secret_name} in ${environment} (${secret_id}). Rotate the secret.`,
        ]),
    ...(live === undefined ? [] : [live ? 'It was live.' : 'It is not live.']),
  ].join(' ');

/** A path as a relative URI reference: two leading slashes would name a host. */
const uriOf = (path: string): string =>
  path.replace(/^\/+/, '/').split('/').map(encodeURIComponent).join('/');

function ruleOf(rule: string) {
  const name = ruleNames.get(rule) ?? rule;
  return {
    id: rule,
    shortDescription: { text: name },
    fullDescription: { text: `${name}, found in a file.` },
    help: { text: HELP[rule] ?? HELP_ELSEWHERE },
    defaultConfiguration: { level: 'error' },
    properties: { tags: ['security'], 'security-severity': '9.0' },
  };
}

/**
 * Tells a finding in later scans, also when lines before it change: its rule, file, preview and secret, and
 * which of several alike it is.
 */
function fingerprints(): (finding: Located) => string {
  const seen = new Map<string, number>();
  return ({ rule, path, preview, secret_id }) => {
    const alike = sha256(tuple(rule, path ?? TEXT, preview, secret_id ?? ''));
    const n = (seen.get(alike) ?? 0) + 1;
    seen.set(alike, n);
    return `${alike}:${n}`;
  };
}

interface Result {
  id: string;
  findings: readonly Located[];
  truncated: boolean;
}

export function sarifOf({ id, findings, truncated }: Result, base: string) {
  const rules = [...new Set(findings.map(({ rule }) => rule))].sort();
  const fingerprintOf = fingerprints();
  const missed = {
    level: 'warning',
    message: { text: 'Not everything was scanned or is listed. Scan fewer files at a time.' },
  };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Secrets Vault Service',
            version,
            informationUri: `${base}/docs`,
            rules: rules.map(ruleOf),
          },
        },
        automationDetails: { id: `scans/${id}` },
        invocations: [{ executionSuccessful: true, toolExecutionNotifications: truncated ? [missed] : [] }],
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => {
          const { rule, path, line, column, end, preview, ...more } = finding;
          return {
            ruleId: rule,
            ruleIndex: rules.indexOf(rule),
            level: 'error',
            message: { text: messageOf(finding) },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: uriOf(path ?? TEXT) },
                  region: { startLine: line, startColumn: column, endLine: end.line, endColumn: end.column },
                },
              },
            ],
            partialFingerprints: { 'svcFinding/v1': fingerprintOf(finding) },
            properties: { preview, ...more },
          };
        }),
      },
    ],
  };
}
