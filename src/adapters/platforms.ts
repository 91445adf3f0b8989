// Names of the supported platforms, and the override of their addresses (PLATFORM_BASE_URLS).

/** Platforms that secrets can be written to. */
export const syncPlatforms = [
  ...([
    'vercel',
    'netlify',
    'heroku',
    'fly',
    'render',
    'railway',
    'cloudflare-workers',
    'cloudflare-pages',
    'cloudflare-secrets-store',
    'digitalocean',
  ] as const),
  ...([
    'supabase',
    'github-actions',
    'gitlab-ci',
    'circleci',
    'bitbucket-pipelines',
    'buildkite',
    'hcp-terraform',
  ] as const),
  ...(['aws-secrets-manager', 'aws-ssm', 'gcp-secret-manager', 'azure-key-vault', 'kubernetes'] as const),
];

/** Platforms that messages can be sent to. */
export const notifyPlatforms = [
  ...(['slack', 'microsoft-teams', 'discord', 'google-chat', 'mattermost', 'telegram'] as const),
  ...(['pagerduty', 'opsgenie', 'webhook', 'email'] as const),
];

export type SyncPlatform = (typeof syncPlatforms)[number];
export type NotifyPlatform = (typeof notifyPlatforms)[number];

/** Replaces the origin of a URL by the override; without one the URL stays unchanged. */
export function rebased(url: string, base: string | undefined): string {
  if (base === undefined) return url;
  const from = new URL(url);
  const to = new URL(base);
  return `${to.origin}${to.pathname.replace(/\/+$/, '')}${from.pathname}${from.search}`;
}
