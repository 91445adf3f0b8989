// The rows of passkeys.
import { rowKind } from '../../db/rows';
import { type PasskeyRow, passkeys } from '../../db/schema';

declare module '../../db/rows' {
  interface RowTypes {
    passkey: PasskeyRow;
  }
}

export const passkey = rowKind('passkey', {
  isReadFirst: (_, before) => before === null,
  table: passkeys,
  space: (row) => row.member_id,
  key: (row) => row.credential_id,
  quota: 'bounded for each member when one is added',
});
