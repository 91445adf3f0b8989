// The audit log: entries, integrity and exports.
import { useSearchParams } from 'wouter-preact';
import { here, vault } from '../../requests/api';
import '../../styles/audit.css';
import '../../styles/integrations.css';
import { Menu } from '../../ui/controls/menu';
import { Tabs } from '../../ui/controls/tabs';
import { PageHead } from '../../ui/parts';
import { tell } from '../../ui/toast';
import { download, whole } from '../../ui/values/download';
import { Entries } from './entries';
import { type FilterName, type Filters, queryOf } from './filters';
import { Integrity } from './integrity';

const NDJSON = 'application/x-ndjson';
const today = () => new Date().toISOString().slice(0, 10);

async function exportEntries(filters: Filters): Promise<void> {
  const { data } = await vault().api.GET('/orgs/{org_id}/audit-log', {
    params: { path: here(), query: { ...queryOf(filters, Date.now()), format: 'ndjson' } },
    parseAs: 'stream',
  });
  download(`audit-log-${today()}.ndjson`, NDJSON, await whole(data));
  tell('Entries exported to your downloads', 'One entry per line, newest first.');
}

async function exportCheckpoints(): Promise<void> {
  const { data } = await vault().api.GET('/orgs/{org_id}/audit-log/checkpoints', {
    params: { path: here(), query: { format: 'ndjson' } },
    parseAs: 'stream',
  });
  download(`checkpoints-${today()}.ndjson`, NDJSON, await whole(data));
}

async function exportKey(): Promise<void> {
  const { data } = await vault().api.GET('/orgs/{org_id}/audit-log/key', { params: { path: here() } });
  download('key.json', 'application/json', JSON.stringify(data, null, 2));
}

export default function AuditLog() {
  const [parameters] = useSearchParams();
  const of = (name: FilterName) => parameters.get(name) ?? '';
  const filters: Filters = {
    action: of('action'),
    outcome: of('outcome'),
    actor: of('actor'),
    resource: of('resource'),
    show: of('show'),
    from: of('from'),
    to: of('to'),
    range: of('range'),
  };
  return (
    <>
      <PageHead
        title="Audit log"
        lead="Every request made with a credential of the organisation, and its outcome. Entries never change."
      >
        <Menu
          label="Export"
          actions={[
            { label: 'Filtered entries', onSelect: () => exportEntries(filters) },
            { label: 'Signed checkpoints', onSelect: exportCheckpoints },
            { label: 'Public key', onSelect: exportKey },
          ]}
        >
          Export
        </Menu>
      </PageHead>
      <Tabs
        label="Audit log"
        items={[
          { id: 'entries', label: 'Entries', content: () => <Entries /> },
          { id: 'integrity', label: 'Integrity', content: () => <Integrity /> },
        ]}
      />
    </>
  );
}
