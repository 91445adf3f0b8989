// The mutants of the audit log and of what D1 was made to say. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  {
    name: 'an adoption in the future hides what a survey found',
    tag: 'adopted-since-and-not-later',
    change: { from: ' || adopted > clock', to: '' },
    notice: 'unit/health/survey: health: an adoption in the future hides no lost organisation',
  },
  {
    name: 'a mend in the future hides what a survey found',
    tag: 'mended-since-and-not-later',
    change: { from: ' && at <= clock', to: '' },
    notice: 'unit/health/survey: health: a mend in the future, as after the clock went back, hides no fault',
  },
  {
    name: 'a histogram counts what its caller may not read',
    tag: 'histogram-within-view',
    change: { from: 'shows(view, entry)', to: 'true' },
    notice:
      'api/audit/histogram: permission: is the same whether or not something happened outside an environment',
  },
  // ---------------------------------------------------------------- keys
  {
    name: 'a vault that has lost its deployment key gets a new one',
    tag: 'deployment-key-not-replaced',
    change: { from: 'not exists (select 1 from orgs) and not exists (select 1 from org_keys)', to: '1' },
    notice: 'faults/key-rotation: is not replaced after the loss of its row',
  },
  ...checks({
    'rewrap-under-known-master': 'faults/key-rotation: wraps nothing: the right key still opens everything',
    'no-org-without-deployment-key':
      'faults/key-rotation: no organisation is made by an isolate that knows the key, once its row',
    'no-org-under-another-deployment-key':
      'faults/key-rotation: no organisation is made by an isolate that knows the key, once its row',
    'org-key-under-known-master':
      'faults/key-rotation: makes no organisation, whose key the right one would not open',
  }),
  {
    name: 'a database that was emptied gets a new deployment key',
    tag: 'lost-database-gets-no-key',
    change: 'always',
    notice: 'faults/health: with a database that was emptied: no new key is made, for any request',
  },
  {
    name: 'rows that D1 lost or has altered are not told',
    tag: 'lost-rows-told',
    change: { from: 'other?.mac === row.mac && isWhole', to: 'true' },
    notice: 'faults/health-rows: is degraded with a secret that D1 lost, until it is mended',
  },
  {
    name: 'organisations that D1 lost are not told',
    tag: 'lost-orgs-told',
    change: { from: 'pages[at]?.differ.length);', to: 'false);' },
    notice: 'faults/health-rows: is down without any organisation, although the deployment key is there',
  },
  {
    name: 'the deployment key of another vault is not told',
    tag: 'other-deployment-key-told',
    change: { from: 'markOf(masters, deployment) !== mark', to: 'false' },
    notice: 'faults/health-rows: is down with the deployment key of another vault',
  },
  {
    name: 'the deployment key of another vault is taken for the own one by a scheduled run',
    tag: 'mark-of-own-key-kept',
    change: { from: 'before.mark ?? ', to: '' },
    notice: 'faults/health-rows: is down with the deployment key of another vault',
  },
  {
    name: 'segments of the audit log that D1 lost are not told',
    tag: 'lost-segments-told',
    change: { from: 'there.get(sequence) === hash || isTold || isCut', to: 'true' },
    notice:
      'faults/health-rows: is degraded without the newest segment of the audit log, until it is mended or told',
  },
  {
    name: 'a clock that was accepted once is right for ever',
    tag: 'accepted-clock-only',
    change: { from: 'accepted?.log !== log || accepted.seen > time + BEHIND', to: 'accepted === null' },
    notice:
      'faults/clock: is ok from then on, and degraded again once the clock is set back further, or leaps again',
  },
  // ---------------------------------------------------------------- the audit log
  ...checks({
    'audit-cut-noted': 'api/audit/verify: a deleted oldest segment of a gate that began again is found',
    'recovery-moves-its-entry':
      'api/audit/verify: a gate lost again before its entries moved: no sequence is reused, and each gap is reported',
    'retention-by-owner':
      'api/audit/retention: permission: only an owner, confirmed; org:write is not enough',
    'audit-export-whole':
      'api/audit/retention: an export is empty if nothing is past retention, and needs audit:read without limits',
    'export-reaches-end': 'api/audit/retention: an export without its last segment breaks off',
    'readers-bounded': 'api/audit/readers: are bounded',
  }),
  {
    name: 'an answer leaves before its audit entry is written',
    tag: 'audit-before-response',
    change: {
      from: 'core.auditLog.append(draft(audit), status, core.now())',
      to: 'void scheduler.wait(1000).then(() => core.auditLog.append(draft(audit), status, core.now()))',
    },
    notice: 'faults/changes: audit log: its entry is stored before the response leaves',
  },
  {
    name: 'an entry does not hold the hash before it',
    tag: 'audit-hash-chain',
    change: { from: ': hash', to: ": ''" },
    notice: 'faults/lifecycle: moves closed segments to D1',
  },
  {
    name: 'a segment leaves the gate though D1 has not taken it',
    tag: 'segment-kept-until-stored',
    notice: 'faults/lifecycle: keeps entries that D1 rejects',
  },
  {
    name: 'a check of the chain begins wherever the database begins',
    tag: 'audit-verified-from-cut',
    change: 'never',
    notice: 'api/audit/retention: segments go after 400 days',
  },
  {
    name: 'segments before the cut are shown',
    tag: 'audit-cut-not-shown',
    change: { from: 'cut', to: '0' },
    notice:
      'api/audit/retention: times in D1 delete nothing, and old segments that reappear in D1 are neither shown nor kept',
  },
  {
    name: 'a checkpoint is believed without its signature',
    tag: 'checkpoint-signature-checked',
    change: {
      from: '(await crypto.subtle.verify(ED25519, verifying, bytes, messageOf(org_id, statement)))',
      to: 'true',
    },
    notice: 'api/audit/verify: that were altered in any column, forged or deleted are found',
  },
  {
    name: 'an entry is not compared with its checkpoint',
    tag: 'checkpoint-compared',
    change: 'never',
    notice: 'api/audit/verify: find a log that was rewritten with right hashes',
  },
  {
    name: 'a checkpoint that was deleted is not missed',
    tag: 'checkpoint-deletion-noticed',
    change: { from: 'sequence >= from', to: 'false' },
    notice: 'api/audit/verify: that were altered in any column, forged or deleted are found',
  },
  {
    name: 'a checkpoint ahead of the log is no fault',
    tag: 'truncated-log-noticed',
    change: { from: "? { sequence: head.sequence + 1, id: null, reason: 'cut_off' }", to: '? null' },
    notice:
      "api/audit/verify: entries deleted from the gate's log: a checkpoint is ahead of them, and later contradicts entries with their sequences",
  },
  {
    name: 'the Worker determines the content of a checkpoint',
    tag: 'checkpoint-stored-as-stated',
    change: {
      from: '{ ...signed, ...statement, org_id: ask.org }',
      to: '{ ...statement, ...signed, org_id: ask.org }',
    },
    notice: 'api/audit/checkpoints: the gate stores its own statement',
  },
  {
    name: 'a checkpoint counts as stored although D1 has not accepted it',
    tag: 'checkpoint-stored-before-noted',
    notice: 'api/audit/checkpoints: a job that is cut off between signing and storing',
  },
  {
    name: 'a gate that lost its storage uses signed sequences again',
    tag: 'signed-sequences-not-reused',
    change: { from: 'Math.max(last, signed?.newest ?? 0)', to: 'last' },
    notice:
      'api/audit/verify: the newest segments deleted, and the gate lost: the gap is reported, checkpoints confirm it, and no sequence is reused',
  },
  {
    name: 'segments go before their export is confirmed',
    tag: 'segments-kept-until-exported',
    change: 'never',
    notice:
      'api/audit/retention: nothing is deleted before its export is confirmed; the export ends with the signed checkpoint at the cut',
  },
  {
    name: 'a caller that is limited to names exports the audit log',
    tag: 'export-by-unlimited-callers',
    change: { from: "mustReachAll(caller, ['audit:read'], 'export the audit log')", to: 'null' },
    notice:
      'api/audit/retention: an export is empty if nothing is past retention, and needs audit:read without limits',
  },
  {
    name: 'a caller that is limited to environments or names changes the organisation',
    tag: 'organisation-by-unlimited-callers',
    change: { from: "mustReachAll(caller, need.scopes, 'change the organisation')", to: 'null' },
    notice: 'api/access/permissions: changes neither the organisation nor its environments',
  },
  {
    name: 'an export is confirmed with any hash',
    tag: 'export-confirmed-by-hash',
    change: { from: '!equal(end.hash, input.hash)', to: 'false' },
    notice:
      'api/audit/retention: nothing is deleted before its export is confirmed; the export ends with the signed checkpoint at the cut',
  },
  {
    name: 'an export does not check the chain',
    tag: 'export-chain-checked',
    notice: 'api/audit/retention: an export of tampered entries fails and has no last line',
    survives: 'a chain with a fault does not reach the end of the export, which then has no last line either',
  },
  {
    name: 'a caller limited to some names sees all readers',
    tag: 'readers-within-view',
    change: { from: 'shows(view, ', to: 'shows(null, ' },
    notice:
      'api/audit/readers: permission: needs audit:read and the secret within reach; a limited caller sees what its view of the log shows',
  },
  {
    name: 'a check of the chain does not compare the hash before an entry',
    tag: 'audit-prev-hash-checked',
    change: { from: ' || entry.prev_hash !== prev', to: '' },
    notice: 'faults/tampering: that were rewritten with right hashes',
  },
  {
    name: 'a check of the chain does not recalculate hashes',
    tag: 'audit-hash-checked',
    change: { from: ' || entry.hash !== hashOf(entry)', to: '' },
    notice: 'faults/tampering: that were rewritten with right hashes',
  },

  // ---------------------------------------------------------------- what D1 was made to say
  {
    name: 'the Worker opens a value without checking the MAC of its row',
    tag: 'decrypted-secret-mac',
    change: { from: "equal(row.mac, macOf(keys.row, 'secret', row))", to: 'true' },
    notice: 'faults/tampering: is not decrypted by the Worker',
  },
  {
    name: 'the Worker opens a value without checking the MAC of its version',
    tag: 'decrypted-version-mac',
    change: { from: "equal(version.mac, macOf(keys.row, 'version', version))", to: 'true' },
    notice: 'faults/tampering: is not decrypted by the Worker',
  },
  {
    name: 'a session token that only D1 knows is revoked without its MAC',
    tag: 'revoked-session-mac',
    change: { from: " && row.mac === macOf(rowKeyOf(call), 'credential', row)", to: '' },
    notice: 'faults/tampering: is refused: planted without a genuine tag, for another org',
  },
  {
    name: 'a version that comes from D1 is believed without its MAC',
    tag: 'fetched-version-mac',
    change: { from: "version.mac === macOf(key, 'version', version)", to: 'true' },
    notice: 'faults/tampering: raises one integrity violation a request',
  },
  {
    name: 'a gate that lost its storage believes rows without their MAC',
    tag: 'recovered-row-mac',
    change: { from: ' || row.mac !== macOf(key, kind, row)', to: '' },
    notice: 'faults/tampering: refuses a row with a wrong MAC',
  },
  {
    name: 'a gate without state begins empty where D1 does not know its organisation',
    tag: 'org-known-to-database',
    notice: 'faults/lifecycle: does not start empty when D1 lost the organisation too',
  },
];
