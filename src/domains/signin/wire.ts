// Request and response schemas of sign-in.

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { type CredentialRow, isTerminal, type MemberRow, roles } from '../../db/schema';
import type { Use } from '../../gate/limits/last-used';
import { iso, isoOrNull, pageOf, Time } from '../../http/wire';
import { Assertion, Attestation } from '../passkeys/wire';

const token = z
  .string()
  .min(1)
  .max(200)
  .openapi({ description: 'The part of the enrolment link after #.', example: 'svcenrol_…' });
export const EnrolOptionsIn = z.strictObject({ token }).openapi('EnrolOptionsIn');
export const EnrolIn = z.strictObject({ token, response: Attestation }).openapi('EnrolIn');
export const LoginOptionsIn = z.strictObject({}).openapi('LoginOptionsIn');
export const LoginIn = z.strictObject({ response: Assertion }).openapi('LoginIn');

/**
 * A refresh token or device code. The limit is above the length of a genuine one, so that another kind of
 * token gets the response for an unknown one.
 */
export const Proof = z.string().min(1).max(4096);

export const RefreshIn = z
  .strictObject({
    refresh_token: Proof.optional().openapi({ description: 'For a terminal session.', example: 'svcref_…' }),
  })
  .openapi('RefreshIn');

const SignedInMember = z
  .object({
    id: z.string().openapi({ example: exampleId('member') }),
    email: z.string(),
    name: z.string().openapi({ example: 'Ann' }),
    role: z.enum(roles),
    environments: z.array(z.string()).nullable().openapi({
      description: 'Slugs of the environments in which the role holds. null means all.',
      example: null,
    }),
    org_id: z.string(),
  })
  .openapi('SignedInMember');

export const SignedIn = z
  .object({
    token: z.string().openapi({
      description: 'A JWT for the Authorization header. It is valid for ten minutes.',
      example: 'eyJhbGciOiJFUzI1NiIs…',
    }),
    expiresAt: Time,
    member: SignedInMember,
  })
  .openapi('SignedIn');

export const refreshToken = z
  .string()
  .openapi({ description: 'For a terminal session: renews it once.', example: 'svcref_…' });

export const Refreshed = SignedIn.extend({ refresh_token: refreshToken.optional() }).openapi('Refreshed');

export const Session = z
  .object({
    id: z.string().openapi({ example: exampleId('browser') }),
    created_at: Time,
    expires_at: Time.openapi({ description: 'When the session expires unless it is refreshed.' }),
    last_used_at: Time.nullable(),
    last_used_place: z.string().nullable().openapi({ example: 'Zurich, CH (ZRH)' }),
    current: z.boolean().openapi({ description: 'Whether this session made the request.' }),
    client: z.enum(['browser', 'terminal']),
    client_name: z.string().nullable().openapi({
      description: 'For a terminal session: the name that the program gave itself.',
      example: 'svc on ann-laptop',
    }),
    method: z.enum(['passkey', 'sso']).openapi({ description: 'How the member signed in.' }),
    passkey_id: z
      .string()
      .nullable()
      .openapi({ example: exampleId('passkey') }),
  })
  .openapi('BrowserSession');
export const SessionPage = pageOf(Session, 'BrowserSessionPage');

export const signedInMember = (
  { id, email, name, role, org_id }: MemberRow,
  environments: string[] | null,
): z.infer<typeof SignedInMember> => ({
  id,
  email,
  name,
  role,
  environments,
  org_id,
});

export const sessionOut = (
  row: CredentialRow,
  used: Use | null,
  current: boolean,
): z.infer<typeof Session> => ({
  id: row.id,
  created_at: iso(row.created_at),
  expires_at: iso(row.expires_at as number),
  last_used_at: isoOrNull(used?.at ?? null),
  last_used_place: used?.place ?? null,
  current,
  client: isTerminal(row) ? 'terminal' : 'browser',
  client_name: row.name,
  method: row.sso ? 'sso' : 'passkey',
  passkey_id: row.passkey_id,
});
