// The rows of incidents.
import { rowKind } from '../../db/rows';
import { type IncidentRow, incidents } from '../../db/schema';

declare module '../../db/rows' {
  interface RowTypes {
    incident: IncidentRow;
  }
}

export const incident = rowKind('incident', {
  table: incidents,
  // A credential has one incident, however often it is contained.
  space: (row) => row.credential?.id ?? '',
  key: (row) => row.id,
  quota: 'the oldest leave, since no containment is refused',
});
