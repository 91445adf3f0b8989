// Request and response schemas of passkeys, and the WebAuthn JSON of navigator.credentials
// (PublicKeyCredential.toJSON).

import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import type { PasskeyRow } from '../../db/schema';
import { iso, Name, pageOf, Revision, Time } from '../../http/wire';

const bytes = (most: number, example = 'AAAA') =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[\w-]+$/, 'must be base64url without padding')
    .openapi({ example });

/** Other fields that browsers add, such as clientExtensionResults, are ignored. */
const credential = {
  id: bytes(1400),
  rawId: bytes(1400),
  type: z.literal('public-key'),
  authenticatorAttachment: z.string().max(32).nullable().optional(),
};

export const Attestation = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(4000),
      attestationObject: bytes(40_000),
      transports: z
        .array(z.string().regex(/^[a-z-]{1,32}$/, 'must be a transport: 1 to 32 characters, a-z and -'))
        .max(10)
        .optional()
        .openapi({ example: ['internal'] }),
    }),
  })
  .openapi('PasskeyCreation', {
    description: 'The result of navigator.credentials.create(), as its toJSON() returns it.',
  });
export type Attestation = z.infer<typeof Attestation>;

export const Assertion = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(4000),
      authenticatorData: bytes(4000),
      signature: bytes(4000),
      userHandle: z.string().max(100).nullable().optional().openapi({ example: 'AAAA' }),
    }),
  })
  .openapi('PasskeyAssertion', {
    description: 'The result of navigator.credentials.get(), as its toJSON() returns it.',
  });
export type Assertion = z.infer<typeof Assertion>;

/**
 * Options for navigator.credentials.create(), in the format of
 * PublicKeyCredential.parseCreationOptionsFromJSON().
 */
export const CreationOptions = z
  .object({
    challenge: z.string(),
    rp: z.object({ id: z.string().openapi({ example: 'vault.example.com' }), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(
      z.object({
        type: z.string().openapi({ example: 'public-key' }),
        alg: z.int().openapi({ example: -7 }),
      }),
    ),
    timeout: z.int(),
    attestation: z.string().openapi({ example: 'none' }),
    excludeCredentials: z.array(
      z.object({ id: z.string(), type: z.string(), transports: z.array(z.string()).optional() }),
    ),
    authenticatorSelection: z.object({
      residentKey: z.string(),
      requireResidentKey: z.boolean(),
      userVerification: z.string(),
    }),
    extensions: z.record(z.string(), z.unknown()).openapi({ example: { credProps: true } }),
    hints: z.array(z.string()),
  })
  .openapi('CreationOptions');

export const RequestOptions = z
  .object({
    challenge: z.string(),
    rpId: z.string().openapi({ example: 'vault.example.com' }),
    timeout: z.int(),
    userVerification: z.string().openapi({ example: 'required' }),
    allowCredentials: z.array(z.object({ id: z.string(), type: z.string() })).openapi({ example: [] }),
  })
  .openapi('RequestOptions');

export const PasskeyIn = z
  .strictObject({ response: Attestation, name: Name.optional().openapi({ example: 'Laptop' }) })
  .openapi('PasskeyIn');
export const PasskeyPatch = z
  .strictObject({ name: Name.openapi({ example: 'Laptop' }) })
  .openapi('PasskeyPatch');

export const Passkey = z
  .object({
    id: z.string().openapi({ example: exampleId('passkey') }),
    revision: Revision,
    name: z.string().openapi({ example: 'Passkey on this device' }),
    transports: z.array(z.string()).openapi({ example: ['internal'] }),
    backed_up: z
      .boolean()
      .openapi({ description: 'Whether a passkey provider keeps a copy, so other devices may have it too.' }),
    created_at: Time,
  })
  .openapi('Passkey');
export const PasskeyPage = pageOf(Passkey, 'PasskeyPage');

export const passkeyOut = ({
  id,
  revision,
  name,
  transports,
  backed_up,
  created_at,
}: PasskeyRow): z.infer<typeof Passkey> => ({
  id,
  revision,
  name,
  transports: transports ?? [],
  backed_up: backed_up === 1,
  created_at: iso(created_at),
});
