// Every page of the console: its path, its label, and its code, which is loaded when the page is opened. The
// navigation, the command palette and the router are generated from this list.
import {
  Bell,
  Bot,
  CircleCheck,
  Download,
  GitCompare,
  History,
  KeyRound,
  KeySquare,
  Laptop,
  LayoutDashboard,
  type LucideIcon,
  Radio,
  RefreshCw,
  Rocket,
  Route,
  ScanSearch,
  ScrollText,
  Settings,
  Share2,
  ShieldAlert,
  ShieldCheck,
  Upload,
  User,
  Users,
  Webhook,
} from 'lucide-preact';
import type { ComponentType } from 'preact';
import { WaitingBadge } from './pages/approvals/badge';
import { HealthDot, SyncsDot, WebhooksDot } from './pages/overview/dot';

type Group = 'Vault' | 'Access' | 'Governance' | 'Integrations' | 'Organisation';

interface Page {
  /** The path below `/console`, in the syntax of wouter. */
  path: string;
  label: string;
  icon: LucideIcon;
  /** Search words for the command palette, in addition to the label. */
  words?: string;
  /**
   * The scope that the page needs, or several, separated by spaces. The navigation hides it from members
   * whose role does not have the scope.
   */
  needs?: string;
  /** Shown beside the label: a count that needs attention. */
  badge?: ComponentType;
  /**
   * The action of its main button, for the command palette, and the scope that it needs, for some in all
   * environments.
   */
  makes?: { label: string; needs: string; everywhere?: true };
  load: () => Promise<{ default: ComponentType<{ params: Record<string, string> }> }>;
  /** Pages of a single item or action. By default they have the icon and need the scope of this page. */
  below?: (Omit<Page, 'icon' | 'below'> & { icon?: LucideIcon })[];
}

export interface PageEntry extends Omit<Page, 'below'> {
  group: Group;
  /** Not in the navigation. */
  hidden: boolean;
}

const tree: Record<Group, Page[]> = {
  Vault: [
    {
      path: '/overview',
      label: 'Overview',
      icon: LayoutDashboard,
      words: 'home health verdict needs attention activity failing overdue expiring',
      badge: HealthDot,
      load: () => import('./pages/overview/page'),
    },
    {
      path: '/secrets',
      label: 'Secrets',
      icon: KeyRound,
      words: 'values passwords keys environments history versions rollback',
      needs: 'secrets:list',
      makes: { label: 'New secret', needs: 'secrets:write' },
      load: () => import('./pages/secrets/list'),
      below: [
        {
          path: '/secrets/compare',
          label: 'Compare environments',
          icon: GitCompare,
          words: 'diff staging production',
          load: () => import('./pages/secrets/compare'),
        },
        {
          path: '/secrets/import',
          label: 'Import secrets',
          icon: Upload,
          words: '.env dotenv vault doppler infisical paste upload',
          needs: 'integrations:import',
          load: () => import('./pages/secrets/import'),
        },
        {
          path: '/secrets/export',
          label: 'Export secrets',
          icon: Download,
          words: 'generate kubernetes dotenv file',
          needs: 'integrations:generate',
          load: () => import('./pages/secrets/export'),
        },
        { path: '/secrets/:id', label: 'Secret', load: () => import('./pages/secrets/detail') },
      ],
    },
  ],
  Access: [
    {
      path: '/credentials',
      label: 'Credentials',
      icon: Bot,
      words:
        'api keys agents session provider break-glass tokens service accounts workload identity oidc ci github actions gitlab revoke rotate',
      needs: 'tokens:read',
      makes: { label: 'New API key', needs: 'tokens:write' },
      load: () => import('./pages/credentials/list'),
      below: [
        { path: '/credentials/:id', label: 'Credential', load: () => import('./pages/credentials/detail') },
        { path: '/blast/:id', label: 'Blast radius', load: () => import('./pages/blast/page') },
      ],
    },
    {
      path: '/grants',
      label: 'Grants',
      icon: Share2,
      words: 'access permissions read write who can read',
      needs: 'members:read',
      makes: { label: 'New grant', needs: 'members:write' },
      load: () => import('./pages/people/grants'),
    },
    {
      path: '/members',
      label: 'Members',
      icon: User,
      words:
        'people users invite colleague roles owner admin developer why may they who can read check access',
      needs: 'members:read',
      makes: { label: 'Invite member', needs: 'members:write', everywhere: true },
      load: () => import('./pages/people/members'),
      below: [{ path: '/members/:id', label: 'Member', load: () => import('./pages/people/member') }],
    },
    {
      path: '/teams',
      label: 'Teams',
      icon: Users,
      words: 'groups people',
      needs: 'teams:read',
      makes: { label: 'New team', needs: 'teams:write' },
      load: () => import('./pages/people/teams'),
      below: [{ path: '/teams/:id', label: 'Team', load: () => import('./pages/people/team') }],
    },
    {
      path: '/sso',
      label: 'Single sign-on',
      icon: KeySquare,
      words: 'sso oidc openid connect identity provider idp okta entra google keycloak domains dns',
      needs: 'sso:read',
      load: () => import('./pages/sso/page'),
    },
  ],
  Governance: [
    {
      path: '/approvals',
      label: 'Approvals',
      icon: CircleCheck,
      words: 'inbox requests approve reject waiting',
      needs: 'approvals:read',
      badge: WaitingBadge,
      load: () => import('./pages/approvals/list'),
      below: [{ path: '/approvals/:id', label: 'Approval', load: () => import('./pages/approvals/detail') }],
    },
    {
      path: '/audit',
      label: 'Audit log',
      icon: History,
      words: 'who did what read history activity entries verify checkpoints export',
      needs: 'audit:read',
      load: () => import('./pages/audit/log'),
    },
    {
      path: '/compliance',
      label: 'Compliance',
      icon: ShieldCheck,
      words: 'report soc 2 iso 27001 findings evidence',
      needs: 'compliance:read',
      load: () => import('./pages/compliance/report'),
    },
    {
      path: '/devices',
      label: 'Devices',
      icon: Laptop,
      words: 'laptops machines dpop block',
      needs: 'devices:read',
      makes: { label: 'Register device', needs: 'devices:write' },
      load: () => import('./pages/devices/list'),
    },
    {
      path: '/policies',
      label: 'Policies',
      icon: ScrollText,
      words: 'naming rotation approval rules',
      needs: 'policies:read',
      makes: { label: 'New policy', needs: 'policies:write' },
      load: () => import('./pages/policies/list'),
      below: [{ path: '/policies/:id', label: 'Policy', load: () => import('./pages/policies/detail') }],
    },
  ],
  Integrations: [
    {
      path: '/scans',
      label: 'Leak scans',
      icon: ScanSearch,
      words: 'find leaked secrets tokens sarif',
      needs: 'scans:write',
      load: () => import('./pages/integrations/scans'),
    },
    {
      path: '/notifications',
      label: 'Notifications',
      icon: Bell,
      words: 'slack teams e-mail pagerduty messages alerts',
      needs: 'integrations:read',
      load: () => import('./pages/integrations/notifications'),
      below: [
        {
          path: '/notifications/new',
          label: 'New notification',
          needs: 'integrations:write',
          load: async () => ({ default: (await import('./pages/integrations/new')).NewNotification }),
        },
      ],
    },
    {
      path: '/syncs',
      label: 'Syncs',
      icon: RefreshCw,
      words: 'integrations platforms vercel github actions aws kubernetes heroku connections runs',
      needs: 'integrations:read',
      badge: SyncsDot,
      load: () => import('./pages/integrations/syncs'),
      below: [
        {
          path: '/syncs/new',
          label: 'New connection',
          words: 'platform sync',
          needs: 'integrations:write',
          load: async () => ({ default: (await import('./pages/integrations/new')).NewSync }),
        },
        { path: '/syncs/:id', label: 'Run', load: () => import('./pages/integrations/run') },
        {
          path: '/syncs/connections/:id',
          label: 'Connection',
          load: () => import('./pages/integrations/connection'),
        },
      ],
    },
    {
      path: '/upstreams',
      label: 'Upstreams',
      icon: Route,
      words: 'use apis without reading proxy stripe openai agents mcp',
      needs: 'upstreams:read',
      makes: { label: 'New upstream', needs: 'upstreams:write' },
      load: () => import('./pages/upstreams/list'),
      below: [{ path: '/upstreams/:id', label: 'Upstream', load: () => import('./pages/upstreams/detail') }],
    },
    {
      path: '/webhooks',
      label: 'Webhooks',
      icon: Webhook,
      words: 'events deliveries signing secret',
      needs: 'webhooks:read',
      badge: WebhooksDot,
      makes: { label: 'New webhook', needs: 'webhooks:write' },
      load: () => import('./pages/integrations/webhooks'),
      below: [
        { path: '/webhooks/:id', label: 'Webhook', load: () => import('./pages/integrations/webhook') },
      ],
    },
    {
      path: '/log-streams',
      label: 'Log streams',
      icon: Radio,
      words: 'audit log siem splunk datadog s3 otlp',
      needs: 'audit:read webhooks:write',
      makes: { label: 'New log stream', needs: 'audit:read webhooks:write' },
      load: () => import('./pages/log-streams/list'),
      below: [
        { path: '/log-streams/:id', label: 'Log stream', load: () => import('./pages/log-streams/detail') },
      ],
    },
  ],
  Organisation: [
    {
      path: '/start',
      label: 'Get started',
      icon: Rocket,
      words: 'first run welcome help svc',
      needs: 'tokens:write',
      load: () => import('./pages/start/start'),
    },
    {
      path: '/incident',
      label: 'Incident response',
      icon: ShieldAlert,
      words: 'contain panic revoke leaked key emergency compromised stolen',
      needs: 'tokens:read',
      load: () => import('./pages/incident/page'),
      below: [
        {
          path: '/incident/:id',
          label: 'Contain a credential',
          needs: 'tokens:write',
          load: () => import('./pages/incident/contain'),
        },
        { path: '/incident/report/:id', label: 'Incident', load: () => import('./pages/incident/detail') },
      ],
    },
    {
      path: '/settings',
      label: 'Settings',
      icon: Settings,
      words: 'passkeys sessions environments organisation addresses retention health delete',
      load: () => import('./pages/settings/settings'),
    },
  ],
};

export const pages: PageEntry[] = Object.entries(tree).flatMap(([name, all]) =>
  all.flatMap(({ below = [], ...page }) => {
    const group = name as Group;
    const { icon, needs } = page;
    return [
      { ...page, group, hidden: false },
      ...below.map((one) => ({ icon, needs, ...one, group, hidden: true })),
    ];
  }),
);
