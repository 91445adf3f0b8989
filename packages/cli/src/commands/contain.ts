// svc contain: ends a leaked credential, and says what it did.
import { command, moment } from '../command.ts';
import type { CommonOptions } from '../context.ts';
import { clean } from '../text.ts';

interface Options extends CommonOptions {
  since?: string;
  rotateGenerated?: boolean;
}

export default command<Options>({
  needs: 'vault',
  confirms: true,
  args: { '<id>': 'its id: key_…, tok_…, agt_…, prv_…, bgt_…, ses_…' },
  options: {
    '--since <time>': { description: 'report what came after this time, or so long ago, such as 2h', parse: moment },
    '--rotate-generated': 'give secrets that it read new values, where the vault generated the current ones',
  },
  examples: {
    'contain tok_0HrZKtC4bqXw2vJm8yNd1L': 'End a credential and all that descends from it',
    'contain key_0HrZKtC4bqXw2vJm8yNd1L --since 1d --rotate-generated': 'The same, and rotate what it read since yesterday',
  },
  notes: ['It can be repeated, and goes on where it was interrupted.'],
  async run(context, { args: [id = ''], options }) {
    await context.confirmDestruction(`${clean(id)} ends for good, and every credential that descends from it.`);
    const { vault, org_id } = await context.vault();
    const { data } = await vault.api.POST('/orgs/{org_id}/credentials/{id}/contain', {
      params: { path: { org_id, id } },
      body: { since: options.since, rotate: options.rotateGenerated ? 'generated' : undefined },
    });
    const { out } = context;
    out.result(data, () => {
      const row = (what: string, name: string | null, ...more: (string | number | undefined)[]) => [
        what,
        name,
        more.filter((part) => part !== undefined).join(' '),
      ];
      out.table(
        ['what', 'name', 'which'],
        [
          ...data.revoked.map((one) => row('ended', one.name ?? one.id, one.kind)),
          ...data.credentials.map((one) => row('created', one.name ?? one.id, one.kind, one.created_at)),
          ...data.read.map((one) => row('read', one.name ?? one.secret_id, `version ${one.version}`, one.time)),
          ...data.written.map((one) => row('wrote', one.name ?? one.secret_id, `version ${one.version}`, one.time)),
          ...data.shared.map((one) => row('shared', one.name ?? one.secret_id, one.time)),
          ...(data.rotated ?? []).map((one) => row('rotated', one.name ?? one.secret_id, `version ${one.version}`)),
          ...(data.rotation_due ?? []).map((one) => row('rotate it where it was issued', one.name ?? one.secret_id)),
        ],
      );
      out.success(`${data.revoked.length} credentials have ended.`);
      if (data.remaining) out.warn(`${data.remaining} credentials are left: repeat the command.`);
      if (data.omitted) out.warn(`${data.omitted} credentials are not named.`);
      if (data.gaps?.length) out.warn('Parts of the audit log are lost: what is listed is not everything.');
    });
    return 0;
  },
});
