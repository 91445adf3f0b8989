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
const call = 'src/gate/call.ts';
const secrets = 'src/domains/secrets/operations.ts';
const credentials = 'src/domains/credentials/operations.ts';
const orgs = 'src/domains/orgs/operations.ts';

/** @type {Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- one change at a time
  {
    name: 'nobody waits for the lock of a row',
    file: 'src/gate/locks.ts',
    from: '          await before;\n',
    to: '',
    notice: 'faults: fifty writers on one secret',
  },
  {
    name: 'a mint does not lock its parent',
    file: credentials,
    from: 'one after the other.\n    locks: ({ input, caller }) => [input.token.id, caller.id],',
    to: 'one after the other.\n    locks: ({ input }) => [input.token.id],',
    notice: 'faults: come one after the other',
  },
  {
    name: 'whether the caller is still alive is not asked again under the lock',
    file: commit,
    from: 'const refusal = call.recheck();',
    to: 'const refusal = null;',
    notice: 'faults: is judged again',
  },
  {
    name: 'a secret is created in an environment that is being deleted',
    file: secrets,
    from: '      if (core.marks.concerns(environment.id).leaving) return',
    to: '      if (false) return',
    notice: 'faults: an environment and a secret in it',
  },
  {
    name: 'an environment is deleted into which a secret is being created',
    file: orgs,
    from: ' || core.marks.concerns(row.id).filling) return',
    to: ') return',
    notice: 'faults: an environment and a secret in it',
  },
  {
    name: 'other things change while something is in doubt',
    file: commit,
    from: 'if (core.marks.held || core.marks.unsettled().length) return { ok: false, refusal: refuse',
    to: 'if (false) return { ok: false, refusal: refuse',
    notice: 'model: a keyed create in doubt',
  },

  // ---------------------------------------------------------------- marks
  {
    name: 'no mark is written before the batch',
    file: commit,
    from: '    core.marks.put(mark);\n',
    to: '',
    notice: 'faults: is settled by the next call',
  },
  {
    name: 'the mark is in memory alone',
    file: 'src/gate/marks.ts',
    from: "      sql.exec('insert into marks values (?, ?)', mark.id, JSON.stringify(mark));\n",
    to: '',
    notice: 'faults: is settled by the gate that comes after it',
  },
  {
    name: 'a secret in doubt is read',
    file: secrets,
    from: "ids.some((id) => call.core.marks.isOpen(id)) ? refuse('UNAVAILABLE', { retry_after: 1 }) : null;",
    to: 'null;',
    notice: 'faults: is settled by the next call',
  },
  {
    name: 'a credential whose end is in doubt is admitted',
    file: call,
    from: "  if (who.links.some((id) => core.marks.isOpen(id))) return close(refused(refuse('UNAVAILABLE', { retry_after: 1 })));\n",
    to: '',
    notice: 'faults: whose end is in doubt',
  },

  // ---------------------------------------------------------------- the batch and its marker
  {
    name: 'a batch lands under any epoch',
    file: commit,
    from: "'(select epoch from fences where org_id = ?) = ?'",
    to: "'(? <> ?)'",
    notice: 'sweep: to create a key',
  },
  {
    name: 'a batch lands on any row',
    file: commit,
    from: 'const guards = puts.map(',
    to: 'const guards = [].map(',
    notice: 'attacker: is refused with an alarm',
  },
  {
    name: 'another row under the planned revision passes for the planned one',
    file: commit,
    from: "(select mac from ${tableName(kind)} where ${tenant.length ? 'org_id = ? and ' : ''}id = ?) = ?`,\n      params: [...tenant, row.id, row.mac],",
    to: "(select revision from ${tableName(kind)} where ${tenant.length ? 'org_id = ? and ' : ''}id = ?) = ?`,\n      params: [...tenant, row.id, row.revision],",
    notice: 'attacker: a row raised to the revision that comes next',
  },
  {
    name: 'a row is changed from whatever revision it is at',
    file: commit,
    from: 'updateOf(table, row, { ...tenant, id: row.id, revision: from })',
    to: 'updateOf(table, row, { ...tenant, id: row.id })',
    notice: 'attacker: is refused with an alarm',
  },
  {
    name: 'a marker may say that its guards do not hold',
    file: 'migrations/0000_foundation.sql',
    from: 'CHECK("commits"."holds" = 1)',
    to: 'CHECK("commits"."holds" >= 0)',
    notice: 'attacker: is refused with an alarm',
  },
  {
    name: 'one commit may have two markers',
    file: 'migrations/0000_foundation.sql',
    from: 'CREATE TABLE `commits` (\n\t`id` text PRIMARY KEY NOT NULL',
    to: 'CREATE TABLE `commits` (\n\t`id` text NOT NULL',
    notice: 'sweep: to create a key',
    survives: 'a batch that lands twice meets a row that has moved on, or a raised epoch',
  },
  {
    name: 'what failed without a verdict is taken for undone',
    file: 'src/gate/database.ts',
    from: "end: why.includes('constraint failed') ? 'refused' : 'unknown'",
    to: "end: 'refused'",
    notice: 'faults: after it took effect is found to be done',
  },

  // ---------------------------------------------------------------- the fence
  {
    name: 'an absent marker is believed without raising the epoch',
    file: commit,
    from: '    await core.database.write([{ sql: raise, params: [org, next] }]);\n    if (!(await caughtUp(core, org, next - 1))) return null;\n',
    to: '    void raise;\n',
    notice: 'sweep: to create a key',
  },
  {
    name: 'an absent marker is believed though the epoch could not be raised',
    file: commit,
    from: 'if (!(await caughtUp(core, org, next - 1))) return null;',
    to: 'await caughtUp(core, org, next - 1);',
    notice: 'faults: is not taken for undone',
  },
  {
    name: 'a database that does not answer is taken for one that was altered',
    file: commit,
    from: "if (raised === null) return 'never';",
    to: '',
    notice: 'faults: is no alarm where D1 refuses it',
  },
  {
    name: 'a gate that lost its storage goes on under the old epoch',
    file: 'src/gate/load.ts',
    from: 'const epoch = fence.epoch + 1;',
    to: 'const epoch = fence.epoch;',
    notice: 'lifecycle: takes up nothing of its earlier life',
  },
  {
    name: 'a gate goes on under an epoch that it did not raise itself',
    file: commit,
    from: " || core.meta.get('raising') !== String(current)",
    to: '',
    notice: 'attacker: a fence raised by one',
  },

  // ---------------------------------------------------------------- settling
  {
    name: 'what a call left open is settled as done, whatever D1 says',
    file: commit,
    from: 'apply(core, mark, present.has(mark.id));',
    to: 'apply(core, mark, true);',
    notice: 'faults: is settled by the next call',
  },
  {
    name: 'what a call left open is settled as never, whatever D1 says',
    file: commit,
    from: 'apply(core, mark, present.has(mark.id));',
    to: 'apply(core, mark, false);',
    notice: 'faults: is settled by the next call',
  },
  {
    name: 'a batch without a reply is taken for done, whatever D1 says',
    file: commit,
    from: "return present.has(mark.id) ? 'done' : 'never';",
    to: "return 'done';",
    notice: 'faults: before it takes effect is answered 503',
  },
  {
    name: 'a batch without a reply is taken for undone, whatever D1 says',
    file: commit,
    from: "return present.has(mark.id) ? 'done' : 'never';",
    to: "return 'never';",
    notice: 'faults: after it took effect is found to be done',
  },

  {
    name: 'markers are cleared away while a commit is in doubt',
    file: 'src/gate/work.ts',
    from: '...(core.marks.unsettled().length === 0',
    to: '...(true',
    notice: 'lifecycle: in doubt for more than a day',
  },

  // ---------------------------------------------------------------- once
  {
    name: 'the answer of a change is not kept in the turn of its effect',
    file: commit,
    from: '    if (mark.keep) core.replays.save(mark.keep);\n',
    to: '',
    notice: 'faults: is found under its Idempotency-Key',
  },
  {
    name: 'another request under a used Idempotency-Key gets its answer',
    file: 'src/gate/replay.ts',
    from: 'kept.digest !== ask.idempotency.digest',
    to: 'false',
    notice: 'lifecycle: is replayed whole',
  },
  {
    name: 'a twin runs while the first under its Idempotency-Key does',
    file: call,
    from: '      if (ask.idempotency) core.replays.running.set(key, { request: ask.request.id, since: core.now() });\n',
    to: '',
    notice: 'faults: twenty twins',
  },
  {
    name: 'a request that the Worker repeats is not known by its id',
    file: 'src/gate/replay.ts',
    from: '`request:${ask.request.id}`',
    to: '`request:${Math.random()}`',
    notice: 'faults: is known by its id',
  },
  {
    name: 'a request that the Worker repeats is audited twice',
    file: call,
    from: 'close({ ...kept.outcome, closed: true })',
    to: 'close(kept.outcome)',
    notice: 'faults: is known by its id',
  },
  {
    name: 'a kept answer is replayed to who may no longer do this',
    file: call,
    from: 'const exceeds = ask.input === null ? null : operation.authorize?.(call);',
    to: 'const exceeds = null;',
    notice: 'lifecycle: is replayed whole',
  },

  {
    name: 'a kept answer is found by whoever knows its Idempotency-Key',
    file: 'src/gate/replay.ts',
    from: '`key:${root}:${ask.idempotency.key}`',
    to: '`key:${ask.idempotency.key}`',
    notice: 'lifecycle: is replayed whole',
  },

  // ---------------------------------------------------------------- who asks
  {
    name: 'a credential reaches what another organisation holds',
    file: call,
    from: "who.refusal ?? (ask.path_org !== null && ask.path_org !== ask.org ? refuse('NOT_FOUND') : null)",
    to: 'who.refusal',
    notice: 'denials: hides another org behind 404',
  },
  {
    name: 'a child does not die with its parent',
    file: call,
    from: 'for (let link = row; link.dies_with !== null; )',
    to: 'for (let link = row; false; )',
    notice: 'faults: readers in flight while',
  },
  {
    name: 'a child outlives a parent that has been cleared away',
    file: call,
    from: 'if (!above) return [{ ...row, revoked_at: row.revoked_at ?? 0 }, ...lineage.slice(1)];',
    to: 'if (!above) return lineage;',
    notice: 'attacker: whose parent D1 does not hold',
  },
  {
    name: 'what a session token makes does not die with it',
    file: credentials,
    from: 'dies_with: parent?.id ?? null,',
    to: 'dies_with: null,',
    notice: 'lifecycle: what a session token made',
  },
  {
    name: 'a credential does not end by time',
    file: 'src/auth/authorize.ts',
    from: "    if (expires_at !== null && expires_at <= now) return refuse('TOKEN_EXPIRED');\n",
    to: '',
    notice: 'lifecycle: ends by time',
  },
  {
    name: 'a secret does not end by time',
    file: secrets,
    from: "return statusOf(row, now) === 'expired' ? refuse('SECRET_EXPIRED') : null;",
    to: 'return null;',
    notice: 'lifecycle: ends by time',
  },
  {
    name: 'a read is not judged again after D1',
    file: secrets,
    from: '?? (fetched && call.recheck());',
    to: ';',
    notice: 'faults: is judged again',
  },
  {
    name: 'a bulk read is not judged again after D1',
    file: secrets,
    from: 'const refusal = asked ? call.recheck() : null;',
    to: 'const refusal = null;',
    notice: 'faults: is judged again',
  },
  {
    name: 'a list of versions is not judged again after D1',
    file: secrets,
    from: 'const refusal = call.recheck();',
    to: 'const refusal = null;',
    notice: 'faults: is judged again',
  },
  {
    name: 'the tokens of a deleted organisation are admitted',
    file: call,
    from: "const over = core.rows.get('org', ask.org)?.deleted_at !== null ? refuse('TOKEN_REVOKED') : null;",
    to: 'const over = null;',
    notice: 'lifecycle: loses its key at once',
  },
  {
    name: 'a credential that only D1 knows is believed without its MAC',
    file: call,
    from: "stored.mac !== macOf(ask.keys.row, 'credential', stored)",
    to: 'false',
    notice: 'attacker: a credential in D1 that the gate does not know',
  },

  // ---------------------------------------------------------------- budgets
  {
    name: 'a gate that starts knows of no budget that is spent',
    file: 'src/gate/budget.ts',
    from: '  for (const { actor, parent, at } of chain.since(now - WINDOW)) for (const id of [actor, parent]) if (id) timesOf(id).unshift(at);\n',
    to: '',
    notice: 'lifecycle: is counted exactly',
  },
  {
    name: "a session token takes nothing from its parent's budget",
    file: call,
    from: '    if (parent) allowances.push({ id: parent.id, limit: parent.rate_limit });\n',
    to: '',
    notice: 'lifecycle: of a parent is taken from',
  },

  // ---------------------------------------------------------------- the audit log
  {
    name: 'an answer leaves before its audit entry is written',
    file: call,
    from: '      core.chain.append(draft(), status, core.now());\n      if (!replay',
    to: '      void scheduler.wait(1000).then(() => core.chain.append(draft(), status, core.now()));\n      if (!replay',
    notice: 'faults: has its audit entry',
  },
  {
    name: 'an entry does not hold the hash before it',
    file: 'src/gate/chain.ts',
    from: 'prev_hash: hash,',
    to: "prev_hash: '',",
    notice: 'lifecycle: moves closed segments to D1',
  },
  {
    name: 'a segment leaves the gate though D1 has not taken it',
    file: 'src/gate/work.ts',
    from: "if (moved.end !== 'done') return now + 5000;",
    to: '',
    notice: 'lifecycle: keeps what D1 does not take',
  },
  {
    name: 'a check of the chain does not compare the hash before an entry',
    file: 'src/domains/audit/service.ts',
    from: ' || entry.prev_hash !== before',
    to: '',
    notice: 'attacker: audit segments',
  },
  {
    name: 'a check of the chain does not make hashes anew',
    file: 'src/domains/audit/service.ts',
    from: ' || entry.hash !== hashOf(entry)',
    to: '',
    notice: 'attacker: audit segments',
  },

  // ---------------------------------------------------------------- what D1 was made to say
  {
    name: 'the Worker opens a value without checking the MAC of its row',
    file: 'src/domains/secrets/seal.ts',
    from: "    isRight(keys, 'secret', row) &&\n",
    to: '',
    notice: 'attacker: altered in the storage of its gate',
  },
  {
    name: 'the Worker opens a value without checking the MAC of its version',
    file: 'src/domains/secrets/seal.ts',
    from: " &&\n    isRight(keys, 'version', { ...version, value_sealed: '' });",
    to: ';',
    notice: 'attacker: altered in the storage of its gate',
  },
  {
    name: 'a session token that only D1 knows is revoked without its MAC',
    file: credentials,
    from: " && row.mac === macOf(rowKey(call as never), 'credential', row)",
    to: '',
    notice: 'attacker: a credential in D1 that the gate does not know',
  },
  {
    name: 'a version that comes from D1 is believed without its MAC',
    file: secrets,
    from: "version.mac === macOf(key, 'version', version);",
    to: 'key !== null;',
    notice: 'attacker: raises one alarm a request',
  },
  {
    name: 'a gate that lost its storage believes rows without their MAC',
    file: 'src/gate/load.ts',
    from: 'if (row && row.mac === macOf(key, kind, row))',
    to: 'if (row)',
    notice: 'attacker: believes no row whose MAC is wrong',
  },
  {
    name: 'a gate without state begins empty where D1 does not know its organisation',
    file: 'src/gate.ts',
    from: "      if (!isThere) throw new ApiError(refuse('UNAVAILABLE', { retry_after: 60 }));\n",
    to: '',
    notice: 'lifecycle: that D1 has lost too',
  },

  // ---------------------------------------------------------------- secrets
  {
    name: 'a bulk read goes on over pages of different moments',
    file: secrets,
    from: 'if (input.etag !== null && input.etag !== etag)',
    to: 'if (false)',
    notice: 'values: are those of one moment',
  },
  {
    name: 'a secret is created under a name that is taken',
    file: secrets,
    from: "if (core.rows.find('secret', environment.id, input.name)) return refuse('SECRET_NAME_TAKEN');",
    to: '',
    notice: 'model: random histories',
  },
  {
    name: 'a change does not heed If-Match',
    file: secrets,
    from: "ifMatch === null || namesTag(ifMatch, etagOf(row)) ? null : refuse('VERSION_CONFLICT');",
    to: 'null;',
    notice: 'model: random histories',
  },
  {
    name: 'a secret takes a name that is taken by being renamed',
    file: secrets,
    from: "input.name !== row.name && core.rows.find('secret', row.environment_id, input.name)",
    to: 'false',
    notice: 'faults: a name has one secret',
  },
  {
    name: 'a secret takes a name that is taken by being restored',
    file: secrets,
    from: "if (core.rows.find('secret', row.environment_id, row.name)) return refuse('SECRET_NAME_TAKEN');",
    to: '',
    notice: 'faults: a name has one secret',
  },
  {
    name: 'a secret is purged in the gate though D1 still holds its ciphertexts',
    file: 'src/gate/work.ts',
    from: "  if (done.end !== 'done') return false;\n",
    to: '',
    notice: 'lifecycle: is purged from D1, though',
  },
  {
    name: 'a deleted secret is purged before seven days are over',
    file: 'src/gate/rows.ts',
    from: 'deleted_at + RESTORABLE;',
    to: 'deleted_at + 6 * DAY;',
    notice: 'lifecycle: can be restored until',
  },
  {
    name: 'a deleted secret is restored after seven days, where nothing has purged it',
    file: secrets,
    from: "if (!row || (row.deleted_at !== null && row.deleted_at + RESTORABLE <= now)) return refuse('NOT_FOUND');",
    to: "if (!row) return refuse('NOT_FOUND');",
    notice: 'lifecycle: can be restored until',
  },
  {
    name: 'destroying a secret leaves its ciphertexts in D1',
    file: secrets,
    from: "          { sql: 'delete from secret_versions where org_id = ? and secret_id = ?', params: [ask.org, row.id] },\n",
    to: '',
    notice: 'sweep: to destroy a secret',
  },
  {
    name: 'destroying a secret leaves its ciphertexts in the gate',
    file: commit,
    from: '      core.seals.drop(id);\n      core.replays.forget(id);',
    to: '      core.replays.forget(id);',
    notice: 'sweep: to destroy a secret',
  },
  {
    name: 'destroying a secret leaves its generated values among the kept answers',
    file: commit,
    from: '      core.seals.drop(id);\n      core.replays.forget(id);',
    to: '      core.seals.drop(id);',
    notice: 'lifecycle: loses its generated value',
  },
  {
    name: 'a ciphertext that was fetched while its secret was destroyed is kept',
    file: secrets,
    from: 'if (row && version.version >= row.oldest_version && !core.seals',
    to: 'if (!core.seals',
    notice: 'faults: is not kept',
  },
  {
    name: 'a row that is gone leaves no tombstone',
    file: 'src/gate/rows.ts',
    from: "'update rows set revision = revision + 1, space = null, key = null, body = null, sweep_at = null where kind = ? and id = ?'",
    to: "'delete from rows where kind = ? and id = ?'",
    notice: 'adopt: is what counts for secrets',
  },
  {
    name: 'a backup revives what was deleted since',
    file: 'src/gate/adopt.ts',
    from: 'deleted_at: here.deleted_at ?? stored.deleted_at,',
    to: 'deleted_at: stored.deleted_at,',
    notice: 'adopt: is what counts for secrets',
  },
  {
    name: 'a backup gives numbers of versions again',
    file: 'src/gate/adopt.ts',
    from: 'const version = later ? here.version + 1 : stored.version;',
    to: 'const version = later ? stored.version + 1 : stored.version;',
    notice: 'adopt: gives no number of a version twice',
  },
  {
    name: 'a backup is adopted whoever wrote its rows',
    file: 'src/gate/adopt.ts',
    from: "if (!stored || stored.mac !== macOf(key, 'secret', stored)) {",
    to: 'if (!stored) {',
    notice: 'adopt: takes no row that the organisation never wrote',
  },
  {
    name: 'changes go on while a backup is adopted',
    file: 'src/gate/commit.ts',
    from: 'if (core.marks.held || core.marks.unsettled()',
    to: 'if (core.marks.unsettled()',
    notice: 'adopt: lets no change in between',
  },
  {
    name: 'who was revoked after a change is told that it was refused',
    file: 'src/gate/call.ts',
    from: "if (done && 'same' in done && done.same) {",
    to: 'if (false) {',
    notice: 'model: a change whose reply was lost',
  },

  // ---------------------------------------------------------------- the bad day
  {
    name: 'a panic spares the API key that asked to end all API keys',
    file: 'src/domains/incidents/panic.ts',
    from: "spared: key && caller.kind === 'api_key' ? null : caller.credential,",
    to: 'spared: caller.credential,',
    notice: 'panic: with api_keys ends every API key',
  },
  {
    name: 'the new key of a panic ends with the old ones',
    file: 'src/domains/incidents/panic.ts',
    from: 'now, { generation, created_in });',
    to: 'now, { created_in });',
    notice: 'panic: with api_keys ends every API key',
  },
  {
    name: 'callers are admitted while a panic is in doubt',
    file: call,
    from: 'if (who.links.some((id) => core.marks.isOpen(id)))',
    to: 'if (false)',
    notice: 'panic: nobody is admitted',
  },
  {
    name: 'a session that has left the gate forgets the panic',
    file: 'src/gate/callers.ts',
    from: "(isPast(core.rows.get('org', ask.org), stored) ? 0 : null)",
    to: 'null',
    notice: 'panic: when a session token has left the gate',
  },
  {
    name: 'a credential that ends with one outside is not contained',
    file: 'src/domains/incidents/contain.ts',
    from: '(row.dies_with === null || !inside.has(row.dies_with)) &&',
    to: 'row.dies_with === null &&',
    notice: 'contain: contains a session token alone',
  },
  {
    name: 'what a member made in a browser session outlives its containment',
    file: 'src/domains/incidents/family.ts',
    from: 'new Set([created_by, created_in, dies_with])',
    to: 'new Set([created_by, dies_with])',
    notice: 'contain: contains a browser session',
  },
  {
    name: 'a containment ends its own caller',
    file: 'src/domains/incidents/contain.ts',
    from: 'if (ownOf(call as never).has(id))',
    to: 'if (false)',
    notice: 'contain: spares the caller',
  },
  {
    name: 'the account forgets that a secret was renamed',
    file: 'src/domains/incidents/given.ts',
    from: 'if (change.former_name !== undefined) return { name: change.former_name };',
    to: '',
    notice: 'contain: holds exactly',
  },
  {
    name: 'the account passes over segments of who was found meanwhile',
    file: 'src/domains/incidents/log.ts',
    from: 'if (wanted.actors?.size !== known) {',
    to: 'if (false) {',
    notice: 'contain: tells the same again',
  },
  {
    name: 'a repeated containment gives new values once more',
    file: 'src/domains/incidents/rotation.ts',
    from: '    if (rotated.has(secret.id)) continue;\n',
    to: '',
    notice: 'contain: are generated where the type allows it',
  },
];

/** The source with a mutant in it. Throws where its text does not stand there exactly once. @param {Mutant} mutant @param {string} source */
export function applied({ name, file, from, to }, source) {
  const parts = source.split(from);
  if (parts.length !== 2)
    throw new Error(`${file}: what "${name}" replaces stands there ${parts.length - 1} times, not once: mend scripts/mutant-table.mjs.`);
  return parts.join(to);
}
