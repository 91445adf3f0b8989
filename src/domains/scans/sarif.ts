// Findings as SARIF 2.1.0 (OASIS), the format of code scanning services.
import { version } from '../../version';
import { ruleNames } from './engine/formats';
import type { Shown } from './service';

/** The name used for a text that is not a file. */
const TEXT = 'text';

const messageOf = ({ rule, preview, live, secret_id }: Shown): string =>
  [
    `${ruleNames.get(rule) ?? rule}: ${preview}.`,
    ...(secret_id === undefined ? [] : [`It is the current value of the secret ${secret_id}. Rotate the secret.`]),
    ...(live === undefined ? [] : [live ? 'It was live.' : 'It is not live.']),
  ].join(' ');

/** A path as a relative URI reference: two leading slashes would name a host. */
const uriOf = (path: string): string => path.replace(/^\/+/, '/').split('/').map(encodeURIComponent).join('/');

export function sarifOf({ id, findings }: { id: string; findings: readonly Shown[] }, base: string) {
  const rules = [...new Set(findings.map(({ rule }) => rule))].sort();
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
            rules: rules.map((rule) => ({
              id: rule,
              shortDescription: { text: ruleNames.get(rule) ?? rule },
              defaultConfiguration: { level: 'error' },
              properties: { tags: ['security'], 'security-severity': '9.0' },
            })),
          },
        },
        automationDetails: { id: `scans/${id}` },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => {
          const { rule, path, line, column, preview, ...more } = finding;
          return {
            ruleId: rule,
            ruleIndex: rules.indexOf(rule),
            level: 'error',
            message: { text: messageOf(finding) },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: uriOf(path ?? TEXT) },
                  region: { startLine: line, startColumn: column },
                },
              },
            ],
            properties: { preview, ...more },
          };
        }),
      },
    ],
  };
}
