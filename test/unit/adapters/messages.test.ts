// Messages about events: the page that each links to.
import { expect, it } from 'vitest';
import type { Sent } from '../../../src/delivery/gate/attempts';
import { messageAbout } from '../../../src/domains/integrations/events';

const sent = (type: string, data: Record<string, unknown>): Sent => ({ id: 'evt_1', type, at: 0, data });
const linkOf = (...events: Sent[]) => messageAbout(events, 'org_1', 'https://vault.example.com').link;

it.each([
  ['SECRET_ROTATED', { secret_id: 'sec_1' }, 'secrets/sec_1', 'secrets'],
  ['APPROVAL_REQUESTED', { approval_id: 'apr_1', secret_id: 'sec_1' }, 'approvals/apr_1', 'approvals'],
  ['DEVICE_BLOCKED', { device_id: 'dev_1' }, 'devices?id=dev_1', 'devices'],
  ['MEMBER_ENROLLED', { member_id: 'mem_1' }, 'members/mem_1', 'members'],
  ['WEBHOOK_DISABLED', { webhook_id: 'whk_1', host: 'example.com' }, 'webhooks/whk_1', 'webhooks'],
  ['LOG_STREAM_DISABLED', { log_stream_id: 'log_1', name: 'SIEM' }, 'log-streams/log_1', 'log-streams'],
  ['POLICY_CHANGED', { policy_id: 'pol_1', name: 'p' }, 'policies/pol_1', 'policies'],
  ['TRUST_CHANGED', { credential_id: 'trs_1', kind: 'trust' }, 'credentials/trs_1', 'credentials'],
  ['GRANT_REMOVED', { grant_id: 'grt_1', grantee_id: 'mem_1' }, 'audit', 'audit'],
  ['BREAK_GLASS_USED', { credential_id: 'bgt_1' }, 'credentials/bgt_1', 'credentials'],
  ['INCIDENT_OPENED', { incident_id: 'inc_1', credential_id: 'key_1' }, 'incident/report/inc_1', 'incident'],
  ['SYNC_FAILED', { sync_id: 'syn_1' }, 'syncs/syn_1', 'syncs'],
  ['AUDIT_CHECKPOINT', { seq: 7 }, 'audit', 'audit'],
])('notify: a message about %s links to its page in the console', (type, data, one, all) => {
  expect(linkOf(sent(type, data))).toBe(`https://vault.example.com/console/${one}`);
  expect(linkOf(sent(type, data), sent(type, data))).toBe(`https://vault.example.com/console/${all}`);
  expect(messageAbout([sent(type, data)], 'org_1', null).link).toBeNull();
});
