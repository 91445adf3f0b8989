// Request and response schemas of log streams.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { type LogStreamRow, logStreamKinds } from '../../db/schema';
import { fieldsOf, iso, isoOrNull, Name, pageOf, Revision, Time } from '../../http/wire';
import type { StreamState } from './gate/states';

/** The schema of the kind validates the fields later. */
const Config = fieldsOf(
  z.union([z.string().max(8192), z.array(z.string().max(1024)).max(100), fieldsOf(z.string().max(4096))]),
).openapi({
  description:
    'splunk: `url`, `token`, `index`, `source`, `sourcetype`. datadog: `url`, `api_key`, `service`, `tags`. s3: `endpoint`, `region`, `bucket`, `prefix`, `access_key_id`, `secret_access_key`. otlp and https: `url`, `headers`.',
  example: { url: 'https://siem.example.com/audit' },
});
const Format = z.enum(['svc', 'ocsf']).openapi({
  description:
    '`svc`: the entry as GET /audit-log shows it. `ocsf`: an OCSF event that contains it as `raw_data`.',
  example: 'svc',
});
const Sequence = z
  .int()
  .min(1)
  .max(Number.MAX_SAFE_INTEGER - 1);
const Kind = z.enum(logStreamKinds).openapi({ example: 'https' });

export const LogStreamIn = z
  .strictObject({
    name: Name.openapi({ example: 'SIEM' }),
    kind: Kind,
    config: Config,
    format: Format.optional(),
    from: z
      .union([z.enum(['now', 'beginning']), Sequence])
      .optional()
      .openapi({
        description: 'The first entry: `now` (by default), `beginning`, or a sequence of the audit log.',
        example: 'now',
      }),
    enabled: z.boolean().optional(),
  })
  .openapi('LogStreamIn');
export const LogStreamPatch = z
  .strictObject({
    name: Name.optional().openapi({ example: 'SIEM' }),
    config: Config.optional(),
    format: Format.optional(),
    enabled: z.boolean().optional(),
  })
  .openapi('LogStreamPatch');
export const SeekIn = z
  .strictObject({
    sequence: Sequence.openapi({ description: 'The first entry to send again.', example: 1042 }),
  })
  .openapi('LogStreamSeekIn');

const reasons = ['user', 'failing', 'gone', 'maker'] as const;

export const LogStream = z
  .object({
    id: z.string().openapi({ example: exampleId('log_stream') }),
    revision: Revision,
    name: z.string().openapi({ example: 'SIEM' }),
    kind: Kind,
    config: z.record(z.string(), z.union([z.string(), z.array(z.string())])).openapi({
      description:
        'Without credentials and headers. A URL that is itself a credential is shown as its origin.',
      example: { url: 'https://siem.example.com/audit' },
    }),
    format: Format,
    enabled: z.boolean(),
    status: z.enum(['active', 'failing', 'disabled']).openapi({ example: 'active' }),
    disabled_reason: z.enum(reasons).nullable().openapi({
      description:
        '`user`: by a request; `failing`: every attempt failed for 5 days; `gone`: the target answered 410; `maker`: whoever made it has ended, or may not make it any more.',
      example: null,
    }),
    position: z
      .object({
        sequence: z.int().openapi({ description: 'The last entry that the target took.', example: 1041 }),
        time: Time.nullable(),
      })
      .openapi('LogStreamPosition'),
    last_error: z
      .object({ status: z.int().nullable(), message: z.string(), time: Time })
      .nullable()
      .openapi({ description: 'Why the last attempt failed.', example: null }),
    created_by: z.string(),
    created_at: Time,
    updated_at: Time,
  })
  .openapi('LogStream');
export const LogStreamMade = LogStream.extend({
  secret: z.string().nullable().optional().openapi({
    description: 'For kind https: the secret that signs requests, shown once. A new config has a new one.',
    example: 'whsec_C2FVsBQIhrscChlQ…',
  }),
}).openapi('LogStreamMade');
export const LogStreamPage = pageOf(LogStream, 'LogStreamPage');
export const Tested = z
  .object({ delivered: z.literal(true), status: z.int().openapi({ example: 200 }) })
  .openapi('LogStreamTested');

/** What a failure means, in our words: nothing of an answer is shown. */
const MESSAGES: Record<string, string> = {
  rejected: 'The target refused the entries.',
  not_taken: 'The target answered, but did not take all entries.',
  redirect: 'The target answered with a redirect, which is not followed.',
  timeout: 'The target did not answer within 10 seconds.',
  connection_failed: 'No connection to the target.',
  name_not_found: 'The name of the target does not exist.',
  private_address: 'The name of the target leads to an address that is not public.',
  target_refused: 'The address of the target is not allowed.',
  altered: 'The stored target does not open: the database was altered.',
  log_unreadable: 'The stored audit log cannot be read, or its chain is broken: verify the log.',
};

const lastError = ({ status, error, error_at }: Partial<StreamState>) =>
  error == null
    ? null
    : {
        status: status ?? null,
        message: MESSAGES[error] ?? 'The target could not be reached.',
        time: iso(error_at ?? 0),
      };

type Shown = Pick<StreamState, 'position' | 'time'> & Partial<StreamState>;

export function logStreamOut(
  row: LogStreamRow,
  state: Shown | null,
  reason: (typeof reasons)[number] | null,
): z.infer<typeof LogStream> {
  return {
    id: row.id,
    revision: row.revision,
    name: row.name,
    kind: row.kind,
    config: row.config as z.infer<typeof LogStream>['config'],
    format: row.format,
    enabled: row.disabled === null,
    status: reason !== null ? 'disabled' : state?.failing_since != null ? 'failing' : 'active',
    disabled_reason: reason,
    position: { sequence: state?.position ?? row.starts_after, time: isoOrNull(state?.time ?? null) },
    last_error: lastError(state ?? {}),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
