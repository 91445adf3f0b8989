// Every page of the console: where it is, what it is called, and its code, which is loaded when somebody goes there. The navigation, the
// command palette and the router are made from this one list.
import {
  Bot,
  CircleCheck,
  Download,
  GitCompare,
  KeyRound,
  Laptop,
  type LucideIcon,
  Rocket,
  ScrollText,
  Settings,
  Share2,
  ShieldAlert,
  ShieldCheck,
  Upload,
  User,
  Users,
} from 'lucide-preact';
import type { ComponentType } from 'preact';
import { WaitingBadge } from './pages/approvals/badge';

export interface PageEntry {
  /** Below `/console`, as wouter matches paths. */
  path: string;
  label: string;
  group: 'Vault' | 'Access' | 'Governance' | 'Integrations' | 'Organisation';
  icon: LucideIcon;
  /** Words that the command palette finds it by, besides its label. */
  words?: string;
  /** Left out of the navigation: pages of one thing. */
  hidden?: boolean;
  /** Shown beside the label: a number that asks for attention. */
  badge?: ComponentType;
  load: () => Promise<{ default: ComponentType<{ params: Record<string, string> }> }>;
}

export const pages: PageEntry[] = [
  {
    path: '/secrets',
    label: 'Secrets',
    group: 'Vault',
    icon: KeyRound,
    words: 'values passwords keys environments',
    load: () => import('./pages/secrets/list'),
  },
  {
    path: '/secrets/compare',
    label: 'Compare environments',
    group: 'Vault',
    icon: GitCompare,
    words: 'diff',
    hidden: true,
    load: () => import('./pages/secrets/compare'),
  },
  {
    path: '/secrets/import',
    label: 'Import secrets',
    group: 'Vault',
    icon: Upload,
    words: 'vault doppler infisical dotenv env',
    hidden: true,
    load: () => import('./pages/secrets/import'),
  },
  {
    path: '/secrets/export',
    label: 'Export secrets',
    group: 'Vault',
    icon: Download,
    words: 'generate kubernetes dotenv file',
    hidden: true,
    load: () => import('./pages/secrets/export'),
  },
  { path: '/secrets/:id', label: 'Secret', group: 'Vault', icon: KeyRound, hidden: true, load: () => import('./pages/secrets/detail') },
  {
    path: '/credentials',
    label: 'Credentials',
    group: 'Access',
    icon: Bot,
    words: 'api keys agents session provider break-glass tokens revoke rotate',
    load: () => import('./pages/credentials/list'),
  },
  {
    path: '/credentials/:id',
    label: 'Credential',
    group: 'Access',
    icon: Bot,
    hidden: true,
    load: () => import('./pages/credentials/detail'),
  },
  {
    path: '/grants',
    label: 'Grants',
    group: 'Access',
    icon: Share2,
    words: 'access permissions read write',
    load: () => import('./pages/people/grants'),
  },
  {
    path: '/members',
    label: 'Members',
    group: 'Access',
    icon: User,
    words: 'people users invite roles owner admin developer why may they',
    load: () => import('./pages/people/members'),
  },
  { path: '/members/:id', label: 'Member', group: 'Access', icon: User, hidden: true, load: () => import('./pages/people/member') },
  { path: '/teams', label: 'Teams', group: 'Access', icon: Users, words: 'groups people', load: () => import('./pages/people/teams') },
  { path: '/teams/:id', label: 'Team', group: 'Access', icon: Users, hidden: true, load: () => import('./pages/people/team') },
  {
    path: '/approvals',
    label: 'Approvals',
    group: 'Governance',
    icon: CircleCheck,
    words: 'inbox requests approve reject waiting',
    badge: WaitingBadge,
    load: () => import('./pages/approvals/list'),
  },
  {
    path: '/approvals/:id',
    label: 'Approval',
    group: 'Governance',
    icon: CircleCheck,
    hidden: true,
    load: () => import('./pages/approvals/detail'),
  },
  {
    path: '/compliance',
    label: 'Compliance',
    group: 'Governance',
    icon: ShieldCheck,
    words: 'report soc 2 iso 27001 findings evidence',
    load: () => import('./pages/compliance/report'),
  },
  {
    path: '/devices',
    label: 'Devices',
    group: 'Governance',
    icon: Laptop,
    words: 'laptops machines dpop block',
    load: () => import('./pages/devices/list'),
  },
  {
    path: '/policies',
    label: 'Policies',
    group: 'Governance',
    icon: ScrollText,
    words: 'naming rotation approval rules',
    load: () => import('./pages/policies/list'),
  },
  {
    path: '/policies/:id',
    label: 'Policy',
    group: 'Governance',
    icon: ScrollText,
    hidden: true,
    load: () => import('./pages/policies/detail'),
  },
  {
    path: '/start',
    label: 'Get started',
    group: 'Organisation',
    icon: Rocket,
    words: 'first run welcome help svc',
    load: () => import('./pages/start/start'),
  },
  {
    path: '/incident',
    label: 'Incident response',
    group: 'Organisation',
    icon: ShieldAlert,
    words: 'contain panic revoke leak emergency',
    load: () => import('./pages/incident/incident'),
  },
  {
    path: '/incident/:id',
    label: 'Contain a credential',
    group: 'Organisation',
    icon: ShieldAlert,
    hidden: true,
    load: () => import('./pages/incident/contain'),
  },
  {
    path: '/settings',
    label: 'Settings',
    group: 'Organisation',
    icon: Settings,
    words: 'passkeys sessions environments organisation addresses retention health delete',
    load: () => import('./pages/settings/settings'),
  },
];
