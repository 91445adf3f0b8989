// Request and response schemas of devices.
import { z } from '@hono/zod-openapi';
import { type PublicKey, thumbprintOf } from '../../auth/authentication/jwk';
import { exampleId } from '../../db/ids';
import type { DeviceRow } from '../../db/schema';
import { iso, isoOrNull, Name, pageOf, pageQuery, Revision, Time, text } from '../../http/wire';

export const statuses = ['active', 'blocked'] as const;
export type Status = (typeof statuses)[number];

const Platform = text(64).openapi({ description: 'Its platform, as free text.', example: 'macOS 26' });
const Serial = text(128).openapi({ description: 'Its serial number or asset tag.', example: 'C02XK1JHJG5H' });
const MemberId = z
  .string()
  .min(1)
  .max(64)
  .openapi({ example: exampleId('member') });

/** The example key of RFC 8037, appendix A. */
const exampleKey = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

/** A coordinate: 32 bytes in base64url. */
const Coordinate = z.string().min(43).max(43);

/** A public key as a JWK. Other members that key generators add are accepted but not stored. */
const PublicKeyIn = z
  .strictObject({
    kty: z.enum(['EC', 'OKP']),
    crv: z.enum(['P-256', 'Ed25519']),
    x: Coordinate,
    y: Coordinate.optional(),
    kid: z.string().max(256).optional(),
    use: z.string().max(16).optional(),
    alg: z.string().max(16).optional(),
    key_ops: z.array(z.string().max(16)).max(10).optional(),
    ext: z.boolean().optional(),
  })
  .openapi({
    description:
      'The public half of a P-256 or Ed25519 key, as a JWK. Only kty, crv, x and y are kept. A private key (d) is refused.',
    example: exampleKey,
  });

export const DeviceIn = z
  .strictObject({
    name: Name,
    platform: Platform,
    serial: Serial.optional(),
    public_key: PublicKeyIn.optional(),
  })
  .openapi('DeviceIn');

export const DevicePatch = z
  .strictObject({
    name: Name.optional(),
    platform: Platform.optional(),
    serial: Serial.nullable().optional(),
  })
  .openapi('DevicePatch');

export const DeviceAssign = z
  .strictObject({
    member_id: MemberId.nullable().openapi({ description: 'The member to assign it to. null unassigns it.' }),
  })
  .openapi('DeviceAssign');

export const DeviceQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(statuses).optional().openapi({ description: 'Only devices with this status.' }),
  member_id: MemberId.optional().openapi({ description: 'Only devices that are assigned to this member.' }),
});

export const Device = z
  .object({
    id: z.string().openapi({ example: exampleId('device') }),
    revision: Revision,
    name: z.string(),
    platform: Platform,
    serial: Serial.nullable(),
    public_key: z
      .object({
        kty: z.enum(['EC', 'OKP']),
        crv: z.enum(['P-256', 'Ed25519']),
        x: z.string(),
        y: z.string().optional(),
      })
      .nullable()
      .openapi({ description: 'Its public key as a JWK. It cannot be changed.', example: exampleKey }),
    thumbprint: z.string().nullable().openapi({
      description: 'The thumbprint of the public key (RFC 7638).',
      example: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    }),
    member_id: MemberId.nullable(),
    status: z.enum(statuses).openapi({
      description:
        'blocked: it was blocked, or the member it is assigned to was removed. A blocked device stays blocked.',
    }),
    created_at: Time,
    created_by: z
      .string()
      .openapi({ description: 'Id of the credential or member that registered the device.' }),
    assigned_at: Time.nullable(),
    blocked_at: Time.nullable(),
  })
  .openapi('Device');
export const DevicePage = pageOf(Device, 'DevicePage');

export const deviceOut = (row: DeviceRow, status: Status): z.infer<typeof Device> => {
  const public_key = row.public_key as PublicKey | null;
  return {
    id: row.id,
    revision: row.revision,
    name: row.name,
    platform: row.platform,
    serial: row.serial,
    public_key,
    thumbprint: public_key && thumbprintOf(public_key),
    member_id: row.member_id,
    status,
    created_at: iso(row.created_at),
    created_by: row.created_by,
    assigned_at: isoOrNull(row.assigned_at),
    blocked_at: isoOrNull(row.blocked_at),
  };
};
