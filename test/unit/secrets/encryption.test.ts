// Values that the Worker decrypts: whatever it has checked before, a delivered value is that of the
// organisation that asks.
import { describe, expect, it } from 'vitest';
import { randomBytes } from '../../../src/crypto/bytes';
import { newId } from '../../../src/db/ids';
import { macOf } from '../../../src/db/rows';
import { decryptValue, encryptValue } from '../../../src/domains/secrets/encryption';
import type { Delivered, Readable } from '../../../src/domains/secrets/rules';
import { deriveOrg, type OrgKeys } from '../../../src/keys/keyring';

const rest = { environment: 'production', now: 1 };

/** A secret of an organisation, as its gate delivers it. */
function delivered(keys: OrgKeys, org: string, value = 'correct horse'): Readable & { text: string } {
  const id = newId('sec');
  const encrypted = encryptValue(keys, org, id, value);
  const { value_sealed: _, ...current } = encrypted;
  const times = { created_at: 1, updated_at: 1, expires_at: null, lifetime_seconds: null, deleted_at: null };
  const none = {
    description: null,
    tags: {},
    rotate_every_seconds: null,
    lost_versions: null,
    revoked_at: null,
    revoked_through: null,
  };
  const rotation = { rotated_at: null, auto_rotate: null, binary: null, unlabelled: null };
  const row = {
    org_id: org,
    id,
    environment_id: newId('env'),
    name: 'A',
    type: 'generic' as const,
    version: 1,
    amended: 0,
    oldest_version: 1,
    ...current,
    ...times,
    ...none,
    ...rotation,
    sealed_size: encrypted.value_sealed.length,
    revision: 1,
    mac: '',
  };
  const version = {
    org_id: org,
    secret_id: id,
    version: 1,
    ...encrypted,
    binary: null,
    request_token: null,
    created_by: 'key_x',
    created_at: 1,
    mac: '',
  };
  row.mac = macOf(keys.row, 'secret', row);
  version.mac = macOf(keys.row, 'version', version);
  return { row, version, text: JSON.stringify({ row, version }) };
}

const asText = ({ version, text }: Readable & { text: string }): Delivered => ({
  seal_id: version.seal_id,
  text,
  ...rest,
});
const asObject = ({ row, version }: Readable): Delivered => ({ row, version, ...rest });

describe('decryption: a delivered value', () => {
  const ours = deriveOrg(randomBytes(32));
  const theirs = deriveOrg(randomBytes(32));

  it('is decrypted, as text and as an object, the first time and later', async () => {
    const secret = delivered(ours, 'org_a');
    for (const form of [asText, asText, asObject, asObject])
      expect(await decryptValue(ours, 'org_a', form(secret))).toMatchObject({
        value: 'correct horse',
        row: { id: secret.row.id },
      });
  });

  it("of another organisation is refused, also after that organisation's Worker checked the same text", async () => {
    const secret = delivered(theirs, 'org_b');
    expect((await decryptValue(theirs, 'org_b', asText(secret))).value).toBe('correct horse');
    for (const form of [asText, asObject]) {
      await expect(decryptValue(ours, 'org_a', form(secret))).rejects.toThrow();
      await expect(decryptValue(theirs, 'org_a', asObject(secret))).rejects.toThrow();
    }
  });

  it('is refused if its text was altered after it was checked', async () => {
    const secret = delivered(ours, 'org_a');
    const other = delivered(ours, 'org_a', 'another value');
    await decryptValue(ours, 'org_a', asText(secret));
    const swapped = {
      row: secret.row,
      version: { ...secret.version, value_sealed: other.version.value_sealed },
    };
    const older = { row: { ...secret.row, revoked_at: null, expires_at: 9e12 }, version: secret.version };
    for (const altered of [swapped, older, { ...secret, version: other.version }])
      await expect(
        decryptValue(ours, 'org_a', asText({ ...altered, text: JSON.stringify(altered) })),
      ).rejects.toThrow();
    const under = { seal_id: secret.version.seal_id, text: JSON.stringify(swapped), ...rest };
    await expect(decryptValue(ours, 'org_a', under)).rejects.toThrow();
    expect((await decryptValue(ours, 'org_a', asText(secret))).value).toBe('correct horse');
  });
});
