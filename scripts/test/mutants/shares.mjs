// The mutants of share links. index.mjs says what a mutant is.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  ...checks({
    'passphrase-compared':
      'api/shares/ends: a wrong one uses up no view, a missing one is not an attempt, and the correct one shows the value',
    'passphrase-stretched-below-limits': 'api/shares/ends: is stretched only for a live link that has one',
    'link-ends-with-org': 'api/shares/ends: of an organisation that was deleted',
    'link-ends-with-panic': 'api/shares/ends: panic',
    'link-ends-with-maker': 'api/shares/ends: API key revoked',
    'exposure-follows-links':
      'api/shares/grants: containment: the report names shares, and counts them and their views as reads',
    'passing-rows-bounded': 'api/shares/ends: an organisation has 1,000 links',
    'deliveries-kept-bounded':
      'api/webhooks/delivery: webhooks: past the quotas of an endpoint and of the organisation',
    'open-rows-bounded': 'api/limits/quotas: unfinished ones of a root are bounded too',
    'sync-names-bounded': 'api/limits/quotas: of the oldest targets of a root are forgotten past its quota',
    'sync-names-end-with-connection':
      'api/limits/quotas: are forgotten with the connection that was the last to write there',
  }),
  {
    name: 'a caller who may not read a secret shares it',
    tag: 'share-needs-read',
    change: { from: 'mayAct(caller, READ, ask.request.ip) ??', to: '' },
    notice: 'api/shares/links: sharing needs secrets:share and secrets:read',
  },
  {
    name: 'a share gives more than its creator holds',
    tag: 'share-within-permissions',
    change: {
      from: 'within(call, permissionsToGrant(call, grantOf(input, row)))',
      to: 'permissionsToGrant(call, grantOf(input, row))',
    },
    notice:
      'api/shares/grants: gives no more than its creator holds, and is revoked with the session token that created it',
  },
  {
    name: 'a link opens with the key of another one',
    tag: 'link-key-compared',
    change: { from: ' || !equal(link.key_hash, input.key_hash)', to: '' },
    notice: 'api/shares/ends: the key of another link',
  },
  {
    name: 'a forged key is taken to the gate',
    tag: 'link-key-genuine',
    change: { from: '!token?.isGenuine(context.deployment.tokenTag)', to: '!token' },
    notice: 'api/shares/ends: a forged key asks no gate',
  },
  {
    name: 'a link is viewed without end',
    tag: 'views-counted',
    change: { from: 'views >= link.max_views', to: 'false' },
    notice: 'api/shares/links: as often as it may',
  },
  {
    name: 'passphrases are tried without end',
    tag: 'passphrase-attempts-counted',
    change: { from: 'failures >= MOST_FAILURES', to: 'false' },
    notice: 'api/shares/ends: passphrase wrong ten times',
  },
  {
    name: 'a key is tried at any rate with ever new ids',
    tag: 'views-limited-by-key',
    change: { from: '`hash:${hash}`', to: 'link' },
    notice: 'api/shares/ends: rate limit: one key allows at most about 200 lookups a minute, across ids',
  },
  {
    name: 'a link does not expire',
    tag: 'link-expires',
    change: { from: ' || link.expires_at <= now', to: '' },
    notice: 'api/shares/ends: expired',
  },
  {
    name: 'a link shows a version that was revoked',
    tag: 'link-ends-with-secret',
    change: 'never',
    notice: 'api/shares/ends: secret revoked',
  },
  {
    name: 'a link comes back with a secret that is restored',
    tag: 'deletion-ends-links',
    change: { from: 'linksOf(call.core, row.id)', to: "linksOf(call.core, '')" },
    notice: 'api/shares/ends: secret deleted and restored',
  },
  {
    name: 'a link comes back with a secret that is extended',
    tag: 'link-within-lifetimes',
    change: { from: 'secret.expires_at ?? Number.POSITIVE_INFINITY', to: 'Number.POSITIVE_INFINITY' },
    notice: 'api/shares/ends: secret expired, and revived',
  },
  {
    name: 'links of a contained browser session stay',
    tag: 'containment-ends-links',
    change: { from: 'created_by === id', to: "created_by === ''" },
    notice:
      'api/shares/ends: share link: links of a member are revoked with the member, and with a contained browser session',
  },
  {
    name: 'audit log: requests under way do not count',
    tag: 'entries-under-way-count',
    change: { from: ' + (underWay.get(rows) ?? 0)', to: '' },
    notice: 'api/limits/audit-log: audit log: admits no more concurrent requests than it has room for',
  },
  {
    name: 'rows of forgotten credentials have roots of their own',
    tag: 'stored-row-keeps-root',
    change: { from: 'rootOf(kind, row.id) ?? ', to: '' },
    notice: 'api/limits/quotas: a row keeps its root after the credential that made it is forgotten',
  },
  {
    name: 'a link passes a policy that holds reads',
    tag: 'link-held-as-read',
    change: { from: "['secret.share', 'secret.read']", to: "['secret.share']" },
    notice: 'api/shares/grants: secret.read holds links and grants',
  },
  {
    name: 'a grant passes a policy that holds shares',
    tag: 'grant-held-as-share',
    change: { from: "read: ['secret.read', 'secret.share']", to: "read: ['secret.read']" },
    notice: 'api/shares/grants: secret.share holds links and grants',
  },
];
