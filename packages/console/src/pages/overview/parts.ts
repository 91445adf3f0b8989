// The parts of the overview, in the order of urgency: what each says, where it leads, and what can be done
// in place.
import { hrefOfId } from '../../organisation/people';
import { may } from '../../session/may';
import type { Tone } from '../../ui/parts';
import type { Item, Overview } from './data';

type Name = Exclude<keyof Overview, 'total' | 'activity'>;

/** What a row does in place. */
export type Deed = 'decide' | 'retry' | 'rotate' | 'close' | 'revoke';

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
  /** What can be done in place, and what its button says; `can`: whether the member may. */
  inPlace?: { deed: Deed; label: string; can: (item: Item) => boolean };
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
    inPlace: { deed: 'close', label: 'Close', can: () => may('tokens:write') },
  },
  {
    name: 'break_glass_tokens',
    tone: 'bad',
    title: 'Live break-glass tokens',
    all: '/credentials?tab=break_glass',
    of: ({ detail }) => detail ?? 'Break-glass token',
    when: 'ends',
    at: ({ id }) => `/credentials/${id}`,
    act: 'Look',
    inPlace: { deed: 'revoke', label: 'Revoke', can: () => may('tokens:write') },
  },
  {
    name: 'approvals',
    tone: 'accent',
    title: 'Approvals that wait for you',
    all: '/approvals',
    when: 'ends',
    why: (requester) => `asked by ${requester}`,
    at: ({ id }) => `/approvals/${id}`,
    act: 'Open',
    inPlace: { deed: 'decide', label: 'Decide', can: () => may('approvals:decide') },
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
    // A sync without a stored connection cannot run again: its credentials are gone.
    inPlace: { deed: 'retry', label: 'Retry', can: ({ name }) => name !== null && may('integrations:sync') },
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
    act: 'Look',
    inPlace: {
      deed: 'rotate',
      label: 'Rotate',
      can: ({ name, environment }) => may('secrets:rotate', environment ?? undefined, name ?? undefined),
    },
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
    at: ({ id }) => hrefOfId(id) ?? '/credentials',
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
