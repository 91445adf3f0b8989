// Request and response schemas of scans.
import { z } from '@hono/zod-openapi';
import { MOST_BODY } from '../../http/input/body';
import { text } from '../../http/wire';

/** The most files of one request; the body limits them further. */
const MOST_FILES = 500;

const File = z.strictObject({
  path: text(1024).openapi({ description: "The file's name in the findings.", example: 'src/config.ts' }),
  content: z.string().max(MOST_BODY).openapi({ example: 'DATABASE_URL=…' }),
});

const problemOf = ({ text, files }: { text?: string; files?: unknown[] }) =>
  (text === undefined) !== (files === undefined);

export const ScanIn = z
  .strictObject({
    text: z
      .string()
      .max(MOST_BODY)
      .optional()
      .openapi({ description: 'The text to scan. Send text or files.', example: 'DATABASE_URL=…' }),
    files: z
      .array(File)
      .min(1)
      .max(MOST_FILES)
      .optional()
      .openapi({ description: 'The files to scan. Send text or files.', example: undefined }),
    revoke_live: z.boolean().optional().openapi({
      description:
        'Whether to revoke live tokens of this organisation that are found, including the calling one. The caller also needs tokens:write. false by default.',
      example: false,
    }),
  })
  .refine(problemOf, { path: ['text'], message: 'must be sent, or files, but not both' })
  .openapi('ScanIn');

export const ScanQuery = z.strictObject({
  format: z
    .enum(['json', 'sarif'])
    .optional()
    .openapi({ description: 'sarif: the findings as SARIF 2.1.0. json by default.' }),
});

export const Finding = z
  .object({
    rule: z.string().openapi({
      description:
        'The format of the finding. svc-token: a token of this service. stored-secret: the value of a secret.',
    }),
    path: z.string().nullable().openapi({ description: 'The file, as the request named it. null for text.' }),
    line: z.int().openapi({ description: 'Line, from 1.' }),
    column: z.int().openapi({ description: 'Column, from 1, in UTF-16 code units.' }),
    preview: z.string().openapi({
      description: 'The public prefix of the format, if it has one, and the length in characters.',
    }),
    fingerprint: z.string().openapi({
      description:
        'A keyed digest of the rule and of what was found. It stays the same wherever and whenever this is found in your organisation, so you can keep a list of accepted findings.',
    }),
    secret_id: z
      .string()
      .optional()
      .openapi({ description: 'The active secret whose current value this is, if the caller may read it.' }),
    secret_name: z.string().optional().openapi({ description: 'Its name.' }),
    environment: z.string().nullable().optional().openapi({ description: 'Its environment.' }),
    live: z.boolean().optional().openapi({
      description:
        'For a token of this organisation: whether it was live when it was found. Absent for a token of another organisation.',
    }),
    credential_id: z
      .string()
      .optional()
      .openapi({ description: 'For a token of this organisation, if the caller holds tokens:read.' }),
    is_caller: z.boolean().optional().openapi({
      description: 'true if this token is the calling credential or an ancestor it is revoked together with.',
    }),
    revoked: z
      .boolean()
      .optional()
      .openapi({ description: 'With revoke_live, for a live token: whether this request revoked it.' }),
  })
  .openapi('Finding');

export const Scan = z
  .object({
    id: z.string(),
    findings: z.array(Finding),
    truncated: z.boolean().openapi({
      description:
        'Whether the scan or the list of findings is incomplete: the text has more than 20,000 different candidates for stored values, more than 1,000 findings, or more than 100 live tokens to revoke. Send it in smaller parts.',
    }),
  })
  .openapi('Scan');
