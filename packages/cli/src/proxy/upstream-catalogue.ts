// Upstreams that are ready to be made: where each API is, how it takes a credential, and a narrow list of
// requests to begin with. Invariant: no entry reaches an endpoint that gives out or shows credentials, since
// whoever may call one holds what the vault was to keep.
import type { components } from '@secrets-vault/client';

type Fields = Pick<components['schemas']['UpstreamIn'], 'base_url' | 'auth' | 'allow'>;

/** What programs read from their environment. */
export interface Sdk {
  /** Variables of base URLs, each with the path that it has at the vendor. */
  urls: Record<string, string>;
  keys: readonly string[];
}

interface Ready {
  /** What calls may do, in the words of the list. */
  what: string;
  /** The usual name of the secret. */
  secret: string;
  /** Further secrets that it places. */
  also?: readonly string[];
  /** Everyone has an address of their own: that in `fields` is an example. */
  isOwnAddress?: true;
  /** The vendor's page on its credential. */
  source: string;
  fields(secret: string): Fields;
  /** For svc proxy. */
  sdk: Sdk;
}

const bearer = (secret: string): Fields['auth'] => [
  { type: 'header', name: 'Authorization', value: `Bearer {{${secret}}}` },
];

const serviceAccount = (secret: string, scope: string): Fields['auth'] => [
  {
    type: 'google_service_account',
    key: `{{${secret}}}`,
    scopes: [`https://www.googleapis.com/auth/${scope}`],
  },
];

const ACCESS_KEY = 'AWS_ACCESS_KEY_ID';
const signed = (secret: string, service: string): Fields['auth'] => [
  {
    type: 'aws_sigv4',
    access_key_id: `{{${ACCESS_KEY}}}`,
    secret_access_key: `{{${secret}}}`,
    region: 'us-east-1',
    service,
  },
];

export const CATALOGUE: Record<string, Ready> = {
  stripe: {
    what: 'make and read payments, customers and refunds',
    secret: 'STRIPE_SECRET_KEY',
    source: 'https://docs.stripe.com/api/authentication',
    sdk: { urls: { STRIPE_API_BASE: '' }, keys: ['STRIPE_SECRET_KEY', 'STRIPE_API_KEY'] },
    fields: (secret) => ({
      base_url: 'https://api.stripe.com',
      auth: bearer(secret),
      allow: [
        {
          methods: ['GET', 'POST'],
          paths: ['charges', 'customers', 'payment_intents', 'refunds'].flatMap((kind) => [
            `/v1/${kind}`,
            `/v1/${kind}/*`,
          ]),
        },
        { methods: ['GET'], paths: ['/v1/balance', '/v1/events', '/v1/events/*'] },
      ],
    }),
  },
  openai: {
    what: 'ask models, and make embeddings',
    secret: 'OPENAI_API_KEY',
    source: 'https://platform.openai.com/docs/api-reference/authentication',
    sdk: { urls: { OPENAI_BASE_URL: '/v1', OPENAI_API_BASE: '/v1' }, keys: ['OPENAI_API_KEY'] },
    fields: (secret) => ({
      base_url: 'https://api.openai.com',
      auth: bearer(secret),
      allow: [
        {
          methods: ['POST'],
          paths: ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/moderations'],
        },
        { methods: ['GET'], paths: ['/v1/models', '/v1/models/*'] },
      ],
    }),
  },
  anthropic: {
    what: 'ask models',
    secret: 'ANTHROPIC_API_KEY',
    source: 'https://docs.anthropic.com/en/api/overview',
    sdk: { urls: { ANTHROPIC_BASE_URL: '' }, keys: ['ANTHROPIC_API_KEY'] },
    fields: (secret) => ({
      base_url: 'https://api.anthropic.com',
      auth: [{ type: 'header', name: 'x-api-key', value: `{{${secret}}}` }],
      allow: [
        { methods: ['POST'], paths: ['/v1/messages', '/v1/messages/count_tokens'] },
        { methods: ['GET'], paths: ['/v1/models', '/v1/models/*'] },
      ],
    }),
  },
  github: {
    what: 'read repositories, and write issues and pull requests',
    secret: 'GITHUB_TOKEN',
    source: 'https://docs.github.com/en/rest/authentication/authenticating-to-the-rest-api',
    sdk: { urls: { GITHUB_API_URL: '' }, keys: ['GITHUB_TOKEN', 'GH_TOKEN'] },
    fields: (secret) => ({
      base_url: 'https://api.github.com',
      auth: bearer(secret),
      allow: [
        { methods: ['GET'], paths: ['/user', '/repos/*/*', '/search/*'] },
        {
          methods: ['POST', 'PATCH'],
          paths: ['issues', 'pulls'].flatMap((kind) => [`/repos/*/*/${kind}`, `/repos/*/*/${kind}/*`]),
        },
      ],
    }),
  },
  slack: {
    what: 'write messages, and read channels',
    secret: 'SLACK_BOT_TOKEN',
    source: 'https://docs.slack.dev/authentication/tokens',
    sdk: { urls: {}, keys: ['SLACK_BOT_TOKEN', 'SLACK_TOKEN'] },
    fields: (secret) => ({
      base_url: 'https://slack.com',
      auth: bearer(secret),
      allow: [
        { methods: ['POST'], paths: ['/api/chat.postMessage', '/api/chat.update', '/api/auth.test'] },
        { methods: ['GET', 'POST'], paths: ['/api/conversations.list', '/api/conversations.history'] },
      ],
    }),
  },
  'google-sheets': {
    what: 'read spreadsheets, and write their cells',
    secret: 'GOOGLE_SERVICE_ACCOUNT',
    source: 'https://developers.google.com/identity/protocols/oauth2/service-account',
    sdk: { urls: {}, keys: [] },
    fields: (secret) => ({
      base_url: 'https://sheets.googleapis.com',
      auth: serviceAccount(secret, 'spreadsheets'),
      allow: [
        { methods: ['GET'], paths: ['/v4/spreadsheets/*'] },
        { methods: ['POST', 'PUT'], paths: ['/v4/spreadsheets/*/values/*'] },
      ],
    }),
  },
  'google-storage': {
    what: 'read objects of buckets',
    secret: 'GOOGLE_SERVICE_ACCOUNT',
    source: 'https://developers.google.com/identity/protocols/oauth2/service-account',
    sdk: { urls: {}, keys: [] },
    fields: (secret) => ({
      base_url: 'https://storage.googleapis.com',
      auth: serviceAccount(secret, 'devstorage.read_only'),
      allow: [{ methods: ['GET'], paths: ['/storage/v1/b/*/o', '/storage/v1/b/*/o/*'] }],
    }),
  },
  'aws-dynamodb': {
    what: 'read and write items, in us-east-1',
    secret: 'AWS_SECRET_ACCESS_KEY',
    also: [ACCESS_KEY],
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html',
    sdk: { urls: {}, keys: [] },
    fields: (secret) => ({
      base_url: 'https://dynamodb.us-east-1.amazonaws.com',
      auth: signed(secret, 'dynamodb'),
      allow: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem'].map((call) => ({
        methods: ['POST'],
        paths: ['/'],
        headers: { 'X-Amz-Target': `DynamoDB_20120810.${call}` },
      })),
    }),
  },
  'aws-s3': {
    what: 'read objects, in us-east-1, with the bucket in the path',
    secret: 'AWS_SECRET_ACCESS_KEY',
    also: [ACCESS_KEY],
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html',
    sdk: { urls: {}, keys: [] },
    fields: (secret) => ({
      base_url: 'https://s3.us-east-1.amazonaws.com',
      auth: signed(secret, 's3'),
      allow: [{ methods: ['GET', 'HEAD'], paths: ['/*/*'] }],
    }),
  },
  postgrest: {
    what: 'read tables, and call functions that only read',
    secret: 'POSTGREST_TOKEN',
    isOwnAddress: true,
    source: 'https://docs.postgrest.org/en/stable/references/auth.html',
    sdk: { urls: {}, keys: [] },
    fields: (secret) => ({
      base_url: 'https://postgrest.example.com',
      auth: bearer(secret),
      allow: [{ methods: ['GET', 'HEAD'], paths: ['/*'] }],
    }),
  },
};
