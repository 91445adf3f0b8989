// Every page of the console: where it is, what it is called, and its code, which is loaded when somebody goes there. The navigation, the
// command palette and the router are made from this one list.
import { Bell, Download, GitCompare, KeyRound, type LucideIcon, RefreshCw, ScanSearch, ScrollText, Upload, Webhook } from 'lucide-preact';
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
    path: '/audit',
    label: 'Audit log',
    group: 'Governance',
    icon: ScrollText,
    words: 'who did what history entries verify checkpoints export',
    load: () => import('./pages/audit/log'),
  },
  {
    path: '/scans',
    label: 'Leak scans',
    group: 'Integrations',
    icon: ScanSearch,
    words: 'find leaked secrets tokens sarif',
    load: () => import('./pages/integrations/scans'),
  },
  {
    path: '/notifications',
    label: 'Notifications',
    group: 'Integrations',
    icon: Bell,
    words: 'slack teams e-mail pagerduty messages alerts',
    load: () => import('./pages/integrations/notifications'),
  },
  {
    path: '/notifications/new',
    label: 'New notification',
    group: 'Integrations',
    icon: Bell,
    hidden: true,
    load: async () => ({ default: (await import('./pages/integrations/new')).NewNotification }),
  },
  {
    path: '/syncs',
    label: 'Syncs',
    group: 'Integrations',
    icon: RefreshCw,
    words: 'platforms vercel github aws kubernetes heroku connections runs',
    load: () => import('./pages/integrations/syncs'),
  },
  {
    path: '/syncs/new',
    label: 'New connection',
    group: 'Integrations',
    icon: RefreshCw,
    words: 'platform sync',
    hidden: true,
    load: async () => ({ default: (await import('./pages/integrations/new')).NewSync }),
  },
  {
    path: '/syncs/connections/:id',
    label: 'Connection',
    group: 'Integrations',
    icon: RefreshCw,
    hidden: true,
    load: () => import('./pages/integrations/connection'),
  },
  {
    path: '/syncs/:id',
    label: 'Run',
    group: 'Integrations',
    icon: RefreshCw,
    hidden: true,
    load: () => import('./pages/integrations/run'),
  },
  {
    path: '/webhooks',
    label: 'Webhooks',
    group: 'Integrations',
    icon: Webhook,
    words: 'events deliveries signing secret',
    load: () => import('./pages/integrations/webhooks'),
  },
  {
    path: '/webhooks/:id',
    label: 'Webhook',
    group: 'Integrations',
    icon: Webhook,
    hidden: true,
    load: () => import('./pages/integrations/webhook'),
  },
];
