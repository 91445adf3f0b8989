// The safeties of the gate, each as the edit that takes it out, and the tests that should notice,
// as `file: part of a test's name`.
// Invariant: the text that an edit replaces stands exactly once in its file, so that the table stays true to the source.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

/**
 * @typedef {object} Mutant
 * @property {string} name What is taken out.
 * @property {string} file
 * @property {string} from
 * @property {string} to
 * @property {string} notice
 * @property {string} [survives] Why no test can notice: another safety covers this one.
 */

const commit = 'src/gate/commit.ts';
const batch = 'src/gate/batch.ts';
const call = 'src/gate/request.ts';
const rules = 'src/domains/secrets/rules.ts';
const state = 'src/domains/secrets/gate/state.ts';
const versions = 'src/domains/secrets/gate/versions.ts';
const reads = 'src/domains/secrets/gate/reads.ts';
const plans = 'src/domains/secrets/gate/plans.ts';
const changes = 'src/domains/secrets/gate/changes.ts';
const provider = 'src/domains/provider/gate/operations.ts';
const callers = 'src/gate/identity.ts';
const authorize = 'src/auth/authorize.ts';
const issuing = 'src/domains/credentials/gate/create.ts';
const changing = 'src/domains/credentials/gate/update.ts';
const orgs = 'src/domains/orgs/gate/operations.ts';
const members = 'src/domains/members/gate/operations.ts';
const signin = 'src/domains/signin/gate/operations.ts';
const teams = 'src/domains/teams/gate/operations.ts';
const grants = 'src/domains/grants/gate/operations.ts';
const roles = 'src/auth/roles.ts';

/** @type {Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- one change at a time
  {
    name: 'nobody waits for the lock of a row',
    file: 'src/gate/locks.ts',
    from: '          await before;\n',
    to: '',
    notice: 'faults/changes: fifty writers on one secret make versions 2 to 51',
  },
  {
    name: 'whoever makes a credential is not locked meanwhile',
    file: issuing,
    from: '=> [input.token.id, caller.credential, caller.id];',
    to: '=> [input.token.id];',
    notice: 'faults/changes: a mint and the revocation of its parent are serialised',
  },
  {
    name: 'whether the caller is still alive is not asked again under the lock',
    file: commit,
    from: 'const refusal = call.recheck();',
    to: 'const refusal = null;',
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a secret is created in an environment that is being deleted',
    file: plans,
    from: '  if (core.intents.concerns(environment.id).leaving) return',
    to: '  if (false) return',
    notice: 'faults/changes: an environment and a secret in it are never deleted and created together',
  },
  {
    name: 'an environment is deleted into which a secret is being created',
    file: orgs,
    from: ' || core.intents.concerns(row.id).filling) return',
    to: ') return',
    notice: 'faults/changes: an environment and a secret in it are never deleted and created together',
  },
  {
    name: 'other things change while something is in doubt',
    file: commit,
    from: 'if (core.intents.held || core.intents.unsettled().length) return fail(refuse',
    to: 'if (false) return fail(refuse',
    notice: 'model/histories: a keyed create in doubt',
  },

  // ---------------------------------------------------------------- marks
  {
    name: 'no mark is written before the batch',
    file: commit,
    from: '    core.intents.put(intent);\n',
    to: '',
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'the mark is in memory alone',
    file: 'src/gate/intents.ts',
    from: "      sql.exec('insert into marks values (?, ?)', intent.id, JSON.stringify(intent));\n",
    to: '',
    notice: 'faults/changes: and whose gate is evicted is settled by the next gate',
  },
  {
    name: 'a secret in doubt is read',
    file: state,
    from: "ids.some((id) => call.core.intents.isOpen(id)) ? refuse('UNAVAILABLE', { retry_after: 1 }) : null;",
    to: 'null;',
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'a credential whose end is in doubt is admitted',
    file: call,
    from: 'const refusal = notAdmitted(ask, who) ?? inDoubt;',
    to: 'const refusal = notAdmitted(ask, who) ?? (inDoubt && null);',
    notice: 'faults/changes: revocation: refuses the credential whose end is in doubt',
  },

  // ---------------------------------------------------------------- the batch and its marker
  {
    name: 'a batch lands under any epoch',
    file: batch,
    from: "'(select epoch from fences where org_id = ?) = ?'",
    to: "'(? <> ?)'",
    notice: 'faults/sweep: to create a key',
  },
  {
    name: 'a batch lands on any row',
    file: batch,
    from: '...guards.map((guard) => guard.sql)]',
    to: '...guards.map((guard) => `1 or ${guard.sql}`)]',
    notice: 'faults/tampering: is refused with an integrity violation',
  },
  {
    name: 'another row under the planned revision passes for the planned one',
    file: batch,
    from: '`(select mac from ${table} where org_id = ? and id = ?) = ?`, params: [org, row.id, row.mac]',
    to: '`(select revision from ${table} where org_id = ? and id = ?) = ?`, params: [org, row.id, row.revision]',
    notice: 'faults/tampering: a row raised to the revision that comes next',
  },
  {
    name: 'a row is changed from whatever revision it is at',
    file: batch,
    from: 'updateOf(table, row, { ...tenant, id: row.id, revision: from })',
    to: 'updateOf(table, row, { ...tenant, id: row.id })',
    notice: 'faults/tampering: is refused with an integrity violation',
  },
  {
    name: 'many rows are changed though one of them is another',
    file: batch,
    from: 'and t.mac = w.value ->> 1) = ?`',
    to: 'and t.mac = w.value ->> 1) <= ?`',
    notice: 'api/members/members: integrity: ends none of many credentials if one was altered',
  },
  {
    name: 'many rows are looked for by walking the organisation',
    file: 'src/db/statements.ts',
    from: "cross join ${name} t on t.org_id = ? and t.id = w.value ->> 'id' and",
    to: "join ${name} t on t.org_id = ? and +t.id = w.value ->> 'id' and",
    notice: 'api/limits/query-plans: query plan: D1 finds every row by an index',
  },
  {
    name: 'a plan takes as many rows as there are',
    file: commit,
    from: 'return rows.slice(0, past < 0 ? MOST_PUTS : past);',
    to: 'return rows;',
    notice: 'api/members/members: ends very many credentials in one batch, and reports how many remain',
  },
  {
    name: 'a marker may say that its guards do not hold',
    file: 'migrations/0000_foundation.sql',
    from: 'CHECK("commits"."holds" = 1)',
    to: 'CHECK("commits"."holds" >= 0)',
    notice: 'faults/tampering: is refused with an integrity violation',
  },
  {
    name: 'one commit may have two markers',
    file: 'migrations/0000_foundation.sql',
    from: 'CREATE TABLE `commits` (\n\t`id` text PRIMARY KEY NOT NULL',
    to: 'CREATE TABLE `commits` (\n\t`id` text NOT NULL',
    notice: 'faults/sweep: to create a key',
    survives: 'a batch that lands twice meets a row that has moved on, or a raised epoch',
  },
  {
    name: 'what failed without a verdict is taken for undone',
    file: 'src/gate/database.ts',
    from: "end: why.includes('constraint failed') || isTooLarge(why) ? 'refused' : 'unknown'",
    to: "end: 'refused'",
    notice: 'faults/changes: after it took effect is found and answered as done',
  },

  // ---------------------------------------------------------------- the fence
  {
    name: 'an absent marker is believed without raising the epoch',
    file: commit,
    from: '    await core.database.write([{ sql: raise, params: [org, next] }]);\n    if (!(await caughtUp(core, org, next - 1))) return null;\n',
    to: '    void raise;\n',
    notice: 'faults/sweep: to create a key',
  },
  {
    name: 'an absent marker is believed though the epoch could not be raised',
    file: commit,
    from: 'if (!(await caughtUp(core, org, next - 1))) return null;',
    to: 'await caughtUp(core, org, next - 1);',
    notice: 'faults/changes: and may still arrive does not count as undone while the epoch',
  },
  {
    name: 'a database that does not answer is taken for one that was altered',
    file: commit,
    from: "if (raised === null) return 'never';",
    to: '',
    notice: 'faults/changes: is not reported as an integrity violation',
  },
  {
    name: 'a gate that lost its storage goes on under the old epoch',
    file: 'src/gate/recover.ts',
    from: 'const epoch = fence.epoch + 1;',
    to: 'const epoch = fence.epoch;',
    notice: 'faults/lifecycle: ignores batches of its earlier life that arrive later',
  },
  {
    name: 'a gate goes on under an epoch that it did not raise itself',
    file: commit,
    from: " || core.meta.get('raising') !== String(current)",
    to: '',
    notice: 'faults/tampering: a fence raised by one',
  },

  // ---------------------------------------------------------------- settling
  {
    name: 'what a call left open is settled as done, whatever D1 says',
    file: commit,
    from: 'apply(core, intent, present.has(intent.id));',
    to: 'apply(core, intent, true);',
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'what a call left open is settled as never, whatever D1 says',
    file: commit,
    from: 'apply(core, intent, present.has(intent.id));',
    to: 'apply(core, intent, false);',
    notice: 'faults/changes: it takes effect, while D1 stays unavailable, is settled by the next call',
  },
  {
    name: 'a batch without a reply is taken for done, whatever D1 says',
    file: commit,
    from: "return present.has(intent.id) ? 'done' : 'never';",
    to: "return 'done';",
    notice: 'faults/changes: before it takes effect is 503, did nothing, and can be repeated',
  },
  {
    name: 'a batch without a reply is taken for undone, whatever D1 says',
    file: commit,
    from: "return present.has(intent.id) ? 'done' : 'never';",
    to: "return 'never';",
    notice: 'faults/changes: after it took effect is found and answered as done',
  },

  {
    name: 'markers are cleared away while a commit is in doubt',
    file: 'src/gate/tasks.ts',
    from: 'const isSettled = intents.unsettled().length === 0;',
    to: 'const isSettled = !intents.held;',
    notice: 'faults/lifecycle: for more than a day, because D1 takes batches but answers no query',
  },

  // ---------------------------------------------------------------- once
  {
    name: 'the answer of a change is not kept in the turn of its effect',
    file: commit,
    from: '    if (intent.keep) core.storedResponses.save(intent.keep);\n',
    to: '',
    notice: 'faults/changes: idempotency: is found by its key when it is repeated',
  },
  {
    name: 'another request under a used Idempotency-Key gets its answer',
    file: 'src/gate/idempotency.ts',
    from: 'kept.digest !== ask.idempotency.digest',
    to: 'false',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },
  {
    name: 'a twin runs while the first under its Idempotency-Key does',
    file: call,
    from: '    if (ask.idempotency) core.storedResponses.running.set(key, { request: ask.request.id, since: core.now() });\n',
    to: '',
    notice: 'faults/changes: idempotency: twenty requests with one key make one credential',
  },
  {
    name: 'a request that the Worker repeats is not known by its id',
    file: 'src/gate/idempotency.ts',
    from: '`request:${ask.request.id}`',
    to: '`request:${Math.random()}`',
    notice: 'faults/changes: that the Worker repeats after a lost reply is known by its id',
  },
  {
    name: 'a kept answer is replayed to who may no longer do this',
    file: call,
    from: 'const exceeds = ask.input === null ? null : operation.authorize?.(call);',
    to: 'const exceeds = null;',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },

  {
    name: 'a kept answer is found by whoever knows its Idempotency-Key',
    file: 'src/gate/idempotency.ts',
    from: '`key:${root}:${ask.idempotency.key}`',
    to: '`key:${ask.idempotency.key}`',
    notice: 'faults/lifecycle: is replayed in full to the token that made the call',
  },

  // ---------------------------------------------------------------- who asks
  {
    name: 'a credential reaches what another organisation holds',
    file: call,
    from: "(path_org !== null && path_org !== org ? refuse('NOT_FOUND') : null)",
    to: '(path_org === null ? null : null)',
    notice: 'api/access/permissions: tenant isolation: answers 404 for another org, whether it exists or not',
  },
  {
    name: 'a child does not die with its parent',
    file: 'src/gate/lineage.ts',
    from: 'for (let parent = parentIdOf(row); parent !== null; )',
    to: 'for (let parent = parentIdOf(row); false; )',
    notice: 'faults/changes: revocation: reads in flight are refused once their credential',
  },
  {
    name: 'a child outlives a parent that has been cleared away',
    file: 'src/gate/lineage.ts',
    from: 'if (!above) return [{ ...row, revoked_at: row.revoked_at ?? 0 }, ...lineage.slice(1)];',
    to: 'if (!above) return lineage;',
    notice: 'faults/tampering: refuses a child whose parent is not in D1',
  },
  {
    name: 'what a session token makes does not die with it',
    file: issuing,
    from: '(caller.isDependent ? caller.credential : null);',
    to: 'null;',
    notice: 'faults/lifecycle: revocation: what a session token created ends with it',
  },
  {
    name: 'what an agent made keeps what the agent has lost',
    file: callers,
    from: 'agents.reduce((narrower, agent) => overlap(narrower, permissionsOf(agent)), permissionsOf(row))',
    to: 'permissionsOf(row)',
    notice: 'api/credentials/agents: narrows its descendants too',
  },
  {
    name: 'an agent raises its own rate limit',
    file: changing,
    from: ' ?? raisesOwn(call, row, call.input.rate_limit)',
    to: '',
    notice: 'api/credentials/agents: privilege escalation: an agent cannot give itself',
  },
  {
    name: 'who ends with another widens what does not',
    file: changing,
    from: 'isNarrower(held(row), after) ? null : (mayOutlive(call, row) ?? withinPermissions(call.caller, after));',
    to: 'isNarrower(held(row), after) ? null : withinPermissions(call.caller, after);',
    notice: 'api/credentials/agents: privilege escalation: an agent cannot give itself',
  },
  {
    name: 'a credential is widened by whoever may change it',
    file: changing,
    from: 'isNarrower(held(row), after) ? null : (mayOutlive(call, row) ?? withinPermissions(call.caller, after));',
    to: 'null;',
    notice: 'api/credentials/agents: tokens:write may narrow an agent; nobody may give more than they hold',
  },
  {
    name: 'an action is open to every kind of caller',
    file: authorize,
    from: 'if (!need.kinds.includes(caller.kind))',
    to: 'if (!need)',
    notice: 'api/credentials/break-glass: allow nothing else: every other route refuses the token',
  },
  {
    name: 'an action for owners is open to whoever holds its scopes',
    file: authorize,
    from: 'if (need.owner && !caller.isOwner)',
    to: 'if (false)',
    notice: 'unit/auth/authorize: owner: an action for owners requires one, whatever the caller holds',
  },
  {
    name: 'two holdings together give what neither does',
    file: authorize,
    from: 'permissionSets.filter((permissionSet) => holds(permissionSet, scopes, place));',
    to: 'permissionSets.filter((permissionSet) => permissionSets.some((one) => gives(one, scopes)) && holds({ ...permissionSet, scopes }, scopes, place));',
    notice: 'unit/auth/authorize: nothing by combination of two permission sets',
  },
  {
    name: 'the address of a caller is not looked at',
    file: authorize,
    from: "if (!ranges.every((allowed) => isWithin(ip, allowed))) return refuse('ADDRESS_NOT_ALLOWED');",
    to: '',
    notice: 'api/access/addresses: is accepted from its IPv4 and IPv6 ranges alone',
  },
  {
    name: 'only the first link of a lineage is limited by address',
    file: callers,
    from: 'addresses: lineage.flatMap(',
    to: 'addresses: lineage.slice(0, 1).flatMap(',
    notice: 'api/access/addresses: limits its descendants from the next request on',
  },
  {
    name: 'more than five break-glass tokens may be alive where several issue at once',
    file: issuing,
    from: "[...makerLocks(call), 'break-glass']",
    to: 'makerLocks(call)',
    notice: 'api/credentials/break-glass: limit: at most five are live',
  },
  {
    name: 'a break-glass token destroys',
    file: changes,
    from: "input.permanent && caller.kind === 'break_glass'",
    to: 'false',
    notice: 'api/credentials/break-glass: do not allow to purge a secret, live, deleted or missing',
  },
  {
    name: 'a use of a break-glass token is not told',
    file: 'src/gate/recording.ts',
    from: '      outbox.emergency(actor.id, count, now);\n',
    to: '',
    notice: 'api/credentials/break-glass: events: one for the creation, one for the first use, then one a minute',
  },
  {
    name: 'a credential does not end by time',
    file: 'src/auth/authorize.ts',
    from: "    if (expires_at !== null && expires_at <= now) return refuse('TOKEN_EXPIRED');\n",
    to: '',
    notice: 'faults/lifecycle: revocation: a credential is refused when its time is over',
  },
  {
    name: 'a secret does not end by time',
    file: rules,
    from: "return statusOf(row, now) === 'expired' ? refuse('SECRET_EXPIRED') : null;",
    to: 'return null;',
    notice: 'faults/lifecycle: revocation: a credential is refused when its time is over',
  },
  {
    name: 'a read is not judged again after D1',
    file: reads,
    from: '?? (fetched && call.recheck());',
    to: ';',
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a bulk read is not judged again after D1',
    file: reads,
    from: 'const refusal = asked ? call.recheck() : null;',
    to: 'const refusal = null;',
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'a list of versions is not judged again after D1',
    file: versions,
    from: 'const refusal = call.recheck();',
    to: 'const refusal = null;',
    notice: 'faults/changes: revocation: a request whose caller is revoked while it waits',
  },
  {
    name: 'the tokens of a deleted organisation are admitted',
    file: callers,
    from: "const over = core.rows.get('org', ask.org)?.deleted_at !== null ? refuse('TOKEN_REVOKED') : null;",
    to: 'const over = null;',
    notice: 'faults/lifecycle: refuses its credentials and destroys its key at once',
  },
  {
    name: 'a credential that only D1 knows is believed without its MAC',
    file: callers,
    from: "stored.mac !== macOf(rowKey, 'credential', stored)",
    to: 'false',
    notice: 'faults/tampering: is refused: planted without a genuine tag, for another org',
  },

  // ---------------------------------------------------------------- budgets
  {
    name: 'a gate that starts knows of no budget that is spent',
    file: 'src/gate/rate-limit.ts',
    from: '  for (const { actor, parent, at } of auditLog.since(now - WINDOW)) for (const id of linksOf(actor, parent)) timesOf(id).unshift(at);\n',
    to: '',
    notice: 'faults/lifecycle: is counted exactly, and survives eviction of the gate',
  },
  {
    name: "a session token takes nothing from its parent's budget",
    file: callers,
    from: 'lineage.map(({ id, rate_limit }) => ({ id, limit: rate_limit }));',
    to: 'lineage.slice(0, 1).map(({ id, rate_limit }) => ({ id, limit: rate_limit }));',
    notice: 'faults/lifecycle: session tokens share that of their parent; the lower one is shown',
  },

  // ---------------------------------------------------------------- the audit log
  {
    name: 'an answer leaves before its audit entry is written',
    file: call,
    from: '    core.auditLog.append(draft(about), status, core.now());\n    const isStored',
    to: '    void scheduler.wait(1000).then(() => core.auditLog.append(draft(about), status, core.now()));\n    const isStored',
    notice: 'faults/changes: audit log: its entry is stored before the response leaves',
  },
  {
    name: 'an entry does not hold the hash before it',
    file: 'src/gate/audit-log.ts',
    from: 'prev_hash: hash,',
    to: "prev_hash: '',",
    notice: 'faults/lifecycle: moves closed segments to D1',
  },
  {
    name: 'a segment leaves the gate though D1 has not taken it',
    file: 'src/gate/segments.ts',
    from: "if (moved.end === 'unknown') return null;",
    to: '',
    notice: 'faults/lifecycle: keeps what D1 does not take',
  },
  {
    name: 'a check of the chain does not compare the hash before an entry',
    file: 'src/domains/audit/service.ts',
    from: ' || entry.prev_hash !== before',
    to: '',
    notice: 'faults/tampering: that were rewritten with right hashes',
  },
  {
    name: 'a check of the chain does not make hashes anew',
    file: 'src/domains/audit/service.ts',
    from: ' || entry.hash !== hashOf(entry)',
    to: '',
    notice: 'faults/tampering: that were rewritten with right hashes',
  },

  // ---------------------------------------------------------------- what D1 was made to say
  {
    name: 'the Worker opens a value without checking the MAC of its row',
    file: 'src/domains/secrets/encryption.ts',
    from: "    equal(row.mac, macOf(keys.row, 'secret', row)) &&\n",
    to: '',
    notice: 'faults/tampering: is not decrypted by the Worker',
  },
  {
    name: 'the Worker opens a value without checking the MAC of its version',
    file: 'src/domains/secrets/encryption.ts',
    from: " &&\n    equal(version.mac, macOf(keys.row, 'version', version));",
    to: ';',
    notice: 'faults/tampering: is not decrypted by the Worker',
  },
  {
    name: 'a session token that only D1 knows is revoked without its MAC',
    file: changing,
    from: " && row.mac === macOf(rowKeyOf(call), 'credential', row)",
    to: '',
    notice: 'faults/tampering: is refused: planted without a genuine tag, for another org',
  },
  {
    name: 'a version that comes from D1 is believed without its MAC',
    file: versions,
    from: "version.mac === macOf(key, 'version', version);",
    to: 'key !== null;',
    notice: 'faults/tampering: raises one integrity violation a request',
  },
  {
    name: 'a gate that lost its storage believes rows without their MAC',
    file: 'src/gate/recover.ts',
    from: 'if (row && row.mac === macOf(key, kind, row))',
    to: 'if (row)',
    notice: 'faults/tampering: refuses a row with a wrong MAC',
  },
  {
    name: 'a gate without state begins empty where D1 does not know its organisation',
    file: 'src/gate.ts',
    from: "      if (!isThere) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 60 }));\n",
    to: '',
    notice: 'faults/lifecycle: does not start empty when D1 lost the organisation too',
  },

  // ---------------------------------------------------------------- secrets
  {
    name: 'a bulk read goes on over pages of different moments',
    file: reads,
    from: 'if (input.etag !== null && input.etag !== etag)',
    to: 'if (false)',
    notice: 'api/secrets/values: shows one point in time, also if values change between two pages',
  },
  {
    name: 'a secret is created under a name that is taken',
    file: changes,
    from: "if (core.rows.find('secret', environment.id, input.name)) return refuse('SECRET_NAME_TAKEN');",
    to: '',
    notice: 'model/histories: random histories agree with it',
  },
  {
    name: 'a change does not heed If-Match',
    file: rules,
    from: "ifMatch === null || matchesETag(ifMatch, etagOf(row)) ? null : refuse('VERSION_CONFLICT');",
    to: 'null;',
    notice: 'model/histories: random histories agree with it',
  },
  {
    name: 'a secret takes a name that is taken by being renamed',
    file: changes,
    from: "isRenamed && core.rows.find('secret', row.environment_id, input.name as string)",
    to: 'false',
    notice: 'faults/changes: create, rename and restore give a name to one secret alone',
  },
  {
    name: 'a secret takes a name that is taken by being restored',
    file: changes,
    from: "if (core.rows.find('secret', row.environment_id, row.name)) return refuse('SECRET_NAME_TAKEN');",
    to: '',
    notice: 'faults/changes: create, rename and restore give a name to one secret alone',
  },
  {
    name: 'a secret is purged in the gate though D1 still holds its ciphertexts',
    file: 'src/gate/tasks.ts',
    from: "  if (done.end !== 'done') return false;\n",
    to: '',
    notice: 'faults/lifecycle: purge: a deleted secret leaves D1, though D1 was unavailable',
  },
  {
    name: 'a deleted secret is purged before seven days are over',
    file: 'src/gate/rows.ts',
    from: 'deleted_at + RESTORABLE;',
    to: 'deleted_at + 6 * DAY;',
    notice: 'faults/lifecycle: restore: a deleted secret can be restored for exactly seven days',
  },
  {
    name: 'a deleted secret is restored after seven days, where nothing has purged it',
    file: changes,
    from: "if (!row || (row.deleted_at !== null && row.deleted_at + RESTORABLE <= now)) return refuse('NOT_FOUND');",
    to: "if (!row) return refuse('NOT_FOUND');",
    notice: 'faults/lifecycle: restore: a deleted secret can be restored for exactly seven days',
  },
  {
    name: 'destroying a secret leaves its ciphertexts in D1',
    file: changes,
    from: "          { sql: 'delete from secret_versions where org_id = ? and secret_id = ?', params: [ask.org, row.id] },\n",
    to: '',
    notice: 'faults/sweep: to destroy a secret',
  },
  {
    name: 'destroying a secret leaves its ciphertexts in the gate',
    file: commit,
    from: '      core.ciphertexts.drop(id);\n      core.storedResponses.forget(id);',
    to: '      core.storedResponses.forget(id);',
    notice: 'faults/sweep: to destroy a secret',
  },
  {
    name: 'destroying a secret leaves its generated values among the kept answers',
    file: commit,
    from: '      core.ciphertexts.drop(id);\n      core.storedResponses.forget(id);',
    to: '      core.ciphertexts.drop(id);',
    notice: 'faults/lifecycle: loses its generated value when the secret is purged',
  },
  {
    name: 'a ciphertext that was fetched while its secret was destroyed is kept',
    file: versions,
    from: 'if (row && version.version >= row.oldest_version && !core.ciphertexts',
    to: 'if (!core.ciphertexts',
    notice: 'faults/changes: purge: a request that reads a ciphertext',
  },
  {
    name: 'a row that is gone leaves no tombstone',
    file: 'src/gate/rows.ts',
    from: "'update rows set revision = revision + 1, space = null, key = null, body = null, sweep_at = ? where kind = ? and id = ? and body is not null'",
    to: "'delete from rows where ? > 0 and kind = ? and id = ? and body is not null'",
    notice: 'faults/restore: counts for secrets once it is adopted, and for nothing else',
  },
  {
    name: 'a backup revives what was deleted since',
    file: 'src/gate/restore.ts',
    from: 'deleted_at: here.deleted_at ?? stored.deleted_at,',
    to: 'deleted_at: stored.deleted_at,',
    notice: 'faults/restore: counts for secrets once it is adopted, and for nothing else',
  },
  {
    name: 'a backup gives numbers of versions again',
    file: 'src/gate/restore.ts',
    from: 'const version = later ? here.version + 1 : stored.version;',
    to: 'const version = later ? stored.version + 1 : stored.version;',
    notice: 'faults/restore: uses no version number twice, and reports the lost ones',
  },
  {
    name: 'a backup is adopted whoever wrote its rows',
    file: 'src/gate/restore.ts',
    from: "if (!stored || stored.mac !== macOf(key, 'secret', stored)) {",
    to: 'if (!stored) {',
    notice: 'faults/restore: accepts no row that the organisation never wrote',
  },
  {
    name: 'changes go on while a backup is adopted',
    file: 'src/gate/commit.ts',
    from: 'if (core.intents.held || core.intents.unsettled()',
    to: 'if (core.intents.unsettled()',
    notice: 'faults/restore: concurrency: no change happens during the adoption',
  },
  // ---------------------------------------------------------------- people
  {
    name: 'who is limited invites',
    file: roles,
    from: 'if (!standsAlone(caller))',
    to: 'if (false)',
    notice: 'api/members/members: are not given by a caller with limits in environments',
  },
  {
    name: 'whoever holds everything makes owners',
    file: roles,
    from: "if (role === 'owner' && !caller.isOwner) return refuse",
    to: "if (role === 'owner' && false) return refuse",
    notice: 'api/members/members: an admin cannot change, demote or remove an owner, nor make one',
  },
  {
    name: 'a role is given by who does not hold it',
    file: roles,
    from: 'return withinPermissions(caller, permissionsOfRole(role));\n}',
    to: 'return null;\n}',
    notice: 'api/members/members: are given by callers who hold all their scopes',
  },
  {
    name: 'an admin ranks with an owner',
    file: roles,
    from: "if (role === 'owner') return !caller.isOwner;",
    to: '',
    notice: 'api/members/members: an admin cannot change, demote or remove an owner, nor make one',
  },
  {
    name: 'whoever may write members changes those above them',
    file: roles,
    from: 'withinPermissions(caller, permissionsOfRole(role)) !== null\n  );',
    to: 'false\n  );',
    notice: 'api/members/members: a key with members:write, and a session of the strongest key',
  },
  {
    name: 'two owners are removed at once',
    file: members,
    from: "      'owners',\n",
    to: '',
    notice: 'api/members/members: can be neither removed nor demoted, also not by concurrent requests',
  },
  {
    name: 'the last owner is demoted',
    file: members,
    from: "if (role !== null && role !== 'owner' && isLastOwner(core, row)) return refuse('LAST_OWNER');",
    to: '',
    notice: 'api/members/members: can be neither removed nor demoted, also not by concurrent requests',
  },
  {
    name: 'two owners demote each other',
    file: members,
    from: '[caller.credential, caller.id];',
    to: '[];',
    notice: 'api/members/members: stays when two owners demote each other',
    survives: 'the lock on owners has the second one wait, and then see that it is the last',
  },
  {
    name: 'an email is two by its capitals',
    file: members,
    from: 'const keyOf = (email: string) => email.toLowerCase();',
    to: 'const keyOf = (email: string) => email;',
    notice: 'api/members/members: is unique without regard to case, also with concurrent requests',
  },
  {
    name: 'an email is taken twice at once',
    file: members,
    from: "locks: (call) => ['members', emailLock(call.input.email), ",
    to: 'locks: (call) => [',
    notice: 'api/members/members: is unique without regard to case, also with concurrent requests',
  },
  {
    name: 'an enrolment serves for a role that somebody else gave',
    file: members,
    from: 'row.invited_by !== caller.id && noEnrolment',
    to: 'false && noEnrolment',
    notice: 'api/members/members: applies to the role that its maker gave, and no other',
  },
  {
    name: 'who is removed leaves grants and memberships',
    file: members,
    from: "const kinds = ['passkey', 'team_member', 'grant'] as const;",
    to: "const kinds = ['passkey'] as const;",
    notice: 'api/members/members: removes their passkeys, memberships and grants, and nothing of others',
  },
  {
    name: 'whoever removes a member ends credentials',
    file: members,
    from: "covers(scopes, 'tokens:write')",
    to: "covers(scopes, 'members:write')",
    notice: 'api/members/members: permission: ends credentials only for callers who may end credentials',
  },
  {
    name: 'a member who is being removed makes a credential',
    file: issuing,
    from: 'caller.credential, caller.id];',
    to: 'caller.credential];',
    notice: 'api/members/members: concurrency: leaves no credential that was being created',
  },
  {
    name: 'a team is filled whatever it holds',
    file: teams,
    from: 'if (exceeds) return exceeds;',
    to: '',
    notice: 'api/members/teams: are added only by callers who hold what it gives',
  },
  {
    name: 'what ends with another fills a team',
    file: teams,
    from: 'if (caller.isDependent && grants.length > 0)',
    to: 'if (false)',
    notice: 'api/members/teams: are not added by a caller with a parent, whatever they hold',
  },
  {
    name: 'a deleted team goes on to give',
    file: teams,
    from: "...core.rows.within('grant', row.id)",
    to: "...core.rows.within('grant', '')",
    notice: 'api/members/teams: gives its grants to its members, until they leave or it is deleted',
  },
  {
    name: 'a grant gives more than its maker holds',
    file: grants,
    from: 'authorize: (call) => withinPermissions(call.caller, permissionsToGrant(call)),',
    to: '',
    notice: 'api/members/grants: in scopes, environments, names, addresses or time',
  },
  {
    name: 'a grant takes its maker to every address',
    file: grants,
    from: 'allowed_addresses: null }),\n  allowed_addresses: null,',
    to: 'allowed_addresses: null }),',
    notice: 'api/members/grants: in scopes, environments, names, addresses or time',
  },
  {
    name: 'a grant outlives the session token that made it',
    file: grants,
    from: '...parentColumn(parentOf(caller)),',
    to: '',
    notice: 'api/members/grants: ends with it, and never later',
  },
  {
    name: 'a browser session shuts itself out',
    file: orgs,
    from: "call.caller.kind === 'member' && !isWithin",
    to: 'false && !isWithin',
    notice: 'api/members/members: apply to members alone',
  },
  {
    name: 'who was revoked after a change is told that it was refused',
    file: 'src/gate/request.ts',
    from: "if (!done || !('same' in done) || !done.same) return null;",
    to: 'if (done !== undefined) return null;',
    notice: 'model/histories: a change whose reply was lost',
  },

  // ---------------------------------------------------------------- what providers push and revoke
  {
    name: 'a revoked secret is read',
    file: rules,
    from: "if (row.revoked_at !== null) return refuse('SECRET_REVOKED');",
    to: '',
    notice: 'api/credentials/provider: revokes every way of reading and every change but issue',
  },
  {
    name: 'a revoked version is read once the secret is issued anew',
    file: rules,
    from: 'number <= (revoked_through ?? 0)',
    to: 'number <= 0',
    notice: 'api/credentials/provider: issue activates the secret with the next version',
  },
  {
    name: 'a revoked secret leaves kept one-time values behind',
    file: provider,
    from: ', destroyed: [row.id]',
    to: '',
    notice: 'api/credentials/provider: destroys one-time values in stored responses, and cached ciphertexts',
  },
  {
    name: 'a backup brings back what was revoked after it',
    file: 'src/gate/restore.ts',
    from: 'const isRevoked = stored.version <= through;',
    to: 'const isRevoked = false;',
    notice: 'api/credentials/provider: survives adoption of a backup from before it',
  },
  {
    name: 'what a name stood for before its lock was free is changed',
    file: commit,
    from: '    if (!locks().every((name) => names.includes(name))) return null;\n',
    to: '',
    notice: 'api/credentials/provider: concurrency: issue and revoke wait for a change',
  },
  {
    name: 'a value is taken that was sealed for another secret',
    file: provider,
    from: 'if (row.id !== input.id || !input.value) return encryptFor(call, row.id);\n        const revived',
    to: 'if (!input.value) return encryptFor(call, row.id);\n        const revived',
    notice: 'api/credentials/provider: creates a secret where that of the name is deleted',
  },
  {
    name: 'a secret is made under the id of one that was renamed or destroyed',
    file: provider,
    from: 'if (id === null || !value || isUsedId(core, id))',
    to: 'if (id === null || !value)',
    notice: 'api/credentials/provider: creates a secret where that of the name is deleted',
  },
  {
    name: 'a provider token reaches every name',
    file: provider,
    from: "return mayReach(call.caller, call.need, { environment: environment?.id ?? '', shown, name });",
    to: 'void [mayReach, shown, name];\n    return null;',
    notice: 'api/credentials/provider: is limited to environments and names',
  },

  // ---------------------------------------------------------------- reauthentication
  {
    name: 'a copy of an earlier JWT counts as confirmed when its owner confirms',
    file: 'src/gate/confirmation.ts',
    from: '  jwt >= refresh.confirmed &&\n',
    to: '',
    notice: 'api/signin/confirmation: gains nothing when its owner confirms, in the same second or later',
  },
  {
    name: 'a confirmation never ends',
    file: 'src/gate/confirmation.ts',
    from: 'now <= confirmed_at + CONFIRMED_FOR',
    to: 'now > 0',
    notice: 'api/signin/confirmation: is required five minutes after sign-in',
  },
  {
    name: 'a challenge confirms more than once',
    file: signin,
    from: 'if (input.since !== since || !input.passkey)',
    to: 'if (!input.passkey)',
    notice: 'api/signin/confirmation: accepts each challenge once',
  },
  {
    name: 'a confirmation leaves a cookie that was just used to be forgiven',
    file: signin,
    from: 'refresh: { live: [n], used: [], last: n, confirmed: n,',
    to: 'refresh: { live: [n], used: [[1, now]], last: n, confirmed: n,',
    notice: 'api/signin/confirmation: that was used just before a confirmation is not accepted after it',
  },
  {
    name: 'a confirmation leaves the earlier cookies',
    file: signin,
    from: 'refresh: { live: [n], used: [], last: n, confirmed: n,',
    to: 'refresh: { live: [...row.refresh.live, n], used: [], last: n, confirmed: n,',
    notice: 'api/signin/confirmation: is refused after a confirmation',
  },
  {
    name: "another member's passkey confirms a session",
    file: 'src/domains/signin/routes.ts',
    from: 'if (who?.org !== org || who.member !== asked.member) return null;',
    to: '',
    notice: 'api/signin/confirmation: cannot confirm with a passkey of its own',
    survives: "the passkey is looked for among the session's member's alone",
  },
  {
    name: 'the gate takes the word of D1 for the counter of a confirmation',
    file: signin,
    from: 'if (!isTheirs || !mayFollow(passkey.counter, counter))',
    to: 'if (!isTheirs)',
    notice: 'api/signin/confirmation: checks the counter, in D1 and in the gate',
  },
  {
    name: 'an owner is demoted without a confirmation',
    file: members,
    from: "([input.role, role].includes('owner') ? mustBeConfirmed(caller) : null)",
    to: "(input.role === 'owner' ? mustBeConfirmed(caller) : null)",
    notice: 'api/signin/confirmation: is required five minutes after sign-in',
  },
  {
    name: 'a panic spares other JWTs of the session that calls it',
    file: 'src/domains/incidents/gate/panic.ts',
    from: 'live: [], used: [], jwts: [jwt, jwt] }',
    to: 'live: [], used: [] }',
    notice: 'api/signin/confirmation: ends every copy of the cookie and every other JWT of the session',
  },
  {
    name: 'a request of a refused JWT that waits is carried out',
    file: callers,
    from: "refusal: endOf(core, ask.org, lineage) ?? (isRefused(row, bearer.jwt) ? refuse('TOKEN_REVOKED') : null),\n  };\n}",
    to: 'refusal: endOf(core, ask.org, lineage),\n  };\n}',
    notice: 'api/signin/confirmation: refuses requests in flight with another JWT of the session',
  },
  {
    name: 'a confirmation after a panic revives earlier JWTs',
    file: signin,
    from: '...(row.refresh.jwts && { jwts: [n, null] }) }',
    to: '}',
    notice: 'api/signin/confirmation: ends every copy of the cookie and every other JWT of the session',
  },

  // ---------------------------------------------------------------- incident response
  {
    name: 'a panic spares the API key that asked to end all API keys',
    file: 'src/domains/incidents/gate/panic.ts',
    from: "spared: key && caller.kind === 'api_key' ? null : caller.credential,",
    to: 'spared: caller.credential,',
    notice: 'api/incidents/panic: with api_keys ends every API key',
  },
  {
    name: 'the new key of a panic ends with the old ones',
    file: 'src/domains/incidents/gate/panic.ts',
    from: 'now, { generation, created_in });',
    to: 'now, { created_in });',
    notice: 'api/incidents/panic: with api_keys ends every API key',
  },
  {
    name: 'callers are admitted while a panic is in doubt',
    file: call,
    from: 'who.links.some((id) => core.intents.isOpen(id)) ? refuse',
    to: 'who.links.some((id) => id !== ask.org && core.intents.isOpen(id)) ? refuse',
    notice: 'api/incidents/panic: in doubt: no caller is admitted, old or new, before it is settled',
  },
  {
    name: 'a session that has left the gate forgets the panic',
    file: 'src/gate/identity.ts',
    from: "(isPast(core.rows.get('org', ask.org), stored) ? 0 : null)",
    to: 'null',
    notice: 'api/incidents/panic: after a session token left the gate',
  },
  {
    name: 'a credential that ends with one outside is not contained',
    file: 'src/domains/incidents/descendants.ts',
    from: '[{ id: root, parent_id: null }];',
    to: '[];',
    notice: 'api/incidents/containment: ends a session token alone, and not the key that minted it',
  },
  {
    name: 'what a member made in a browser session outlives its containment',
    file: 'src/gate/descendants.ts',
    from: '${byMaker} union ${made} ${bySession}`',
    to: '${byMaker}`',
    notice: 'api/incidents/containment: ends a browser session and what it created',
  },
  {
    name: 'a containment ends its own caller',
    file: 'src/domains/incidents/gate/contain.ts',
    from: 'if (ownOf(call).has(id))',
    to: 'if (false)',
    notice: 'api/incidents/containment: of an ancestor spares the caller, unless the caller ends with it',
  },
  {
    name: 'the account forgets that a secret was renamed',
    file: 'src/domains/incidents/exposure.ts',
    from: 'if (change.former_name !== undefined) return { name: change.former_name };',
    to: '',
    notice: 'api/incidents/containment: lists exactly what the responses contained',
  },
  {
    name: 'the account passes over segments of who was found meanwhile',
    file: 'src/domains/incidents/log.ts',
    from: 'if (wanted.actors?.size !== known) {',
    to: 'if (false) {',
    notice: 'api/incidents/containment: repeats its answer after session tokens expired and left the gate',
  },
  {
    name: 'a repeated containment gives new values once more',
    file: 'src/domains/incidents/rotation.ts',
    from: '    if (rotated.has(secret.id)) continue;\n',
    to: '',
    notice: 'api/incidents/containment: rotates generated values by ordinary rotations',
  },

  // ---------------------------------------------------------------- generated values, and what is counted
  {
    name: 'a containment replaces values that others issued',
    file: 'src/domains/incidents/rotation.ts',
    from: 'isActive && generated && canGenerate(type);',
    to: 'isActive && canGenerate(type);',
    notice: 'api/incidents/containment: leaves a value that this service did not generate unchanged byte for byte',
  },
  {
    name: 'a rotation without a value replaces what others issued',
    file: changes,
    from: 'if (asked === null && generated === null && ISSUED.has(type))',
    to: 'if (false)',
    notice: 'api/secrets/generated: without a value requires generate for an api_key',
  },
  {
    name: 'a rollback takes its value for a given one',
    file: changes,
    from: 'generated: old.generated ?? null };',
    to: 'generated: null };',
    notice: 'api/secrets/generated: generated is true if the service made the current value',
  },
  {
    name: 'a soft delete leaves generated values in stored answers',
    file: changes,
    from: 'etag: undefined, destroyed: [row.id] }',
    to: 'etag: undefined }',
    notice: 'api/secrets/generated: a soft delete destroys them in stored responses for good',
  },
  {
    name: 'destroyed versions stay in the quota',
    file: plans,
    from: '(trims && kept ? kept.bytes : row.sealed_size)',
    to: 'row.sealed_size',
    notice: 'api/limits/usage: every new version counts what is kept',
  },
  {
    name: 'what is kept is counted for a row that is another by now',
    file: plans,
    from: 'if (trims && kept?.of !== row.mac)',
    to: 'if (false)',
    notice: 'api/limits/usage: a count is discarded when a database was adopted meanwhile',
  },
  {
    name: 'the caller is not judged again after what is fetched under the lock',
    file: commit,
    from: '    const fetched = await fetch();\n',
    to: '    const early = call.recheck();\n    if (early) return { ok: false, refusal: early };\n    const fetched = await fetch();\n    call = { ...call, recheck: () => null };\n',
    notice: 'api/limits/usage: revocation: a caller who is revoked while the change counts is refused',
  },
  {
    name: 'a credential counts as alive though what it ends with has ended',
    file: callers,
    from: '(parent === null || lives(parent) ? sum + n : sum)',
    to: '(parent === null || lives ? sum + n : sum)',
    notice: 'api/limits/usage: a credential counts while it and all its ancestors are live',
  },
  {
    name: 'a 404 names environments beyond the reach of its reader',
    file: reads,
    from: "reaches(caller, ['secrets:list', 'secrets:read'], id, name) && hasIt(id)",
    to: 'hasIt(id)',
    notice: 'api/requests/errors: tenant isolation: names only environments and secrets',
  },
  {
    name: 'an unknown token is refused in words of its own',
    file: callers,
    from: 'isToken ? { message: UNKNOWN_TOKEN } : {}',
    to: '{}',
    notice: 'api/requests/errors: a mistyped, forged or forgotten token: the same message',
  },
  // ---------------------------------------------------------------- what a request may cost
  {
    name: 'what a chain of agents holds is worked out before its limits are judged',
    file: callers,
    from: 'Object.assign(callerOf(core, org, lineage), {',
    to: 'Object.assign({ ...callerOf(core, org, lineage) }, {',
    notice: 'api/limits/flood: is computed once for many requests',
  },
  {
    name: 'what D1 said of an unknown token is not remembered',
    file: callers,
    from: '      core.strangers.set(hash, { identity, until: core.now() + REMEMBERED_FOR });\n',
    to: '',
    notice: 'api/limits/flood: costs at most one query of D1 a minute, and none after 60 requests',
  },
  {
    name: 'a list compares any number of names',
    file: reads,
    from: '      if (!steps.take(row.environment_id, row.name) && after !== start) return answer(after);\n',
    to: '',
    notice: 'api/limits/flood: a list ends its page early, and its pages show each secret once',
  },
  {
    name: 'a bulk read compares any number of names',
    file: reads,
    from: '        if (!steps.take(environment, name)) return null;\n',
    to: '',
    notice: 'api/limits/flood: a bulk read with many patterns is refused, and one with few is not',
  },
  {
    name: 'a graph compares any number of names',
    file: 'src/domains/incidents/gate/graph.ts',
    from: '        if (!steps.take(id, name)) return { environment: slug, secrets, incomplete: true };\n',
    to: '',
    notice: 'api/limits/flood: a graph counts up to the limit, and says so',
  },
  {
    name: 'a list of the audit log compares any number of names',
    file: 'src/domains/audit/gate/operations.ts',
    from: ', isShown, mostLookedAt(view))',
    to: ', isShown)',
    notice: 'api/limits/flood: a list of the audit log reads fewer entries at a time',
  },
  {
    name: 'an account of bulk reads compares any number of names',
    file: 'src/domains/incidents/exposure.ts',
    from: 'patterns === null || steps.left <= 0',
    to: 'patterns === null',
    notice: 'api/limits/flood: takes bounded steps, and counts a secret as read after that',
  },
  {
    name: 'an exposure report keeps any number of ways of reading in bulk apart',
    file: 'src/domains/incidents/activity.ts',
    from: 'bulks.size >= MOST_BULKS && ',
    to: 'bulks.size < 0 && ',
    notice: 'api/limits/flood: distinguishes 1,000 kinds of bulk reads, and ends',
  },
  {
    name: 'D1 remembers any number of expired session tokens',
    file: 'src/gate/tasks.ts',
    from: '    ...(next > early ? [surplus] : []),\n',
    to: '',
    notice: 'api/limits/stored-data: expired session tokens in D1 over the newest 20,000',
  },
];

/** The source with a mutant in it. Throws where its text does not stand there exactly once. @param {Mutant} mutant @param {string} source */
export function applied({ name, file, from, to }, source) {
  const parts = source.split(from);
  if (parts.length !== 2)
    throw new Error(`${file}: what "${name}" replaces stands there ${parts.length - 1} times, not once: mend scripts/mutant-table.mjs.`);
  return parts.join(to);
}
