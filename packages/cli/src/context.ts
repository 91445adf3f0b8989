// The context of a command: the vault, the organisation, the environment and the credential. A setting comes
// from a flag, else a variable, else `.svc.json`, else the profile. Invariant: a credential is sent only to
// the origin it was stored for, or that the user or the job has given; a repository never decides where a
// credential is sent.
import type { Credential, Vault, VaultOptions } from '@secrets-vault/client';
import { CliError, usage } from './errors.ts';
import type { Host } from './host.ts';
import type { OpenVault } from './requests/approvals.ts';
import { type Resource, Seen } from './requests/seen.ts';
import { DIRECT, fetchOf } from './requests/transport.ts';
import { checked, configDir, profileName, readProfiles, type Settings } from './settings/config.ts';
import { findProject, MOST_PREFIXES, type Project } from './settings/project.ts';
import { CredentialStore } from './settings/store.ts';
import { Output } from './terminal/output.ts';
import { askYesNo, canAsk } from './terminal/prompts.ts';
import { clean } from './text.ts';

/** Options shared by many commands. */
export interface CommonOptions {
  json?: boolean;
  url?: string;
  org?: string;
  env?: string;
  profile?: string;
  reason?: string;
  approval?: string;
  wait?: boolean;
  yes?: boolean;
}

export type Source = 'flag' | 'variable' | 'project' | 'profile' | 'vault';

export interface Setting {
  value: string;
  source: Source;
}

/** How the caller authenticates. */
export type Identity =
  | { kind: 'variable'; token: string }
  | { kind: 'ci'; trustId: string }
  | { kind: 'stored'; place: 'keychain' | 'file' };

const FLAGS = { url: '--url', org: '--org', environment: '--env' } as const;
const VARIABLES = { url: 'SVC_URL', org: 'SVC_ORG_ID', environment: 'SVC_ENVIRONMENT' } as const;

/** Whether changes in this environment need confirmation. */
export const isProduction = (environment: string): boolean =>
  /^(prod|production|live)([-_].*)?$/i.test(environment);

export class Context {
  readonly out: Output;
  readonly store: CredentialStore;
  /** What this command has shown of the resources that it changes. */
  readonly seen = new Seen();
  readonly configDir: string;
  private foundProject: Project | undefined | null = null;
  private opened: Promise<OpenVault> | undefined;

  constructor(
    readonly host: Host,
    readonly options: CommonOptions,
  ) {
    this.out = new Output(host, Boolean(options.json));
    this.configDir = configDir(host.env);
    this.store = new CredentialStore(this.configDir, () => host.keychain());
  }

  /** The profile: what the user says, else what `.svc.json` says. */
  get profile(): string {
    return this.givenProfile ?? this.project?.profile ?? 'default';
  }

  private get givenProfile(): string | undefined {
    const given = this.options.profile || this.host.env.SVC_PROFILE;
    return given ? profileName(given) : undefined;
  }

  get project(): Project | undefined {
    if (this.foundProject === null) this.foundProject = findProject(this.host.cwd);
    return this.foundProject;
  }

  /** Makes this context act as if there were no `.svc.json`. */
  ignoreProject(): void {
    this.foundProject = undefined;
  }

  /** A setting and its source. */
  setting(field: keyof Settings): Setting | undefined {
    const flag = field === 'environment' ? this.options.env : this.options[field];
    const variable = this.host.env[VARIABLES[field]];
    if (flag) return { value: checked(field, flag, FLAGS[field]), source: 'flag' };
    if (variable) return { value: checked(field, variable, VARIABLES[field]), source: 'variable' };
    const project = this.project?.settings[field];
    if (project !== undefined) return { value: project, source: 'project' };
    const profile = readProfiles(this.configDir)[this.profile];
    if (!profile?.[field]) return undefined;
    // A profile's organisation and environment belong to its vault and credential; a token from a variable
    // may belong to another.
    if (field !== 'url' && (this.host.env.SVC_TOKEN || profile.url !== this.setting('url')?.value))
      return undefined;
    // A profile that the repository chooses is the repository's choice of an address, too.
    // safety: cli-profile-choice
    const source = this.givenProfile || !this.project?.profile ? 'profile' : 'project';
    return { value: checked(field, profile[field], `${field} of the profile ${this.profile}`), source };
  }

  /** The prefixes of names: those given, else those of `.svc.json`. Undefined for all names. */
  prefixes(given: string[] | undefined): string[] | undefined {
    if (given && given.length > MOST_PREFIXES) throw usage(`--prefix can be given ${MOST_PREFIXES} times.`);
    return given ?? this.project?.prefixes;
  }

  /** The vault's origin. */
  get origin(): string {
    const url = this.setting('url');
    if (url) return url.value;
    throw (
      this.unknownProfile() ??
      usage(
        'No vault address is set.',
        'Sign in with svc login --url https://vault.example.com, or set SVC_URL',
      )
    );
  }

  /** The identity to use; undefined if the user is not signed in. */
  identity(): Identity | undefined {
    const { SVC_TOKEN: token, SVC_TRUST_ID: trustId } = this.host.env;
    if (token) {
      this.onlyToNamed('SVC_TOKEN');
      // An error of the platform about a header would quote it.
      if (!/^[\x21-\x7e]+$/.test(token))
        throw usage(
          'SVC_TOKEN contains a line break, a space or another character that no token has.',
          'Set it to the token alone',
        );
      return { kind: 'variable', token };
    }
    const url = this.setting('url');
    const place = url && this.store.place(url.value, this.profile);
    if (place) return { kind: 'stored', place };
    if (!trustId) return undefined;
    this.onlyToNamed("The CI platform's OIDC token");
    return { kind: 'ci', trustId };
  }

  /**
   * Refuses to send a credential that is not stored to an address that a file in the repository selects: the
   * user may have several vaults, and the credential belongs to one of them.
   */
  private onlyToNamed(what: string): void {
    const url = this.setting('url');
    if (url?.source !== 'project') return;
    const { url: own } = readProfiles(this.configDir)[this.givenProfile ?? 'default'] ?? {};
    // safety: cli-token-origin
    if (own !== url.value)
      throw usage(
        `${what} is not sent to ${url.value}: that address comes only from ${clean(this.project?.file ?? '')}.`,
        `To trust it, set SVC_URL=${url.value}`,
      );
  }

  /** That there is no credential. */
  notSignedIn(): CliError {
    return (
      this.unknownProfile() ??
      new CliError(`You are not signed in to ${this.origin}.`, {
        exit: 'signedOut',
        code: 'NOT_SIGNED_IN',
        next: 'Sign in: svc login. In CI, set SVC_TOKEN or SVC_TRUST_ID',
      })
    );
  }

  /** That the user does not have the profile that `.svc.json` names. */
  private unknownProfile(): CliError | undefined {
    const named = this.givenProfile ? undefined : this.project?.profile;
    const known = Object.keys(readProfiles(this.configDir)).sort();
    if (!named || known.includes(named)) return undefined;
    const others = known.length ? `You have ${known.map(clean).join(', ')}` : 'You have none yet';
    return new CliError(
      `${clean(this.project?.file ?? '')} names the profile ${named}, which you do not have.`,
      {
        exit: 'signedOut',
        code: 'UNKNOWN_PROFILE',
        next: `${others}. Choose one with --profile, or sign in: svc login --profile ${named}`,
      },
    );
  }

  /** The signed-in client, and the organisation. */
  vault(): Promise<OpenVault> {
    this.opened ??= this.open();
    return this.opened;
  }

  /** The client if a command has opened it. */
  get openedVault(): Promise<OpenVault> | undefined {
    return this.opened;
  }

  private async open(): Promise<OpenVault> {
    const url = this.origin;
    const identity = this.identity();
    if (!identity) throw this.notSignedIn();
    const [{ createVault: create }, { checkingAnswers }] = await Promise.all([
      import('@secrets-vault/client'),
      import('./requests/answers.ts'),
    ]);
    const warn = (line: string) => this.out.warn(line);
    const createVault = (options: VaultOptions) => checkingAnswers(create(options), warn);
    const credential = await this.credential(url, identity);
    const key = typeof credential === 'string' && credential.startsWith('svc_live_') ? credential : undefined;
    const base = {
      url,
      credential: key ? DIRECT : credential,
      fetch: fetchOf(this, key),
      reason: this.reason(),
    };
    const org = this.setting('org')?.value;
    if (!org && identity.kind === 'ci') throw usage('No organisation is set.', 'Set SVC_ORG_ID');
    const org_id = org ?? (await this.ownOrg(() => createVault({ ...base, org: '' })));
    const vault = createVault({ ...base, org: org_id, environment: this.setting('environment')?.value });
    return {
      vault,
      org_id,
      bearer: async (refused) => (key ? (refused === undefined ? key : null) : vault.token(refused)),
    };
  }

  private async credential(url: string, identity: Identity): Promise<Credential> {
    if (identity.kind === 'variable') return identity.token;
    if (identity.kind === 'ci') return { oidc: 'ci', trustId: identity.trustId };
    const stored = await this.store.load(url, this.profile);
    if (stored?.kind === 'token') return stored.token;
    return {
      terminal: {
        load: async () => {
          const now = await this.store.load(url, this.profile);
          return now?.kind === 'terminal' ? now.session : null;
        },
        save: async (session) => {
          await this.store.save(url, this.profile, { kind: 'terminal', session });
        },
      },
    };
  }

  /** The organisation that the credential belongs to. */
  private async ownOrg(open: () => Vault): Promise<string> {
    const { data } = await open().api.GET('/whoami');
    return data.org_id;
  }

  private reason(): string | undefined {
    const reason = this.options.reason ?? (this.host.env.SVC_REASON || undefined);
    // What a header cannot hold: an error of the platform about it does not name the option.
    if (reason !== undefined && !/^[\t\x20-\x7e\x80-\xff]+$/.test(reason))
      throw usage(
        `${this.options.reason === undefined ? 'SVC_REASON' : '--reason'} must be one line of Latin-1 characters.`,
      );
    return reason;
  }

  /** The chosen environment, or the organisation's default one. */
  async environment(): Promise<string> {
    const { vault } = await this.vault();
    return vault.environment();
  }

  /** The header that repeats a request with its approval. */
  approved(): Record<string, string> {
    const { approval } = this.options;
    return approval ? { 'Approval-Id': approval } : {};
  }

  /**
   * Asks for confirmation before something is destroyed. Without an interactive terminal, --yes is required.
   * @param of the collection and id of what is destroyed: only the state before the question is
   */
  async confirmDestruction(what: string, of?: [collection: string, id: string]): Promise<void> {
    if (this.options.yes) return;
    // safety: cli-confirm
    if (!canAsk(this.host))
      throw usage(
        `${what} This needs confirmation, and there is no interactive terminal.`,
        'Repeat the command with --yes',
      );
    if (of) await this.look(...of);
    await this.confirm(what);
  }

  /**
   * Remembers the state of a resource that the user is asked about. A credential that may not read it goes on
   * without.
   */
  private async look(collection: string, id: string): Promise<void> {
    const { vault, org_id } = await this.vault();
    const path = `/orgs/{org_id}/${collection}/{id}` as '/orgs/{org_id}/teams/{id}';
    const found = await vault.api
      .GET(path, { params: { path: { org_id, id } } })
      .catch((error: { status?: number }) => {
        if (error.status !== 403) throw error;
      });
    if (found) this.seen.note(id, found.data as Resource);
  }

  /** Asks for confirmation before a reversible change in production, if there is an interactive terminal. */
  async confirmProduction(what: string, environment: string): Promise<void> {
    if (!this.options.yes && isProduction(environment) && canAsk(this.host)) await this.confirm(what);
  }

  private async confirm(what: string): Promise<void> {
    if (!(await askYesNo(this.host, `${what} Continue?`)))
      throw new CliError('Nothing was changed.', { exit: 'failure', code: 'DECLINED' });
  }
}
