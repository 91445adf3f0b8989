// The parts of the overview, in the order of urgency: what each says, and where it leads.
import type { Tone } from '../../ui/parts';
import type { Item, Overview } from './data';

type Name = Exclude<keyof Overview, 'total' | 'activity'>;

export interface PartOf {
  name: Name;
  tone: Tone;
  title: string;
  /** The page of the rest. */
  all: string;
  /** What one item is called; its name by default. */
  of?: (item: Item) => string;
  /** What its time means. */
  when: string;
  /** What its detail means; it is not shown without. */
  why?: (detail: string) => string;
  /** The page on which to act, and what to do there. */
  at: (item: Item) => string;
  act: string;
}

const failures = (many: string) => (many === '1' ? 'one run' : `${many} runs in a row`);

export const PARTS: PartOf[] = [
  {
    name: 'incidents',
    tone: 'bad',
    title: 'Open incidents',
    all: '/incident',
    of: ({ name, kind }) => name ?? (kind === 'panic' ? 'Panic' : 'Incident'),
    when: 'opened',
    why: (reason) => reason,
    at: ({ id }) => `/incident/report/${id}`,
    act: 'Work on it',
  },
  {
    name: 'break_glass_tokens',
    tone: 'bad',
    title: 'Live break-glass tokens',
    all: '/credentials?kind=break_glass',
    of: ({ detail }) => detail ?? 'Break-glass token',
    when: 'ends',
    at: ({ id }) => `/credentials/${id}`,
    act: 'Revoke',
  },
  {
    name: 'approvals',
    tone: 'accent',
    title: 'Approvals that wait for you',
    all: '/approvals',
    when: 'ends',
    why: (requester) => `asked by ${requester}`,
    at: ({ id }) => `/approvals/${id}`,
    act: 'Decide',
  },
  {
    name: 'failing_syncs',
    tone: 'bad',
    title: 'Failing syncs',
    all: '/syncs',
    of: ({ name, kind }) => name ?? kind ?? 'Sync',
    when: 'failing since',
    why: failures,
    at: ({ id }) => `/syncs/${id}`,
    act: 'See why',
  },
  {
    name: 'failing_webhooks',
    tone: 'bad',
    title: 'Failing webhooks',
    all: '/webhooks',
    when: 'since',
    why: (reason) => (reason === 'gone' ? 'disabled: the address is gone' : 'disabled after five days'),
    at: ({ id }) => `/webhooks/${id}`,
    act: 'See deliveries',
  },
  {
    name: 'overdue_secrets',
    tone: 'warn',
    title: 'Secrets due for rotation',
    all: '/secrets',
    when: 'due',
    at: ({ id }) => `/secrets/${id}`,
    act: 'Rotate',
  },
  {
    name: 'expiring_secrets',
    tone: 'warn',
    title: 'Secrets near their end',
    all: '/secrets',
    when: 'expires',
    at: ({ id }) => `/secrets/${id}`,
    act: 'Replace',
  },
  {
    name: 'expiring_credentials',
    tone: 'warn',
    title: 'Credentials near their end',
    all: '/credentials',
    when: 'expires',
    at: ({ id }) => `/credentials/${id}`,
    act: 'Renew',
  },
  {
    name: 'unverified_domains',
    tone: 'plain',
    title: 'Domains to verify',
    all: '/sso',
    when: 'added',
    at: () => '/sso',
    act: 'Verify',
  },
];
