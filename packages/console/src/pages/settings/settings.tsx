// Settings: the organisation, environments, the member's own sign-in, the audit log, and the deployment, each
// in a tab.

import { Tabs } from '../../ui/controls/tabs';
import { PageHead } from '../../ui/parts';
import { AuditSettings } from './audit';
import { Deployment } from './deployment';
import { Environments } from './environments';
import { Organisation } from './organisation';
import { Passkeys } from './passkeys';
import { Sessions } from './sessions';
import './settings.css';

const SignIn = () => (
  <div class="sections">
    <Passkeys />
    <Sessions />
  </div>
);

export default function Settings() {
  return (
    <>
      <PageHead title="Settings" />
      <Tabs
        label="Settings"
        items={[
          { id: 'organisation', label: 'Organisation', content: () => <Organisation /> },
          { id: 'environments', label: 'Environments', content: () => <Environments /> },
          { id: 'sign-in', label: 'Your sign-in', content: () => <SignIn /> },
          { id: 'audit', label: 'Audit log', content: () => <AuditSettings /> },
          { id: 'deployment', label: 'Deployment', content: () => <Deployment /> },
        ]}
      />
    </>
  );
}
