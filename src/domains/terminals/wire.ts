// Request and response schemas of terminal login.
import { z } from '@hono/zod-openapi';
import { exampleId } from '../../db/ids';
import { Time, text } from '../../http/wire';
import { Proof, refreshToken, SignedIn } from '../signin/wire';

export const StartIn = z
  .strictObject({
    client_name: text(100).openapi({
      description:
        'The name that the program gives itself. The member sees it together with the client address.',
      example: 'svc on ann-laptop',
    }),
  })
  .openapi('DeviceLoginIn');

export const Started = z
  .object({
    device_code: z.string().openapi({ description: 'For polls. Keep it secret.', example: 'svcdc_…' }),
    user_code: z.string().openapi({ description: 'Show it to the user.', example: 'WDJB-MJHT' }),
    verification_uri: z.string().openapi({ example: 'https://vault.example.com/device' }),
    verification_uri_complete: z.string().openapi({
      description:
        'The same page, with the code filled in. The code is in the fragment, which browsers do not send.',
      example: 'https://vault.example.com/device#WDJB-MJHT',
    }),
    expires_in: z.int().openapi({ description: 'Seconds until the codes expire.' }),
    interval: z.int().openapi({ description: 'Seconds to wait between two polls.' }),
  })
  .openapi('DeviceLogin');

export const PollIn = z
  .strictObject({ device_code: Proof.openapi({ example: 'svcdc_…' }) })
  .openapi('DeviceTokenIn');

export const TerminalSignedIn = SignedIn.extend({ refresh_token: refreshToken }).openapi('TerminalSignedIn');

export const CodeIn = z
  .strictObject({
    user_code: z
      .string()
      .min(1)
      .max(32)
      .openapi({ description: 'Case, spaces and hyphens are ignored.', example: 'WDJB-MJHT' }),
  })
  .openapi('UserCodeIn');

export const Asking = z
  .object({
    user_code: z.string().openapi({ example: 'WDJB-MJHT' }),
    client_name: z.string().openapi({
      description: 'The name that the program gives itself. It is not verified.',
      example: 'svc on ann-laptop',
    }),
    address: z.string(),
    place: z.string().nullable().openapi({ example: 'Zurich, CH (ZRH)' }),
    same_address: z.boolean().openapi({ description: 'Whether this request comes from the same address.' }),
    created_at: Time,
    expires_at: Time,
  })
  .openapi('DeviceLoginRequest');

export const Decided = z
  .object({
    status: z.enum(['confirmed', 'denied']),
    session_id: z
      .string()
      .nullable()
      .openapi({
        description: 'The session of the terminal; null if denied.',
        example: exampleId('browser'),
      }),
  })
  .openapi('DeviceLoginDecided');
