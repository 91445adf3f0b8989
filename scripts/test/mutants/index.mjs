// The mutants: each removes one safety check, and names the tests that should notice, as
// `file: part of a test's name`. Each file of this folder has those of one area. A tag names the check in the
// source: `// safety: TAG` stands right above the statement, property or argument that a mutant changes, so
// that a refactoring moves it along. Invariant: each tag stands in the source once, and has a mutant here.
import { mutants as approvals } from './approvals.mjs';
import { mutants as approvers } from './approvers.mjs';
import { mutants as audit } from './audit.mjs';
import { mutants as aws } from './aws.mjs';
import { mutants as callers } from './callers.mjs';
import { mutants as changes } from './changes.mjs';
import { mutants as cli } from './cli.mjs';
import { mutants as compliance } from './compliance.mjs';
import { mutants as devices } from './devices.mjs';
import { mutants as egress } from './egress.mjs';
import { mutants as events } from './events.mjs';
import { mutants as files } from './files.mjs';
import { mutants as incidents } from './incidents.mjs';
import { mutants as journal } from './journal.mjs';
import { mutants as limits } from './limits.mjs';
import { mutants as logStreams } from './log-streams.mjs';
import { mutants as people } from './people.mjs';
import { mutants as platforms } from './platforms.mjs';
import { mutants as policies } from './policies.mjs';
import { mutants as replicas } from './replicas.mjs';
import { mutants as secrets } from './secrets.mjs';
import { mutants as shares } from './shares.mjs';
import { mutants as sso } from './sso.mjs';
import { mutants as ssoSignin } from './sso-signin.mjs';
import { mutants as syncs } from './syncs.mjs';
import { mutants as trusts } from './trusts.mjs';
import { mutants as upstreamCalls } from './upstream-calls.mjs';
import { mutants as upstreams } from './upstreams.mjs';
import { mutants as vault } from './vault.mjs';

/**
 * @typedef {object} Mutant
 * @property {string} name What is taken out.
 * @property {string | string[]} [tag] Whose statement changes; of several tags, that of each.
 * @property {string} [file] Instead of a tag, for a migration: it was released, and never changes.
 * @property {'remove' | 'never' | 'always' | { from: string, to: string }} [change] The statement goes, its
 *   condition (that of `if` or of `A ? B : C`) becomes false or true, or a text in it that occurs there once
 *   is replaced. By default the condition of an `if` becomes false, and any other statement goes.
 * @property {string} notice `packages/cli/run/run: …` is of packages/cli/test/run/run.test.ts, any other of
 *   test.
 * @property {string} [survives] Why no test can notice: another safety covers this one.
 */

/** @type {Mutant[]} */
export const mutants = [
  ...approvals,
  ...approvers,
  ...audit,
  ...aws,
  ...callers,
  ...changes,
  ...compliance,
  ...devices,
  ...egress,
  ...events,
  ...files,
  ...incidents,
  ...journal,
  ...limits,
  ...logStreams,
  ...upstreamCalls,
  ...upstreams,
  ...people,
  ...platforms,
  ...policies,
  ...replicas,
  ...secrets,
  ...shares,
  ...sso,
  ...ssoSignin,
  ...syncs,
  ...trusts,
  ...vault,
  ...cli,
];
