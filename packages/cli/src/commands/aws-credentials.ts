// svc aws-credentials: an access key for a session, in the form that SDKs of AWS ask a `credential_process`
// for.
import type { CommonOptions } from '../context.ts';
import { BOUNDS, type Bounds } from '../credentials/created.ts';
import { command } from '../definition/command.ts';

const {
  '--ttl <duration>': TTL,
  '--environments <slugs>': ENVIRONMENTS,
  '--secrets <patterns>': SECRETS,
} = BOUNDS;

export default command<CommonOptions & Pick<Bounds, 'environments' | 'secrets' | 'ttl'>>({
  needs: 'vault',
  options: {
    '--environments <slugs>': ENVIRONMENTS as NonNullable<typeof ENVIRONMENTS>,
    '--secrets <patterns>': SECRETS as NonNullable<typeof SECRETS>,
    '--ttl <duration>': {
      ...(TTL as NonNullable<typeof TTL>),
      description: 'lifetime, 1m to 1d; default: 1h',
    },
  },
  examples: {
    'aws-credentials': 'Print what credential_process in ~/.aws/config reads',
    'aws-credentials --ttl 15m --environments production': 'The same, for 15 minutes and one environment',
  },
  notes: [
    'This requires an API key, from svc login --key-stdin or SVC_TOKEN.',
    'In a profile of ~/.aws/config: credential_process = svc aws-credentials',
  ],
  async run(context, { options }) {
    const { vault } = await context.vault();
    const { environments, secrets, ttl } = options;
    const { data } = await vault.api.POST('/auth/aws', {
      body: { environments, secrets, ttlSeconds: ttl },
    });
    // Always JSON: programs read it, and nobody else.
    context.out.raw(
      `${JSON.stringify({
        Version: 1,
        AccessKeyId: data.access_key_id,
        SecretAccessKey: data.secret_access_key,
        SessionToken: data.session_token,
        Expiration: data.expiresAt,
      })}\n`,
    );
    return 0;
  },
});
