// svc device: devices that credentials can be bound to. Invariant: a private key is never sent.
import type { CommonOptions, Context } from '../context.ts';
import { time } from '../credentials/created.ts';
import { type Group, member } from '../definition/command.ts';
import { usage } from '../errors.ts';
import { everything } from '../secrets/lookup.ts';
import { readObject } from '../terminal/prompts.ts';
import { clean } from '../text.ts';

const DEVICE = { '<id>': 'id of the device, dev_…' };
const ID = 'dev_0HrZKtC4bqXw2vJm8yNd1L';
const STATUSES = ['active', 'blocked'] as const;

/** The public key of a device, as a JWK from stdin. */
async function publicKey({ host }: Context) {
  const jwk = await readObject(
    host,
    'The key',
    'Pass the public key as a JWK: svc device register NAME --platform OS --key-stdin < key.json',
  );
  // safety: cli-device-private-key
  if ('d' in jwk)
    throw usage('This is a private key.', 'It was not sent. Pass only the public key: remove the field d');
  return jwk;
}

async function assign(context: Context, id: string, member_id: string | null) {
  const { vault, org_id } = await context.vault();
  const { data } = await vault.api.POST('/orgs/{org_id}/devices/{id}/assign', {
    params: { path: { org_id, id } },
    body: { member_id },
  });
  return data;
}

const group: Group = {
  commands: {
    list: member<CommonOptions & { status?: (typeof STATUSES)[number]; member?: string }>('List devices', {
      needs: 'vault',
      options: {
        '--status <status>': { description: 'only these', choices: STATUSES },
        '--member <id>': 'only those of this member',
      },
      examples: { 'device list': 'List devices' },
      async run(context, { options: { status, member: member_id } }) {
        const { vault, org_id } = await context.vault();
        const rows = await everything(async (query) => {
          const { data } = await vault.api.GET('/orgs/{org_id}/devices', {
            params: { path: { org_id }, query: { ...query, status, member_id } },
          });
          return data;
        });
        context.out.list(
          rows,
          {
            id: (row) => row.id,
            name: (row) => row.name,
            platform: (row) => row.platform,
            member: (row) => row.member_id,
            key: (row) => row.public_key?.crv,
            status: (row) => row.status,
            registered: (row) => time(row.created_at),
          },
          'There are no devices.',
        );
        return 0;
      },
    }),
    register: member<CommonOptions & { platform?: string; serial?: string; keyStdin?: boolean }>(
      'Register a device',
      {
        needs: 'vault',
        args: { '<name>': 'its name' },
        options: {
          '--platform <text>': 'its operating system, such as macOS 26',
          '--serial <text>': 'its serial number or asset tag',
          '--key-stdin': 'read its public key from stdin, as a JWK (P-256 or Ed25519)',
        },
        examples: {
          "device register 'Ann laptop' --platform 'macOS 26' --key-stdin < key.json":
            'Register a device with its public key',
        },
        notes: ['Credentials can be bound only to a device with a key. The key of a device cannot change.'],
        async run(context, { args: [name = ''], options: { platform, serial, keyStdin } }) {
          if (!platform) throw usage('--platform is required.');
          const public_key = keyStdin ? await publicKey(context) : undefined;
          const { vault, org_id } = await context.vault();
          const { data } = await vault.api.POST('/orgs/{org_id}/devices', {
            params: { path: { org_id } },
            body: { name, platform, serial, public_key: public_key as never },
          });
          context.out.result(data, () => context.out.success(`Registered ${data.name} (${data.id}).`));
          return 0;
        },
      },
    ),
    assign: member('Assign a device to a member', {
      needs: 'vault',
      args: { ...DEVICE, '<member>': 'id of the member, mem_…' },
      examples: { [`device assign ${ID} mem_0HrZKtC4bqXw2vJm8yNd1L`]: 'Assign a device' },
      async run(context, { args: [id = '', member_id = ''] }) {
        const data = await assign(context, id, member_id);
        context.out.result(data, () => context.out.success(`Assigned ${data.name} to ${member_id}.`));
        return 0;
      },
    }),
    unassign: member('Unassign a device', {
      needs: 'vault',
      args: DEVICE,
      examples: { [`device unassign ${ID}`]: 'Unassign a device; credentials bound to it stay valid' },
      async run(context, { args: [id = ''] }) {
        const data = await assign(context, id, null);
        context.out.result(data, () => context.out.success(`Unassigned ${data.name}.`));
        return 0;
      },
    }),
    block: member('Block a device permanently', {
      needs: 'vault',
      confirms: true,
      args: DEVICE,
      examples: { [`device block ${ID}`]: 'Revoke everything that is bound to a lost device' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This permanently blocks the device ${clean(id)} and revokes the credentials that are bound to it.`,
          ['devices', id],
        );
        const { vault, org_id } = await context.vault();
        const { data } = await vault.api.POST('/orgs/{org_id}/devices/{id}/block', {
          params: { path: { org_id, id } },
        });
        context.out.result(data, () => context.out.success(`Blocked ${id}.`));
        return 0;
      },
    }),
    remove: member('Remove a device', {
      needs: 'vault',
      confirms: true,
      args: DEVICE,
      examples: { [`device remove ${ID}`]: 'Remove a device and revoke everything that is bound to it' },
      async run(context, { args: [id = ''] }) {
        await context.confirmDestruction(
          `This removes the device ${clean(id)} and revokes the credentials that are bound to it.`,
          ['devices', id],
        );
        const { vault, org_id } = await context.vault();
        await vault.api.DELETE('/orgs/{org_id}/devices/{id}', { params: { path: { org_id, id } } });
        context.out.result({ id, removed: true }, () => context.out.success(`Removed ${id}.`));
        return 0;
      },
    }),
  },
};

export default group;
