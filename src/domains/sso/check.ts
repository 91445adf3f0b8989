// The daily check of verified domains, in the Worker. Invariant: only an answer that there is no such record
// counts as missing; a resolver that does not answer changes nothing.
import type { JobContext } from '../../delivery/job';
import { settingsOf } from '../../env';
import { unwrap } from '../../gate/request/outcome';
import { keyringOf } from '../../keys/keyring';
import { txtRecords } from './dns';
import type { Checked } from './gate/domains';
import { claim } from './owner';
import { recordOf } from './rules';

export async function checkRecords({ env, ask }: JobContext): Promise<void> {
  const settings = settingsOf(env);
  if ('problem' in settings) return;
  const asking = { env, keyring: keyringOf(env, settings.masterKeys) };
  for (const row of unwrap(await ask('domain.check', {})).data as Checked[]) {
    const { name, value } = recordOf(row);
    const records = await txtRecords(settings.resolver, name);
    if (records === null) continue;
    const isThere = records.includes(value);
    // A restored organisation may have lost the domain to another one since.
    const isTaken = isThere && (await claim(asking, row.domain, { org: row.org_id, id: row.id })) === null;
    const found = isTaken ? 'taken' : isThere ? 'found' : 'missing';
    // A row that is gone, or pending, in the meantime needs nothing.
    if (found !== 'found' || row.missing_since !== null)
      await ask('domain.check', { id: row.id, found }, 'domain.checked');
  }
}
