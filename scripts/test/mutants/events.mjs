// The mutants of events and notifications. index.mjs says what a mutant is.

import { checks } from './checks.mjs';

/** @type {import('./index.mjs').Mutant[]} */
export const mutants = [
  // ---------------------------------------------------------------- events
  ...checks({
    'events-follow-from-rows':
      'api/events/feed: shows events oldest first, numbered without gaps, page by page, and continues where a page ended',
    'expiry-told-once': 'api/events/expiry: raises an event 7 days and 1 day ahead, and at the end',
    'events-kept-until-stored':
      'api/events/feed: keeps events in the gate that D1 rejects, and moves them later',
    'event-numbers-not-reused': 'api/events/feed: no number is used twice after a gate has lost its storage',
    'events-of-reached-names':
      'api/events/feed: by all of its permissions together, and never events without a subject',
    'pages-of-these-events':
      'unit/domains/events/pages: event stream: a page is read again once there are more',
    'pages-in-turn':
      'unit/domains/events/turns: event stream: pages are two at a time, and one that never ends counts for a second',
    'turn-of-gone-stream-ends':
      'unit/domains/events/turns: event stream: pages are two at a time, and one that never ends counts for a second',
    'socket-bytes-bounded':
      'api/events/many: event stream: a WebSocket that has carried its bound closes, and resumes after the last event',
    'catching-up-bounded': 'api/events/stream: catches up a bounded part at a time',
  }),
  {
    name: 'the number of an event leaves a gap',
    tag: 'events-numbered',
    change: { from: 'head + 1', to: 'head + 2' },
    notice:
      'api/events/feed: shows events oldest first, numbered without gaps, page by page, and continues where a page ended',
  },
  {
    name: 'the expiry of a deleted secret raises an event',
    tag: 'only-live-secrets-expire',
    change: { from: ' || row.deleted_at !== null || row.revoked_at !== null', to: '' },
    notice: 'api/events/expiry: a deleted or revoked secret raises none',
  },
  {
    name: 'the expiry of a revoked credential raises an event',
    tag: 'only-live-credentials-expire',
    change: { from: ' || !isAlive(core, row)', to: '' },
    notice: 'api/events/expiry: raises none for a credential that was revoked',
  },
  {
    name: 'D1 says which events of the gate are forgotten',
    tag: 'events-forgotten-only-if-moved',
    change: { from: 'Math.min(old?.n ?? 0, core.outbox.moved())', to: 'old?.n ?? 0' },
    notice:
      'api/events/feed: D1 cannot remove events from the gate: a row that claims to be old is not believed',
  },
  {
    name: 'a position whose events are no longer stored is accepted',
    tag: 'gone-events-told',
    notice: 'api/events/feed: are gone after 30 days',
    survives: 'the Worker finds that the range is missing in D1, and answers the same',
  },
  {
    name: 'one credential opens any number of streams',
    tag: 'listeners-bounded',
    change: { from: ' || own >= MOST_OF_ONE', to: '' },
    notice: 'api/events/stream: is refused past a hundred of one root',
  },
  {
    name: 'streams that open at once are not counted',
    tag: 'stream-place-taken-at-once',
    change: { from: '(place?.rounds ?? 0) + 1', to: '0' },
    notice: 'api/events/stream: is refused past a hundred of one root',
  },
  {
    name: 'an agent has quotas of its own',
    tag: 'quota-root-above-makers',
    change: {
      from: 'row.member_id ?? parentIdOf(row) ?? row.created_by',
      to: 'row.member_id ?? parentIdOf(row) ?? row.id',
    },
    notice: 'api/events/stream: counts what a root created towards the same limit',
  },
  {
    name: 'one root takes all places of requests that wait for approval',
    tag: 'waiters-bounded',
    change: { from: '>= MOST_OF_ONE', to: '>= Number.POSITIVE_INFINITY' },
    notice: 'api/approvals/approvals: is answered at once past a hundred waits of one root',
  },
  {
    name: 'a stream continues after its caller has ended',
    tag: 'stream-judged-again',
    change: { from: 'call.recheck() ?? ', to: '' },
    notice: 'api/events/stream: ends in the turn in which its credential is revoked',
  },
  {
    name: 'a stream outlives the JWT that it began with',
    tag: 'stream-ends-with-jwt',
    change: { from: 'bearer.until', to: 'undefined' },
    notice: 'api/events/stream: of a browser session ends with the JWT that started it',
  },

  // ---------------------------------------------------------------- notifications
  ...checks({
    'notification-within-limit':
      'unit/adapters/notify: a message that fits is sent in full, one that is too long is cut',
    'notification-markup-escaped': 'unit/adapters/notify: no text mentions, links, formats',
    'connection-unchanged-meanwhile':
      'api/integrations/integrations: a change that another overtook is refused',
  }),
  {
    name: 'a message is formatted in Slack',
    tag: 'notification-plain-text',
    change: { from: "'plain_text'", to: "'mrkdwn'" },
    notice: 'unit/adapters/notify: a message of each severity',
  },
  {
    name: 'a message can ping in Discord',
    tag: 'notification-pings-nobody',
    change: { from: 'parse: []', to: "parse: ['everyone']" },
    notice: 'unit/adapters/notify: a message of each severity',
  },
  {
    name: 'a line break gets into the subject of an e-mail',
    tag: 'notification-subject-one-line',
    change: { from: 'oneLine(message.text)', to: 'message.text' },
    notice: 'unit/adapters/notify: gets the documented request, and no header is injected',
  },
  {
    name: 'the URL of a connection has a user name',
    tag: 'notification-no-user-info',
    change: { from: 'URL.canParse(text) &&', to: 'URL.canParse(text) ||' },
    notice:
      'unit/adapters/notify: notify: a URL with a user name, a fragment or another scheme is not a valid config',
  },
  {
    name: 'a message is sent to any address',
    tag: 'connection-target-checked',
    change: {
      from: 'checkTarget(rebased(url, deployment.platformBaseUrls[platform]), { ...deployment, ports })',
      to: 'null as string | null',
    },
    notice: 'api/integrations/integrations: is no target',
  },
  {
    name: 'credentials of a connection are stored with its public config',
    tag: 'connection-credentials-apart',
    change: { from: 'credentials.includes(name)', to: 'false' },
    notice: 'api/integrations/integrations: no credential is shown',
  },
  {
    name: 'stored credentials are pointed elsewhere',
    tag: 'connection-credentials-stay',
    change: { from: 'isMoved ? {} :', to: 'isMoved && false ? {} :' },
    notice:
      'api/integrations/integrations: integration: stored credentials cannot be sent to another address',
  },
  {
    name: 'the row of a connection is not checked',
    tag: 'credentials-row-mac',
    change: { from: ' || !equal(row.mac, macOf(keys.row, kind, row))', to: '' },
    notice:
      'api/integrations/integrations: integration: altered data is neither decrypted nor sent, and is reported',
  },
  {
    name: 'a limited credential has events of all environments sent somewhere',
    tag: 'connections-stored-by-unlimited-callers',
    change: { from: "mustReachAll(caller, need.scopes, 'change connections')", to: 'null' },
    notice:
      'api/integrations/integrations: a credential that is limited to environments or names changes no connection',
  },
  {
    name: 'each event is a message of its own',
    tag: 'notifications-spaced',
    change: { from: 'until + BETWEEN_MESSAGES', to: '0' },
    notice: 'api/integrations/events: the next message about a kind comes a minute after the last',
  },
  {
    name: 'owners hear of break-glass tokens only where a connection subscribes to them',
    tag: 'owners-always-notified',
    change: { from: " || (job === 'notify' && alwaysNotified.has(type))", to: '' },
    notice:
      'api/integrations/events: notify: the issue and use of a break-glass token go to every connection, regardless of its subscription',
  },
  {
    name: 'a message that was refused for good is repeated',
    tag: 'notification-refusal-final',
    change: { from: 'verdict.status < 500', to: 'verdict.status < 0' },
    notice: 'api/integrations/events: nothing is repeated, and later events are still sent',
  },
];
