// The rows of stored connections.
import { rowKind } from '../../db/rows';
import { type IntegrationRow, integrations } from '../../db/schema';
import { lasting, REMOVE } from '../../gate/limits/quotas';

declare module '../../db/rows' {
  interface RowTypes {
    integration: IntegrationRow;
  }
}

export const integration = rowKind('integration', {
  table: integrations,
  space: (row) => row.kind,
  key: (row) => row.id,
  added: ['maker', 'reach', 'of_agent', 'changed_by'],
  maker: ({ created_by }) => created_by,
  // The API promises this number to an organisation, whoever uses it.
  quota: lasting(100, 100, 'connections', REMOVE),
});
