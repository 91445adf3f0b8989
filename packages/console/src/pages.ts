// Every page of the console: where it is, what it is called, and its code, which is loaded when somebody goes there. The navigation, the
// command palette and the router are made from this one list.
import { Download, GitCompare, KeyRound, type LucideIcon, Rocket, Settings, ShieldAlert, Upload } from 'lucide-preact';
import type { ComponentType } from 'preact';

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
