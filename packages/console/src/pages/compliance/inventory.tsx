// The inventory of the report: counts, and the age of values.

import { counted } from '../../counted';
import { Facts, Time } from '../../ui/parts';
import { nameOfKind } from '../credentials/words';
import type { Report } from './status';

type Numbers = Report['inventory'];

function Ages({ secrets }: Pick<Numbers, 'secrets'>) {
  const most = Math.max(1, ...secrets.by_age.map((age) => age.secrets));
  return (
    <ul class="bars" aria-label="Active secrets by age of their value">
      {secrets.by_age.map(({ days, secrets: count }) => (
        <li key={days}>
          <span>{days} days</span>
          <span class="bar" style={{ '--part': count / most }} />
          <span>{count.toLocaleString()}</span>
        </li>
      ))}
    </ul>
  );
}

const CredentialsTable = ({ credentials }: Pick<Numbers, 'credentials'>) => (
  <div class="table-scroll" tabIndex={0} role="region" aria-label="Credentials">
    <table class="plain-table">
      <thead>
        <tr>
          <th scope="col">Kind</th>
          <th scope="col">Live</th>
          <th scope="col">No expiry</th>
          <th scope="col">Unused</th>
          <th scope="col">Unused scopes</th>
        </tr>
      </thead>
      <tbody>
        {credentials.map(({ kind, live, without_expiry, unused, over_scoped }) => (
          <tr key={kind}>
            <th scope="row">{nameOfKind(kind)}</th>
            {[live, without_expiry, unused, over_scoped].map((number, index) => (
              <td key={index}>{number.toLocaleString()}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

export function Inventory({ inventory }: { inventory: Numbers }) {
  const { secrets, credentials, members, devices, policies, audit_log: log } = inventory;
  return (
    <div class="sections">
      <section class="stack">
        <h2>Secrets</h2>
        <p class="dim">
          {secrets.active.toLocaleString()} active, {secrets.generated.toLocaleString()} of them generated
          here; {secrets.expired} expired, {secrets.revoked} revoked, {secrets.deleted} deleted and
          restorable. By age of their value:
        </p>
        <Ages secrets={secrets} />
      </section>
      <section class="stack">
        <h2>Credentials</h2>
        <CredentialsTable credentials={credentials} />
      </section>
      <section class="stack">
        <h2>People, devices and policies</h2>
        <Facts
          items={[
            [
              'Members',
              `${members.total}, ${members.without_passkey} without a passkey, ${members.suspended} suspended`,
            ],
            [
              'By role',
              Object.entries(members.by_role)
                .map(([role, count]) => `${count} ${role}`)
                .join(', '),
            ],
            ['Devices', `${devices.total}, ${devices.assigned} assigned, ${devices.blocked} blocked`],
            [
              'Policies in force',
              `${policies.naming} naming, ${policies.rotation} rotation, ${policies.approval} approval`,
            ],
            [
              'Audit log',
              `${counted(log.head?.sequence ?? 0, 'entry', 'entries')}, kept for ${counted(log.retention_days, 'day')}`,
            ],
            ['Last checkpoint', <Time at={log.last_checkpoint?.time} none="None yet" />],
          ]}
        />
      </section>
    </div>
  );
}
