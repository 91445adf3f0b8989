// State shared by all tools of one server: the vault, the policy, and the masked values. Invariants: a value
// is registered for masking before anything can show it; every read is a separate request with a reason, so
// that the audit log records it; an approval is used only for the call that asked for it, and only if every
// secret that this call needs is available.
import type { Secret, Vault } from '@secrets-vault/client';
import { asCliError, CliError, usage } from '../errors.ts';
import { type SecretInfo, secretNamed } from '../secrets/lookup.ts';
import { clean } from '../text.ts';
import { type Call, isReasonOf, MOST_REASON, reasonOfCall, textOfCall } from './calls.ts';
import type { AllowedHost, Bindings } from './hosts.ts';
import { Masker, SHORTEST } from './mask.ts';
import type { Programs } from './programs.ts';

/** The permissions that the person who starts the server grants. */
export interface Policy {
  /** Where secrets without a binding may be sent. */
  hosts: AllowedHost[];
  bindings: Bindings;
  /** The programs that may be run; undefined for none. */
  programs: Programs | 'any' | undefined;
  allowRead: boolean;
}

/** The maximum number of secrets per call: more than any command needs. */
const MOST_VALUES = 50;
/** In bytes. The end of a cut output is omitted as far as a value of this length could reach. */
const LONGEST_VALUE = 32 * 1024;

/** Characters of a call in a refusal. */
const MOST_SHOWN = 20_000;

interface Held {
  name: string;
  id: string;
  status: string;
}

export class Session {
  readonly masker = new Masker();
  /** Aborts running calls when the server stops. */
  readonly closing = new AbortController();

  constructor(
    readonly vault: Vault,
    /** Where the vault is. */
    readonly origin: string,
    /** Its secrets are used; empty if only upstreams are. */
    readonly environment: string,
    readonly policy: Policy,
    /** Directory in which commands run. */
    readonly root: string,
    readonly env: NodeJS.ProcessEnv,
    private readonly reason: string | undefined,
    /** The agent credential, which calls of upstreams bring themselves. */
    readonly token: string,
  ) {
    // Programs of the same user can read the server's own token from its environment or a file.
    // safety: mcp-own-token
    this.masker.add('credential of this server', token);
  }

  /** Whether values may come to this machine. Otherwise http_request calls upstreams alone. */
  get placesValues(): boolean {
    const { programs, allowRead } = this.policy;
    return this.reachable.length > 0 || programs !== undefined || allowRead;
  }

  /** Every host that http_request may call. */
  get reachable(): AllowedHost[] {
    const { hosts, bindings } = this.policy;
    return [...hosts, ...[...bindings.values()].flat().map(({ host }) => host)];
  }

  /** The reason for a request that reads no value, as recorded in the audit log. */
  reasonFor(tool: string, what: string): string {
    const call = printable(`mcp ${tool}: ${what}`).slice(0, MOST_REASON);
    const own = this.reason && printable(`${this.reason}; `);
    // The person's own words are cut first: they are the same in every reason.
    return own && own.length + call.length > MOST_REASON
      ? own.slice(0, MOST_REASON - call.length) + call
      : `${own ?? ''}${call}`;
  }

  /** Reads the values of secrets for a call. They are masked from now on. */
  async values(names: string[], call: Call): Promise<Map<string, string>> {
    const reason = printable(reasonOfCall(call, this.reason, (text) => this.mask(text)));
    if (names.length > MOST_VALUES) throw usage(`One call can use at most ${MOST_VALUES} secrets.`);
    const { text, length } = this.textOf(call);
    const read = (name: string, approval?: string) =>
      this.vault.get(name, { environment: this.environment, reason, call: text, approval });
    const first = await Promise.all(
      names.map((name) => read(name).catch((error: unknown) => heldOf(name, error))),
    );
    const held = first.filter(isHeld);
    for (const one of held) await this.checkIsOf(one, call);
    // safety: mcp-call-shown-whole
    if (held.length > 0 && length !== undefined) throw await this.unshown(held, length);
    const waiting = held.filter(({ status }) => status !== 'approved');
    // safety: mcp-approvals-together
    if (waiting.length > 0) throw notYet(waiting, call);
    const found = new Map<string, string>();
    for (const [at, one] of first.entries()) {
      const name = names[at] as string;
      const value = (isHeld(one) ? await read(name, one.id) : one).reveal();
      this.hide(name, value);
      found.set(name, value);
    }
    return found;
  }

  /** The whole call, for the X-Access-Call of a request. */
  textOf(call: Call): ReturnType<typeof textOfCall> {
    const { text, ...rest } = textOfCall(call, (whole) => this.mask(whole));
    return { text: printable(text), ...rest };
  }

  /** Cancels the approvals of a call that deciders cannot be shown whole. Returns the refusal. */
  private async unshown(held: Held[], length: number): Promise<CliError> {
    const path = (id: string) => ({ params: { path: { org_id: this.vault.org, id } } });
    // One that cannot be cancelled serves nothing either: this server never uses it.
    await Promise.allSettled(
      held.map(({ id }) => this.vault.api.POST('/orgs/{org_id}/approvals/{id}/cancel', path(id))),
    );
    const names = held.map(({ name }) => clean(name)).join(', ');
    return usage(
      `A person must approve this call because it uses ${names}, but it is too long to be shown to them: it has ${length.toLocaleString('en')} characters, and 8,000 are possible. Nothing was done.`,
      'Make the call shorter, or split it into several',
    );
  }

  /**
   * Refuses an approval that was asked for another call. A vault of release 0.5.0 or later has an approval
   * for each X-Access-Call; an earlier one knows it by the secret alone, and deciders were shown its reason.
   */
  private async checkIsOf({ name, id }: Held, call: Call): Promise<void> {
    const { data } = await this.vault.api.GET('/orgs/{org_id}/approvals/{id}', {
      params: { path: { org_id: this.vault.org, id } },
    });
    // safety: mcp-approval-of-call
    if (!isReasonOf(data.request.reason, call))
      throw new CliError(
        `${clean(name)} is held, and its approval ${id} was asked for another call: ${clean(data.request.reason ?? 'none')}.`,
        {
          exit: 'approval',
          code: 'APPROVAL_MISMATCH',
          next: 'Make that call. If it is no longer needed, call cancel_approval with the id, then repeat this call to ask for a new approval',
        },
      );
  }

  /** Masks a value from now on, or refuses to use it. */
  hide(name: string, value: string): void {
    // safety: mcp-short-value
    if (value.trim().length < SHORTEST)
      throw usage(
        `The value of ${clean(name)} is too short to be masked: it has fewer than ${SHORTEST} characters. It was not used.`,
      );
    if (Buffer.byteLength(value) > LONGEST_VALUE)
      throw usage(`The value of ${clean(name)} is too long to be masked. It was not used.`);
    if (!this.masker.add(name, value))
      throw usage('This server cannot mask any more values.', 'Restart the server');
  }

  /** A secret without its value; undefined if this agent cannot see a secret of this name. */
  find(name: string, reason: string): Promise<SecretInfo | undefined> {
    return this.vault.find(secretNamed(name), { environment: this.environment, reason });
  }

  mask(output: Buffer | string, isCut = false): string {
    return this.masker.mask(output, isCut);
  }

  /** Masks a result: names and descriptions that other people wrote may contain a value too. */
  masked<Answer extends object>(answer: Answer): Answer {
    try {
      return JSON.parse(this.mask(JSON.stringify(answer)));
    } catch {
      throw usage('The result cannot be shown because it contains a value.');
    }
  }
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?');

const isHeld = (one: Secret | Held): one is Held =>
  'id' in one && 'status' in one && typeof one.id === 'string' && one.id.startsWith('apr_');

/** The approval that holds a secret; any other error is rethrown. */
function heldOf(name: string, error: unknown): Held {
  const held = heldBy(error);
  if (!held) throw error;
  return { name, ...held };
}

/** The approval that a call needs, if the error is about one. */
export function heldBy(error: unknown): { id: string; status: string } | undefined {
  const { approval } = error as { approval?: { id?: unknown; status?: unknown } };
  if (!approval || typeof approval.id !== 'string' || !/^apr_[A-Za-z0-9]{1,60}$/.test(approval.id))
    return undefined;
  return { id: approval.id, status: String(approval.status) };
}

/** The error for a call that needs approval. It says how to get one. */
export function notYet(held: Held[], call?: Call, link?: string): CliError {
  const list = held.map(({ name, id, status }) => `${clean(name)}: ${id} (${clean(status)})`).join(', ');
  const asked = call
    ? ` The approval is for this call alone: ${call.tool} ${clean(call.shown.slice(0, MOST_SHOWN))}; sha256 ${call.digest}.`
    : '';
  const where = link ? ` They decide at ${link}, where they see the whole call.` : '';
  return new CliError(`A person must approve this first: ${list}. Nothing was done.${asked}${where}`, {
    exit: 'approval',
    code: 'APPROVAL_REQUIRED',
    next: 'Tell the person, call wait_for_approval with the id, then repeat the same call',
  });
}

/** Any failure as text, masked, with the next step. */
export function failureText(session: Session, thrown: unknown): string {
  const { message, problem } = asCliError(thrown);
  const lines = [`${message}${problem.code && problem.code !== 'USAGE' ? ` (${problem.code})` : ''}`];
  for (const { path, message: what } of problem.details ?? []) lines.push(`${path}: ${what}`);
  if (problem.next) lines.push(problem.next);
  return session.mask(lines.join('\n'));
}
