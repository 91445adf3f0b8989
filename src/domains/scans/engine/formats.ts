// The formats of well-known credentials. A format has a fixed start and a pattern for what follows.
// Invariants: every start is a literal to search for; every pattern is bounded and has no nested repetition,
// so each attempt takes a bounded number of steps.
import { hasChecksum, holdsJson, isAwsKeyId, isBasic, isLikelySecret, isRandom, isVaried } from './checks';

export interface Format {
  id: string;
  name: string;
  /** The literals it can start with. */
  starts: readonly string[];
  /**
   * What follows the start, as the source of a regular expression. If it has a group, the group is the
   * credential; otherwise the start and the match are.
   */
  body: string;
  /**
   * What must come before the start, as the source of a regular expression of at most 32 characters; it is
   * part of the credential.
   */
  before?: string;
  /** Starts are matched in any case and inside words: they name the assigned variable. */
  isName?: true;
  /**
   * Whether a match is valid. For a name, `found` is the value. By default, the part after the start must not
   * be a placeholder.
   */
  check?(found: string): boolean;
  /** Weak: dropped if another format matches at the same place. */
  isGuess?: true;
}

const WORD = '[A-Za-z0-9]';
const URL64 = '[A-Za-z0-9_-]';
const HEX = '[0-9a-f]';
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

const github = (id: string, name: string, start: string): Format => ({
  id: `github-${id}`,
  name: `GitHub ${name}`,
  starts: [start],
  body: `${WORD}{36}`,
  check: hasChecksum,
});
const plain = (id: string, name: string, start: string | readonly string[], body: string): Format => ({
  id,
  name,
  starts: typeof start === 'string' ? [start] : start,
  body,
});
/** A value recognised by the name it is assigned to. */
const assigned = (
  id: string,
  name: string,
  names: readonly string[],
  value: string,
  check: Format['check'] = isVaried,
): Format => ({
  id,
  name,
  starts: names,
  isName: true,
  check,
  body: `[A-Za-z0-9_.-]{0,24}["']?[ \\t]{0,4}(?:=>|:=|=|:)[ \\t]{0,4}["'\`]?(${value})(?![A-Za-z0-9_+/=-])`,
});

/** Formats with a distinctive start. */
const prefixed: readonly Format[] = [
  github('pat', 'personal access token', 'ghp_'),
  github('oauth-token', 'OAuth access token', 'gho_'),
  github('user-token', 'App user token', 'ghu_'),
  github('app-token', 'App installation token', 'ghs_'),
  github('refresh-token', 'App refresh token', 'ghr_'),
  plain(
    'github-fine-grained-pat',
    'GitHub fine-grained personal access token',
    'github_pat_',
    `${WORD}{22}_${WORD}{59}`,
  ),
  { id: 'npm-token', name: 'npm access token', starts: ['npm_'], body: `${WORD}{36}`, check: hasChecksum },
  plain(
    'gitlab-pat',
    'GitLab personal access token',
    'glpat-',
    `${URL64}{20}(?:${URL64}{0,60}[.][0-9a-z]{2}[.]?[0-9a-z]{7,9}){0,1}`,
  ),
  plain('gitlab-pipeline-trigger', 'GitLab pipeline trigger token', 'glptt-', `${HEX}{40}`),
  plain('gitlab-deploy-token', 'GitLab deploy token', 'gldt-', `${URL64}{20}`),
  plain('gitlab-runner-token', 'GitLab runner token', 'glrt-', `${URL64}{20}`),
  plain('gitlab-runner-registration', 'GitLab runner registration token', 'GR1348941', `${URL64}{20}`),
  plain('gitlab-agent-token', 'GitLab agent token', 'glagent-', `${URL64}{50}`),
  plain('gitlab-oauth-secret', 'GitLab OAuth application secret', 'gloas-', `${URL64}{64}`),
  plain('gitlab-scim-token', 'GitLab SCIM token', 'glsoat-', `${URL64}{20}`),
  plain('gitlab-feed-token', 'GitLab feed token', 'glft-', `${URL64}{20}`),
  plain('gitlab-mail-token', 'GitLab incoming mail token', 'glimt-', `${URL64}{25}`),
  plain('gitlab-feature-flag-token', 'GitLab feature flag token', 'glffct-', `${URL64}{20}`),
  {
    ...plain('aws-access-key-id', 'AWS access key id', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], '[A-Z2-7]{16}'),
    check: isAwsKeyId,
  },
  plain('aws-bedrock-key', 'Amazon Bedrock API key', 'ABSK', '[A-Za-z0-9+/]{109,269}={0,2}'),
  plain('gcp-api-key', 'Google API key', 'AIza', `${URL64}{35}`),
  plain('gcp-oauth-secret', 'Google OAuth client secret', 'GOCSPX-', `${URL64}{28}`),
  plain('gcp-oauth-token', 'Google OAuth access token', 'ya29.', `${URL64}{30,300}`),
  plain('azure-storage-key', 'Azure storage account key', 'AccountKey=', '[A-Za-z0-9+/]{86}=='),
  plain('azure-shared-access-key', 'Azure shared access key', 'SharedAccessKey=', '[A-Za-z0-9+/]{43}='),
  plain('azure-devops-pat', 'Azure DevOps personal access token', 'AZDO', `${WORD}{80}`),
  plain('slack-bot-token', 'Slack bot token', 'xoxb-', '[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9]{18,32}'),
  plain(
    'slack-user-token',
    'Slack user token',
    ['xoxp-', 'xoxs-'],
    '[0-9]{10,13}-[0-9]{10,13}-[0-9]{10,13}-[0-9a-f]{28,64}',
  ),
  plain(
    'slack-app-token',
    'Slack app-level token',
    'xapp-',
    '[0-9]-[A-Z0-9]{9,12}-[0-9]{10,13}-[0-9a-f]{64}',
  ),
  plain('slack-refresh-token', 'Slack refresh token', 'xoxe-', '[0-9]-[A-Za-z0-9]{146}'),
  plain(
    'slack-webhook',
    'Slack webhook',
    'hooks.slack.com/services/',
    'T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24}',
  ),
  plain(
    'slack-workflow-webhook',
    'Slack workflow webhook',
    'hooks.slack.com/workflows/',
    'T[A-Z0-9]{8,12}/A[A-Z0-9]{8,12}/[0-9]{17,19}/[A-Za-z0-9]{24}',
  ),
  plain(
    'discord-webhook',
    'Discord webhook',
    ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    `[0-9]{17,20}/${URL64}{60,80}`,
  ),
  plain(
    'teams-webhook',
    'Microsoft Teams webhook',
    '.webhook.office.com/webhookb2/',
    `${UUID}@${UUID}/IncomingWebhook/${HEX}{32}/${UUID}`,
  ),
  plain('stripe-secret-key', 'Stripe secret key', ['sk_live_', 'sk_test_'], `${WORD}{24,120}`),
  plain('stripe-restricted-key', 'Stripe restricted key', ['rk_live_', 'rk_test_'], `${WORD}{24,120}`),
  plain('webhook-secret', 'Webhook signing secret', 'whsec_', '[A-Za-z0-9+/]{32,64}={0,2}'),
  plain('square-access-token', 'Square access token', 'sq0atp-', `${URL64}{22}`),
  plain('square-oauth-secret', 'Square OAuth secret', 'sq0csp-', `${URL64}{43}`),
  plain('shopify-token', 'Shopify access token', ['shpat_', 'shpca_', 'shppa_'], '[0-9a-fA-F]{32}'),
  plain('shopify-shared-secret', 'Shopify shared secret', 'shpss_', '[0-9a-fA-F]{32}'),
  plain('flutterwave-key', 'Flutterwave secret key', ['FLWSECK_TEST-', 'FLWSECK-'], '[0-9a-h]{32}-X'),
  plain('easypost-key', 'EasyPost API key', ['EZAK', 'EZTK'], `${WORD}{54}`),
  plain('duffel-token', 'Duffel access token', ['duffel_live_', 'duffel_test_'], `${URL64}{43}`),
  plain('shippo-token', 'Shippo API token', ['shippo_live_', 'shippo_test_'], `${HEX}{40}`),
  plain(
    'openai-key',
    'OpenAI API key',
    ['sk-proj-', 'sk-svcacct-', 'sk-admin-'],
    `${URL64}{20,120}T3BlbkFJ${URL64}{20,120}`,
  ),
  plain('openai-legacy-key', 'OpenAI API key (legacy)', 'sk-', `${WORD}{20}T3BlbkFJ${WORD}{20}`),
  plain('anthropic-key', 'Anthropic API key', ['sk-ant-api03-', 'sk-ant-admin01-'], `${URL64}{93}AA`),
  plain('huggingface-token', 'Hugging Face access token', 'hf_', '[A-Za-z]{34}'),
  plain('replicate-token', 'Replicate API token', 'r8_', `${WORD}{37}`),
  plain('perplexity-key', 'Perplexity API key', 'pplx-', `${WORD}{48}`),
  plain('groq-key', 'Groq API key', 'gsk_', `${WORD}{52}`),
  plain('xai-key', 'xAI API key', 'xai-', `${WORD}{80}`),
  plain('databricks-token', 'Databricks access token', 'dapi', `${HEX}{32}(?:-[0-9]){0,1}`),
  plain('digitalocean-pat', 'DigitalOcean personal access token', 'dop_v1_', `${HEX}{64}`),
  plain('digitalocean-oauth-token', 'DigitalOcean OAuth token', 'doo_v1_', `${HEX}{64}`),
  plain('digitalocean-refresh-token', 'DigitalOcean refresh token', 'dor_v1_', `${HEX}{64}`),
  plain('heroku-key', 'Heroku API key', 'HRKU-AA', `${URL64}{58}`),
  plain('flyio-token', 'Fly.io access token', ['fo1_', 'fm2_'], '[A-Za-z0-9_+/-]{43,280}={0,3}'),
  plain('netlify-token', 'Netlify access token', 'nfp_', `${WORD}{36}`),
  plain('supabase-token', 'Supabase access token', 'sbp_', `${HEX}{40}`),
  plain('supabase-secret-key', 'Supabase secret key', 'sb_secret_', `${URL64}{31,48}`),
  plain('cloudflare-origin-ca-key', 'Cloudflare Origin CA key', 'v1.0-', `${HEX}{24}-${HEX}{146}`),
  {
    ...plain('hcp-terraform-token', 'HCP Terraform token', '.atlasv1.', `${URL64}{60,70}`),
    before: `${WORD}{14}`,
  },
  plain('vault-service-token', 'HashiCorp Vault service token', 'hvs.', `${URL64}{90,120}`),
  plain('vault-batch-token', 'HashiCorp Vault batch token', 'hvb.', `${URL64}{138,300}`),
  plain('pulumi-token', 'Pulumi access token', 'pul-', `${HEX}{40}`),
  plain(
    'doppler-token',
    'Doppler token',
    ['dp.pt.', 'dp.st.', 'dp.ct.', 'dp.sa.', 'dp.scim.', 'dp.audit.'],
    '(?:[a-z0-9_-]{2,35}[.]){0,1}[A-Za-z0-9]{40,44}',
  ),
  plain(
    'onepassword-secret-key',
    '1Password secret key',
    'A3-',
    '[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}',
  ),
  {
    ...plain(
      'onepassword-service-token',
      '1Password service account token',
      'ops_eyJ',
      '[A-Za-z0-9+/]{250,2000}={0,2}',
    ),
    check: holdsJson,
  },
  plain('age-secret-key', 'age secret key', 'AGE-SECRET-KEY-1', '[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}'),
  plain('sendgrid-key', 'SendGrid API key', 'SG.', `${URL64}{22}[.]${URL64}{43}`),
  plain('mailgun-key', 'Mailgun API key', 'key-', `${HEX}{32}`),
  plain('brevo-key', 'Brevo API key', ['xkeysib-', 'xsmtpsib-'], `${HEX}{64}-${WORD}{16}`),
  plain('resend-key', 'Resend API key', 're_', `${WORD}{8}_${WORD}{24}`),
  plain('twilio-key', 'Twilio API key', 'SK', `${HEX}{32}`),
  { ...plain('telegram-bot-token', 'Telegram bot token', ':AA', `${URL64}{33}`), before: '[0-9]{8,10}' },
  plain('grafana-service-token', 'Grafana service account token', 'glsa_', `${WORD}{32}_[0-9A-Fa-f]{8}`),
  {
    ...plain(
      'grafana-cloud-token',
      'Grafana Cloud access policy token',
      'glc_eyJ',
      '[A-Za-z0-9+/]{30,400}={0,2}',
    ),
    check: holdsJson,
  },
  plain('sentry-user-token', 'Sentry user token', 'sntryu_', `${HEX}{64}`),
  plain(
    'sentry-org-token',
    'Sentry organisation token',
    'sntrys_eyJ',
    '[A-Za-z0-9+/]{40,400}={0,2}_[A-Za-z0-9+/]{43}',
  ),
  plain('newrelic-key', 'New Relic user key', 'NRAK-', '[A-Z0-9]{27}'),
  plain('dynatrace-token', 'Dynatrace API token', 'dt0c01.', '[A-Z0-9]{24}[.][A-Z0-9]{64}'),
  plain('posthog-key', 'PostHog personal API key', 'phx_', `${WORD}{40,56}`),
  plain('linear-key', 'Linear API key', 'lin_api_', `${WORD}{40}`),
  plain('notion-token', 'Notion integration token', 'ntn_', '[0-9]{11}[A-Za-z0-9]{35}'),
  plain('figma-token', 'Figma personal access token', 'figd_', `${URL64}{40,44}`),
  plain('airtable-pat', 'Airtable personal access token', 'pat', `${WORD}{14}[.]${HEX}{64}`),
  plain('atlassian-token', 'Atlassian API token', 'ATATT3', '[A-Za-z0-9_=-]{180,200}'),
  plain('bitbucket-app-password', 'Bitbucket app password', 'ATBB', `${WORD}{32}`),
  plain('postman-key', 'Postman API key', 'PMAK-', `${HEX}{24}-${HEX}{34}`),
  plain(
    'planetscale-credential',
    'PlanetScale credential',
    ['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'],
    '[A-Za-z0-9_=.-]{32,64}',
  ),
  plain('neon-key', 'Neon API key', 'napi_', '[a-z0-9]{64}'),
  plain(
    'pypi-token',
    'PyPI upload token',
    ['pypi-AgEIcHlwaS5vcmc', 'pypi-AgENdGVzdC5weXBpLm9yZw'],
    `${URL64}{50,280}`,
  ),
  plain('rubygems-key', 'RubyGems API key', 'rubygems_', `${HEX}{48}`),
  plain('crates-token', 'crates.io API token', 'cio', `${WORD}{32}`),
  plain('clojars-token', 'Clojars deploy token', 'CLOJARS_', '[a-z0-9]{60}'),
  plain('docker-pat', 'Docker access token', ['dckr_pat_', 'dckr_oat_'], `${URL64}{27,32}`),
  plain('artifactory-key', 'Artifactory API key', 'AKCp', `${WORD}{69}`),
  plain(
    'sourcegraph-token',
    'Sourcegraph access token',
    'sgp_',
    '(?:(?:[0-9a-f]{16}|local)_){0,1}[0-9a-f]{40}',
  ),
  plain('circleci-token', 'CircleCI personal API token', 'CCIPAT_', `${WORD}{22}_${HEX}{40}`),
  plain('buildkite-token', 'Buildkite API token', ['bkua_', 'bkaj_'], `${HEX}{40}`),
  plain('prefect-key', 'Prefect API key', 'pnu_', `${WORD}{36}`),
  plain('openshift-token', 'OpenShift user token', 'sha256~', `${URL64}{43}`),
  plain('alibaba-key-id', 'Alibaba Cloud access key id', 'LTAI', `${WORD}{20}`),
  plain('facebook-token', 'Facebook access token', ['EAAM', 'EAAC'], `${WORD}{100,280}`),
  plain('dropbox-token', 'Dropbox short-lived access token', 'sl.u.', `${URL64}{130,280}`),
  {
    ...plain(
      'basic-authorization',
      'Basic authorization header',
      'Authorization: Basic ',
      '[A-Za-z0-9+/]{12,200}={0,2}',
    ),
    check: isBasic,
  },
];

/** Ids of this service look random but are not secrets. */
const isOwnId = (value: string): boolean => /^[a-z]{3,4}_[0-9A-Za-z]{22}$/.test(value);

/** Formats recognised by the name of the assigned variable. */
const named: readonly Format[] = [
  assigned(
    'aws-secret-access-key',
    'AWS secret access key',
    ['aws_secret', 'secret_access_key', 'secretaccesskey'],
    '[A-Za-z0-9/+]{40}',
    isRandom,
  ),
  assigned('cloudflare-token', 'Cloudflare API token', ['cloudflare', 'cf_api'], `${URL64}{40}`, isRandom),
  assigned(
    'datadog-key',
    'Datadog key',
    ['datadog', 'dd_api_key', 'dd_app_key'],
    '(?:[0-9a-f]{40}|[0-9a-f]{32})',
  ),
  assigned('heroku-legacy-key', 'Heroku API key (legacy)', ['heroku'], UUID),
  assigned('okta-token', 'Okta API token', ['okta'], '00[A-Za-z0-9_-]{40}'),
  assigned(
    'discord-bot-token',
    'Discord bot token',
    ['discord'],
    `[MNO][A-Za-z0-9_-]{23,25}[.]${URL64}{6}[.]${URL64}{27,38}`,
  ),
  assigned('fastly-token', 'Fastly API token', ['fastly'], `${URL64}{32}`, isRandom),
  assigned('algolia-key', 'Algolia admin key', ['algolia'], `${HEX}{32}`),
  assigned(
    'azure-client-secret',
    'Azure client secret',
    ['client_secret', 'clientsecret', 'azure'],
    '[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}',
  ),
  assigned('twilio-auth-token', 'Twilio auth token', ['twilio'], `${HEX}{32}`),
  assigned('vercel-token', 'Vercel access token', ['vercel'], `${WORD}{24}`, isRandom),
  {
    id: 'url-password',
    name: 'Password in a URL',
    starts: ['://'],
    isName: true,
    body: '[A-Za-z0-9._~%-]{1,64}:([^\\s/:@"\'`<>\\\\]{8,128})@[A-Za-z0-9]',
    check: isLikelySecret,
    isGuess: true,
  },
  {
    ...assigned(
      'assigned-secret',
      'High-entropy value',
      [
        'secret',
        'token',
        'passw',
        'api_key',
        'apikey',
        'api-key',
        'access_key',
        'accesskey',
        'private_key',
        'credential',
      ],
      '[A-Za-z0-9_+/.=~!@#^&*-]{20,120}',
      (value) => isRandom(value) && !isOwnId(value),
    ),
    isGuess: true,
  },
];

export const formats: readonly Format[] = [...prefixed, ...named];

/** Rules that are not matched by a start and a pattern. */
export const others = [
  { id: 'private-key', name: 'Private key' },
  { id: 'jwt', name: 'JSON Web Token' },
  { id: 'gcp-service-account', name: 'Google Cloud service account key' },
  { id: 'svc-token', name: 'Token of this service' },
  { id: 'stored-secret', name: 'Value of a stored secret' },
] as const;

/** The name of each rule. */
export const ruleNames: ReadonlyMap<string, string> = new Map(
  [...formats, ...others].map(({ id, name }) => [id, name]),
);
