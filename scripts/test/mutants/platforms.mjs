// The mutants of the adapters of syncs. index.mjs says what a mutant is.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits quote source.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- syncs, by platform
  ...checks({
    'digitalocean-references-refused':
      'vendors/digitalocean: sync: digitalocean refuses values that the vendor would change',
  }),
  {
    name: 'a secret of an organisation loses the repositories that may see it',
    tag: 'github-access-kept',
    change: {
      from: "await pages(client, `${scope}/${path(target)}/repositories`, 'repositories', 'write')",
      to: '[]',
    },
    notice:
      'vendors/github-actions: gives new secrets of an organisation the visibility of the config; others keep theirs',
  },
  {
    name: 'a protected variable becomes visible to every branch',
    tag: 'gitlab-protected-stays',
    change: { from: '(isProtected && { protected: true })', to: '{ protected: isProtected }' },
    notice:
      'vendors/gitlab-ci: sync: gitlab-ci protects new variables if configured, and never removes protection',
  },
  {
    name: 'an equal value that is stored in plain text stays so',
    tag: 'sync-other-form-written',
    change: { from: '!remote.otherForm && ', to: '' },
    notice: 'vendors/upsert: sync: a variable in another form is written, even if the value is equal',
  },
  {
    name: 'a variable without an id leads to a call to all of them',
    tag: 'sync-no-call-to-collection',
    notice: 'vendors/upsert: sync: a listed variable without an id is not called for',
  },
  {
    name: 'an error of a later call discards the results of earlier calls of a batch',
    tag: 'sync-parts-stand',
    change: 'never',
    notice:
      'vendors/parts: sync: names written before a batch was ended keep their results, and names of calls that were not made stay open',
  },
  {
    name: 'an error code that may be a sent value is reported',
    tag: 'sync-refusals-hold-no-values',
    change: { from: ' && !JSON.stringify(sent).includes(code)', to: '' },
    notice:
      'vendors/parts: sync: a refusal within a success is reported by its code, unless that may be sent data',
  },
  {
    name: 'Netlify is written to without the site',
    tag: 'netlify-site-named',
    change: { from: '?site_id=${encodeURIComponent(siteId)}', to: '' },
    notice: 'vendors/netlify: netlify keeps the contract of all platforms, with one context',
  },
  {
    name: 'a name at Netlify is deleted with the values of other contexts',
    tag: 'netlify-last-value',
    change: 'always',
    notice: 'vendors/netlify: netlify prunes the values of our contexts',
  },
  {
    name: 'a variable of Vercel that spans more targets is overwritten in all of them',
    tag: 'vercel-other-targets-keep',
    change: {
      from: 'row.isCustom || row.targets.some((target) => !targets.includes(target))',
      to: 'false && row.isCustom',
    },
    notice: 'vendors/vercel: a variable that spans more targets keeps its value in the others',
  },
  {
    name: 'a sensitive variable of Vercel can be read afterwards',
    tag: 'vercel-sensitive-stays',
    change: { from: "row.type === 'sensitive' ? 'sensitive' : type", to: 'type' },
    notice:
      'vendors/vercel: sync: vercel keeps sensitive variables sensitive, and never compares with a hidden value',
  },
  {
    name: 'a value that Railway reads as a reference is sent',
    tag: 'railway-references-refused',
    change: 'never',
    notice:
      'vendors/railway: sync: railway compares values as they were set, and refuses values that would be read as a reference',
  },
  {
    name: 'a deletion that Railway did not confirm counts as done',
    tag: 'railway-deletion-confirmed',
    change: { from: 'data?.[`d${i}`] === true', to: 'true' },
    notice: 'vendors/railway: a deletion that the vendor does not confirm has failed',
  },

  // ---------------------------------------------------------------- syncs, the frame of all platforms
  ...checks({
    'sync-settled-by-reading':
      'vendors/apply: sync apply: a begun step is settled by reading, and is created or updated as planned',
    'sync-pages-end': 'vendors/client: pages without end, and pages without measure, end the sync',
    'sync-listing-bounded': 'vendors/client: pages without end, and pages without measure, end the sync',
    'sync-settled-before-repeated':
      'vendors/client: is asked for before it is repeated, and not repeated where it was done',
    'sync-ended-target-not-called':
      'vendors/client: sync client: a target that asks for more than 30 s ends the sync immediately, and is not called again',
    'sync-wait-bounded':
      'vendors/client: waits since the last success add up to 30 s, also of concurrent calls',
    'sync-foreign-secret-kept':
      'vendors/aws-secrets-manager: sync: aws-secrets-manager does not overwrite a secret that is not a JSON object',
    'sync-certificates-kept':
      'vendors/azure-key-vault: keeps content type and tags, and takes no certificate',
    'sync-certificates-not-deleted':
      'vendors/azure-key-vault: keeps content type and tags, and takes no certificate',
  }),
  {
    name: 'a next page leads to any host',
    tag: 'sync-pages-same-host',
    change: 'always',
    notice: 'vendors/client: a next page elsewhere ends the sync',
  },
  {
    name: 'pages without end are read',
    tag: 'sync-pages-bounded',
    change: { from: '++state.pages > MOST_PAGES', to: '++state.pages > 9_000' },
    notice: 'vendors/client: pages without end, and pages without measure, end the sync',
  },
  {
    name: 'an echo of a target is reported as its error code',
    tag: 'sync-errors-hold-no-values',
    change: { from: ' && !isSent(code)', to: '' },
    notice:
      'vendors/client: sync client: a code that contains sent data is not reported: a value, a token, a name, part of them, or one of an earlier call',
  },
  {
    name: 'a prune deletes secrets that this service did not write',
    tag: 'prune-only-own-names',
    change: { from: ' && written.has(fold(target))', to: '' },
    notice:
      'vendors/plan: sync plan: only names recorded as written are deleted, even if others are reported as gone',
  },
];
