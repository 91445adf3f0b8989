// Operations on shares in the gate. Invariants: a caller shares only secrets it may read, and grants no more
// than it holds; a view is counted, under a lock, in the commit before the value is sent, so a link is never
// viewed more often than allowed; all links that are not live are refused in the same way.

import { fullNeed } from '../../../auth/actions';
import { mayAct, mayReach } from '../../../auth/authorize';
import { equal } from '../../../crypto/digest';
import { idStart } from '../../../db/ids';
import type { Grantee, GrantRow, SecretRow, ShareRow, VersionRow } from '../../../db/schema';
import { type Refusal, refuse } from '../../../errors';
import type { Core } from '../../../gate/core';
import { isGrantAlive } from '../../../gate/identity/lifetime';
import { type Call, isRefusal, type Operation, type OperationOutcome } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { fail, type More, ok, wants } from '../../../gate/request/outcome';
import type { Plan, Proposal } from '../../../gate/request/plan';
import { namedId, slugOf } from '../../../gate/request/target';
import { revision } from '../../../gate/request/writes';
import { iso } from '../../../http/wire';
import { within } from '../../credentials/gate/create';
import { granting, permissionsToGrant, warningFor } from '../../grants/gate/operations';
import { aboutSecret, subjectOf } from '../../secrets/gate/state';
import { versionOf } from '../../secrets/gate/versions';
import { type Delivered, readable, readableVersion } from '../../secrets/rules';
import { grantOut, linkOut } from '../wire';
import { linking, linksOf, type NewLink, shownBy } from './links';

/** The most wrong passphrases for a link: the tenth revokes it. */
const MOST_FAILURES = 10;

const target = (call: Call<unknown>): SecretRow | null =>
  call.core.rows.get('secret', namedId(call.ask, 'secret'));

export interface LinkInput {
  kind: 'link';
  expires_in: number;
  max_views: number;
  /** Null until the Worker has encrypted the value for the link: the gate first returns the version. */
  link: NewLink | null;
}

export interface GrantInput {
  kind: 'grant';
  id: string;
  grantee: { type: Grantee; id: string };
  permission: GrantRow['permission'];
  expires_at: number | null;
}

type ShareInput = LinkInput | GrantInput;

/** The permissions needed to read the secret. */
const READ = fullNeed({ scopes: ['secrets:read'], reveals: true });

/** 403 for a caller who may share the secret but not read it. */
function mayRead(call: Call<unknown>): Refusal | null {
  const { caller, ask } = call;
  const row = target(call);
  // safety: share-needs-read
  return (
    mayAct(caller, READ, ask.request.ip) ??
    (row && mayReach(caller, READ, { environment: row.environment_id, shown: null, name: row.name }))
  );
}

/** A grant of this secret: its environment and its exact name, without wildcards. */
const grantOf = (input: GrantInput, row: SecretRow) => ({
  ...input,
  environments: [row.environment_id],
  secrets: [row.name],
});

const share: Operation<ShareInput> = {
  subject: aboutSecret,
  reach: mayRead,
  authorize(call) {
    const { input } = call;
    const row = target(call);
    // safety: share-within-permissions
    return input?.kind === 'grant' && row
      ? within(call, permissionsToGrant(call, grantOf(input, row)))
      : null;
  },
  change: {
    /**
     * The version to encrypt for the link, or why there is none. Another one may be current by then;
     * sharing this one is equally correct.
     */
    async before(call): Promise<VersionRow | Refusal | null> {
      if (call.input.kind === 'grant' || call.input.link) return null;
      const row = target(call);
      return (
        readable(row, call.core.now()) ?? versionOf(call, (row as SecretRow).id, (row as SecretRow).version)
      );
    },
    plan(call, now, { fetched, judged }) {
      const { input } = call;
      const row = target(call);
      const refusal = readable(row, now);
      if (refusal || !row) return refusal ?? refuse('NOT_FOUND');
      if (input.kind === 'link')
        return planLink(call, input, row, fetched as VersionRow | Refusal | null, now);
      const put = granting(call, grantOf(input, row), judged as ReturnType<typeof permissionsToGrant>, now);
      if ('code' in put) return put;
      return {
        status: 201,
        data: { ...grantOut(put.row as GrantRow), ...warningFor(call, input.grantee) },
        writes: [put],
        events: [
          shared(call.core, row, {
            share_id: put.row.id,
            kind: 'grant',
            grantee: input.grantee,
            permission: input.permission,
          }),
        ],
        audit: { share: put.row.id, version: null },
        describes: `share the secret ${row.name} (${input.permission}) with the ${input.grantee.type} ${input.grantee.id}`,
      };
    },
  },
};

const shared = (
  core: Core,
  { id, name, environment_id, version }: SecretRow,
  data: Record<string, unknown>,
) => ({
  type: 'SECRET_SHARED' as const,
  data: { secret_id: id, name, environment: slugOf(core, environment_id), version, ...data },
});

/** First returns the version to the Worker; then stores the link that the Worker encrypted it for. */
function planLink(
  call: Call<unknown>,
  input: LinkInput,
  row: SecretRow,
  fetched: VersionRow | Refusal | null,
  now: number,
): Plan | Refusal | More<Delivered> {
  const { core } = call;
  const { link, ...asked } = input;
  if (!link) {
    if (!fetched || isRefusal(fetched)) return fetched ?? refuse('UNAVAILABLE', { retry_after: 1 });
    return (
      readableVersion(row, fetched.version, now) ??
      wants('value', { row, version: fetched, environment: slugOf(core, row.environment_id), now })
    );
  }
  const gone = readableVersion(row, link.version, now);
  if (gone) return gone;
  const put = linking(call, row, link, asked, now);
  const { id, expires_at, max_views, passphrase } = put.row as ShareRow;
  const data = { share_id: id, kind: 'link', version: link.version, expires_at: iso(expires_at), max_views };
  return {
    status: 201,
    data: { id, url: null, expires_at: iso(expires_at) },
    writes: [put],
    resource: row.id,
    events: [shared(core, row, data)],
    audit: { share: id, version: link.version },
    describes: `share the secret ${row.name} by a link (${max_views} views, until ${iso(expires_at)}, ${passphrase === null ? 'without' : 'with'} a passphrase)`,
  };
}

/** Whether a grant names only this secret. */
const isOf = ({ environments, secrets }: GrantRow, { environment_id, name }: SecretRow): boolean =>
  environments?.length === 1 &&
  environments[0] === environment_id &&
  secrets?.length === 1 &&
  secrets[0] === name;

/** Grants first, then links, in id order. */
const list: Operation<ListInput> = {
  subject: aboutSecret,
  read(call): OperationOutcome {
    const { core, input } = call;
    const row = target(call);
    if (!row || row.deleted_at !== null) return fail(refuse('NOT_FOUND'));
    const grants = idStart('grant');
    const links = idStart('share');
    const items: unknown[] = [];
    if (input.after === null || input.after.startsWith(grants)) {
      const found = listed(core, 'grant', grants, input, (grant) =>
        isOf(grant, row) && isGrantAlive(core, grant) ? grantOut(grant) : null,
      );
      const slice = (found as { data: { items: unknown[]; next: string | null } }).data;
      if (slice.next !== null) return found;
      items.push(...slice.items);
    }
    const now = core.now();
    const after = input.after?.startsWith(links) ? input.after : links;
    const live = linksOf(core, row.id)
      .filter((link) => link.id > after && shownBy(core, link, now))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const shown = live.slice(0, input.limit - items.length);
    return ok({
      items: [...items, ...shown.map(linkOut)],
      next: shown.length < live.length ? (shown.at(-1)?.id ?? links) : null,
    });
  },
};

/** Revokes a link, deleting its row, or a grant that names only this secret. */
const revoke: Operation<Record<string, never>> = {
  subject: (call) => ({
    ...aboutSecret(call),
    version: null,
    share: call.ask.named.share ?? call.ask.named.grant,
  }),
  change: {
    plan(call, now) {
      const { core, ask } = call;
      const row = target(call);
      if (!row) return refuse('NOT_FOUND');
      const kind = ask.named.share === undefined ? 'grant' : 'share';
      const id = ask.named.share ?? namedId(ask, 'grant');
      if (kind === 'share') {
        const link = core.rows.get('share', id);
        if (link?.secret_id !== row.id || !shownBy(core, link, now)) return refuse('NOT_FOUND');
      } else {
        const grant = core.rows.get('grant', id);
        if (!grant || !isOf(grant, row) || !isGrantAlive(core, grant)) return refuse('NOT_FOUND');
      }
      return { status: 204, data: null, deletes: [{ kind, id }] };
    },
  },
};

export interface ViewInput {
  id: string;
  key_hash: string;
  /** Whether a passphrase was sent. */
  sent: boolean;
  /** Digest of the stretched passphrase; null until the gate has asked for it. */
  passphrase: string | null;
}

/** What the Worker decrypts with the key of the link. */
export interface View {
  secret_id: string;
  name: string;
  version: number;
  value_sealed: string;
  /** Whether the key also depends on the passphrase. */
  has_passphrase: boolean;
}

/**
 * The link of a view, found by its id and key, and its secret; null if there is no such link or it is not
 * live.
 */
function viewed({ core, input }: Call<ViewInput>, now: number): { link: ShareRow; secret: SecretRow } | null {
  const link = core.rows.get('share', input.id);
  // safety: link-key-compared
  if (!link || !equal(link.key_hash, input.key_hash)) return null;
  const secret = shownBy(core, link, now);
  return secret && { link, secret };
}

const view: Operation<ViewInput> = {
  subject(call) {
    const { core, input } = call;
    const found = viewed(call, core.now());
    return found
      ? { ...subjectOf(core, found.secret), version: found.link.version, share: input.id }
      : { resource: input.id };
  },
  change: {
    plan(call, now): Proposal {
      const { input } = call;
      const found = viewed(call, now);
      if (!found) return refuse('SHARE_GONE');
      const { link, secret } = found;
      const end = { deletes: [{ kind: 'share' as const, id: link.id }] };
      if (link.passphrase !== null) {
        if (input.passphrase === null)
          return input.sent
            ? wants('value', null)
            : refuse('PASSPHRASE_WRONG', { message: 'This link requires a passphrase.' });
        // safety: passphrase-compared
        if (!equal(link.passphrase, input.passphrase)) {
          const failures = link.failures + 1;
          // A success for the gate, so it is stored for a repeat of the same request, which then counts only
          // once.
          // safety: passphrase-attempts-counted
          return {
            status: 403,
            data: null,
            ...(failures >= MOST_FAILURES ? end : { writes: [revision(call, 'share', link, { failures })] }),
          };
        }
      }
      const views = link.views + 1;
      const data: View = {
        secret_id: secret.id,
        name: secret.name,
        version: link.version,
        value_sealed: link.value_sealed,
        has_passphrase: link.passphrase !== null,
      };
      // safety: views-counted
      return {
        status: 200,
        data,
        resource: secret.id,
        ...(views >= link.max_views ? end : { writes: [revision(call, 'share', link, { views })] }),
      };
    },
  },
};

export const shareOperations = {
  'secret.share': share,
  'secret.share_list': list,
  'secret.share_revoke': revoke,
  'secret.share_view': view,
};
