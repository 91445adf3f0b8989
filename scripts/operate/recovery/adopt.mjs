// `npm run restore -- --adopt`: has the gate of each organisation accept the current database. Invariant: an
// organisation that fails costs no other one anything, and is named; what was lost is named too.

import { ExpectedError } from '../../shared/expected-error.mjs';
import { harmless } from '../../shared/terminal.mjs';
import { BAD_GATE, eachOrg, linesOf, problemsWith } from './each-org.mjs';

/** How long accepting the database may take for one organisation, in milliseconds. */
const WITHIN = 300_000;
/** How many losses of an organisation are shown; the audit log has all that fit. */
const MOST_SHOWN = 20;

/**
 * @param {{ url: string, token?: string }} service @param {string} reason
 * @param {{ except: string[], only: string[] }} which
 */
export async function adoptAll(service, reason, { except, only }) {
  if (!reason.trim())
    throw new ExpectedError(
      '--reason is missing: say why; it is stored in the audit log of each organisation',
    );
  const [lacking] = only.length ? [] : await problemsWith(service.url, ['organisation_rows']);
  if (lacking)
    process.stderr.write(
      `${lacking}\nWith this, organisations that the database does not have are given up.\n`,
    );
  const what = 'organisations that accept the database:';
  const { orgs, done, left } = await eachOrg({
    ...service,
    path: '/adopt',
    body: { reason },
    except,
    only,
    what,
    within: WITHIN,
  });
  if (left.length) {
    process.exitCode = 1;
    process.stderr.write(
      `${left.length} of ${orgs.length} organisations did not accept the database; run this again for them:\n${linesOf(left)}\n${BAD_GATE}\n`,
    );
  }
  if (except.length) process.stderr.write(`Left out as asked: ${except.join(', ')}\n`);
  return { adopted: Object.fromEntries(done), left, message: messageOf(orgs.length, done) };
}

/** @param {number} total @param {Map<string, any>} done */
function messageOf(total, done) {
  if (total === 0)
    return 'The database contains no organisation: there is nothing to adopt. Restore a backup first, or create an organisation.';
  const n = done.size;
  return [
    `${n} ${n === 1 ? 'organisation has' : 'organisations have'} adopted the database.`,
    ...[...done].flatMap(linesOfOrg),
  ].join('\n');
}

/** What one organisation lost. @param {[string, any]} adopted */
function linesOfOrg([org, { lost_secrets = [], lost_versions = [], kept_revocations = [], ...counts }]) {
  const span = ({ from, to }) => (from === to ? `version ${from}` : `versions ${from} to ${to}`);
  const named = [
    ...lost_secrets.map(({ name, environment }) => `lost secret ${environment}/${harmless(name)}`),
    ...lost_versions.map((one) => `lost ${span(one)} of ${one.environment}/${harmless(one.name)}`),
    ...kept_revocations.map(
      ({ id, kind, name }) => `still revoked: ${kind} ${id}${name ? ` (${harmless(name)})` : ''}`,
    ),
  ];
  const hidden = named.length - MOST_SHOWN + (counts.unnamed ?? 0);
  const loaded = counts.gate_loaded_at
    ? [
        `its gate began again from the database at ${counts.gate_loaded_at}: it does not know what was revoked between the backup and then`,
      ]
    : [];
  return [
    `${org}: ${counts.restored} restored, ${counts.lost} lost, ${counts.ended} still deleted, ${counts.refused} refused${counts.newer ? `, ${counts.newer} newer in the database` : ''}; ${counts.audit_entries_lost} audit entries lost`,
    ...[...loaded, ...named.slice(0, MOST_SHOWN)].map((line) => `  ${line}`),
    ...(hidden > 0 ? [`  and ${hidden} more: see --json, or the entry org.adopt in its audit log`] : []),
  ];
}
