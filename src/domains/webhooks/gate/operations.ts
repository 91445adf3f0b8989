// Operations on webhooks in the gate. Invariants: only a caller without limits to environments or names can
// have events of the whole organisation delivered, or see deliveries; the gate has URLs and signing secrets
// only as ciphertext.
import { idStart } from '../../../db/ids';
import type { WebhookRow } from '../../../db/schema';
import { refuse } from '../../../errors';
import type { Operation } from '../../../gate/request/call';
import { type ListInput, listed } from '../../../gate/request/listing';
import { found, wants } from '../../../gate/request/outcome';
import { insertion, revision } from '../../../gate/request/writes';
import { webhookOut } from '../wire';
import { deliveryOperations } from './delivery-operations';
import { find, whole } from './webhook';

/** A webhook for the Worker, which decrypts the URL and shows it. */
const encryptedOut = (row: WebhookRow) => ({
  ...webhookOut(row),
  host: row.host,
  url_sealed: row.url_sealed,
});
export type EncryptedWebhook = ReturnType<typeof encryptedOut>;

const list: Operation<ListInput> = {
  reach: whole,
  read: ({ core, input }) => listed(core, 'webhook', idStart('webhook'), input, encryptedOut),
};

const read: Operation<Record<string, never>> = {
  reach: whole,
  read: (call) => found(find(call), encryptedOut),
};

interface CreateInput {
  id: string;
  /** In its shown form. */
  url: string;
  host: string;
  url_sealed: string;
  secret_sealed: string;
  events: string[] | null;
  description: string | null;
}

const create: Operation<CreateInput> = {
  subject: ({ input }) => ({ resource: input.id }),
  reach: whole,
  change: {
    plan(call, now) {
      const { ask, caller } = call;
      const { url, ...fields } = call.input;
      const put = insertion(call, 'webhook', {
        org_id: ask.org,
        ...fields,
        created_by: caller.id,
        created_at: now,
        updated_at: now,
      });
      const row = put.row as WebhookRow;
      return { status: 201, data: { ...webhookOut(row), url }, writes: [put], resource: row.id };
    },
  },
};

interface UpdateInput {
  address: { host: string; url_sealed: string } | null;
  events?: string[] | null;
  description?: string | null;
  enabled?: boolean;
}

const update: Operation<UpdateInput> = {
  reach: whole,
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const { address, enabled, ...rest } = call.input;
      const disabled = enabled === undefined ? row.disabled : enabled ? null : (row.disabled ?? 'user');
      const put = revision(call, 'webhook', row, { ...rest, ...address, disabled, updated_at: now });
      return { status: 200, data: encryptedOut(put.row as WebhookRow), writes: [put] };
    },
  },
};

const remove: Operation<Record<string, never>> = {
  reach: whole,
  change: {
    revises: find,
    plan(call) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      return {
        status: 204,
        data: null,
        deletes: [{ kind: 'webhook', id: row.id }],
        destroyed: [row.id],
      };
    },
  },
};

export interface RotateInput {
  overlap: number;
  /**
   * The new secret, and the previous one encrypted again as the old secret. Absent in the first round, in
   * which the gate returns the current one.
   */
  made?: { from: string; secret_sealed: string; old_secret_sealed: string; url: string };
}

/** What the Worker needs to create the new secret. */
export interface Rotating {
  host: string;
  url_sealed: string;
  secret_sealed: string;
}

const rotateSecret: Operation<RotateInput> = {
  reach: whole,
  change: {
    revises: find,
    plan(call, now) {
      const row = find(call);
      if (!row) return refuse('NOT_FOUND');
      const { overlap, made } = call.input;
      const { host, url_sealed, secret_sealed } = row;
      // safety: old-secret-is-the-current-one
      if (made?.from !== secret_sealed)
        return wants('value', { host, url_sealed, secret_sealed } satisfies Rotating);
      const put = revision(call, 'webhook', row, {
        secret_sealed: made.secret_sealed,
        old_secret_sealed: overlap === 0 ? null : made.old_secret_sealed,
        old_secret_until: overlap === 0 ? null : now + overlap * 1000,
        updated_at: now,
      });
      return {
        status: 200,
        data: { ...webhookOut(put.row as WebhookRow), url: made.url },
        writes: [put],
        resource: row.id,
      };
    },
  },
};

export const webhookOperations = {
  'webhook.list': list,
  'webhook.read': read,
  'webhook.create': create,
  'webhook.update': update,
  'webhook.delete': remove,
  'webhook.rotate_secret': rotateSecret,
  ...deliveryOperations,
};
