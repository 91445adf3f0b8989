// Merges the SARIF logs of several requests. Invariant: a result keeps its rule, although the index of the
// rule may change.
import { VERSION } from '../version.ts';

interface Rule {
  id: string;
}

interface Region {
  startLine: number;
  startColumn: number;
  endLine: number;
  endColumn: number;
}

export interface SarifResult {
  ruleId: string;
  ruleIndex: number;
  locations: [{ physicalLocation: { artifactLocation: { uri: string }; region: Region } }];
  /** The other fields of the finding. */
  properties: { preview: string; fingerprint: string };
}

interface Run {
  tool: { driver: { name: string; version: string; rules: Rule[] } };
  automationDetails?: { id: string };
  invocations: {
    executionSuccessful: boolean;
    toolExecutionNotifications: { message: { text: string } }[];
  }[];
  columnKind: string;
  results: SarifResult[];
}

export interface SarifLog {
  $schema: string;
  version: '2.1.0';
  runs: [Run];
}

/** Whether a response has what svc reads of a log. */
export function isLog(data: unknown): data is SarifLog {
  try {
    const { runs } = data as SarifLog;
    const places = runs.flatMap(({ results }) =>
      results.map(({ locations: [{ physicalLocation }] }) => physicalLocation),
    );
    const lists = runs.flatMap(({ tool, invocations }) => [
      tool.driver.rules,
      ...invocations.map(({ toolExecutionNotifications }) => toolExecutionNotifications),
    ]);
    return (
      runs.length > 0 &&
      lists.every(Array.isArray) &&
      places.every(
        ({ region, artifactLocation: { uri } }) =>
          typeof uri === 'string' && typeof region.startLine === 'number',
      )
    );
  } catch {
    return false;
  }
}

/** The log for a scan of no files. Uploading it closes the alerts of an earlier scan. */
const NOTHING: SarifLog = {
  $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
  version: '2.1.0',
  runs: [
    {
      tool: { driver: { name: 'Secrets Vault Service', version: VERSION, rules: [] } },
      invocations: [{ executionSuccessful: true, toolExecutionNotifications: [] }],
      columnKind: 'utf16CodeUnits',
      results: [],
    },
  ],
};

/**
 * One log with one run: code scanning services accept one run per tool in an upload.
 * @param results those to report, of all logs
 */
export function merged(logs: SarifLog[], results: SarifResult[]): SarifLog {
  const [first = NOTHING] = logs;
  const runs = logs.map(({ runs: [run] }) => run);
  const rules = new Map(runs.flatMap(({ tool }) => tool.driver.rules.map((rule) => [rule.id, rule])));
  const ids = [...rules.keys()];
  const [run] = first.runs;
  const notifications = runs.flatMap(({ invocations }) =>
    invocations.flatMap((each) => each.toolExecutionNotifications),
  );
  return {
    ...first,
    runs: [
      {
        ...run,
        tool: { driver: { ...run.tool.driver, rules: [...rules.values()] } },
        invocations: [{ executionSuccessful: true, toolExecutionNotifications: notifications }],
        results: results.map((result) => ({ ...result, ruleIndex: ids.indexOf(result.ruleId) })),
      },
    ],
  };
}
