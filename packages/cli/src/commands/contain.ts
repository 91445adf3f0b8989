// svc contain: revokes a leaked credential, and reports what it did.
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
  args: { '<id>': 'id of the credential: key_…, tok_…, agt_…, prv_…, bgt_…, ses_…' },
  options: {
    '--since <time>': { description: 'report activity since this time; 2h means two hours ago', parse: moment },
    '--rotate-generated': 'rotate the secrets that it read, if the vault generated their current values',
  },
  examples: {
    'contain tok_0HrZKtC4bqXw2vJm8yNd1L': 'Revoke a credential and all its descendants',
    'contain key_0HrZKtC4bqXw2vJm8yNd1L --since 1d --rotate-generated': 'Also rotate the secrets that it read since yesterday',
  },
  notes: ['If it is interrupted, run it again: it continues where it stopped.'],
  async run(context, { args: [id = ''], options }) {
    await context.confirmDestruction(`This permanently revokes ${clean(id)} and every credential that descends from it.`);
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
          ...data.revoked.map((one) => row('revoked', one.name ?? one.id, one.kind)),
          ...data.credentials.map((one) => row('created', one.name ?? one.id, one.kind, one.created_at)),
          ...data.read.map((one) => row('read', one.name ?? one.secret_id, `version ${one.version}`, one.time)),
          ...data.written.map((one) => row('wrote', one.name ?? one.secret_id, `version ${one.version}`, one.time)),
          ...data.shared.map((one) => row('shared', one.name ?? one.secret_id, one.time)),
          ...(data.rotated ?? []).map((one) => row('rotated', one.name ?? one.secret_id, `version ${one.version}`)),
          ...(data.rotation_due ?? []).map((one) => row('rotate at its issuer', one.name ?? one.secret_id)),
        ],
      );
      out.success(`Revoked ${data.revoked.length} credentials.`);
      if (data.remaining) out.warn(`${data.remaining} credentials are not revoked yet. Run the command again.`);
      if (data.omitted) out.warn(`${data.omitted} credentials are not listed.`);
      if (data.gaps?.length) out.warn('Parts of the audit log are missing, so this report is incomplete.');
    });
    return 0;
  },
});
