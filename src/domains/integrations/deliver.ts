// Sends notifications of events, in the Worker: the job of one connection. Invariants: repeating a job loses
// nothing, because its leases expire; URLs, credentials and platform responses are neither logged nor stored.
import type { Verdict } from '../../adapters/notify/adapter';
import { MOST_RECIPIENTS } from '../../adapters/notify/email';
import type { Attempt } from '../../delivery/gate/attempts';
import type { JobContext } from '../../delivery/job';
import { settingsOf } from '../../env';
import { unwrap } from '../../gate/request/outcome';
import type { Config } from './config';
import { decryptConfig } from './encryption';
import { messageAbout } from './events';
import type { DeliverInput, Given } from './gate/deliver';
import { send } from './send';

/** How long a job runs, and how long a message may take for the job to continue. */
const JOB_LASTS = 30_000;
const SLOW = 2000;

/** Sends what is due at one connection, kind by kind. */
export async function deliver({ env, org, keys, id, ask }: JobContext): Promise<void> {
  const settings = settingsOf(env);
  if (id === null || 'problem' in settings) return;
  const until = Date.now() + JOB_LASTS;
  let report: DeliverInput['report'] = null;
  let more: boolean = true;
  while (more || report) {
    const input: DeliverInput = { integration: id, report, more };
    const asked = Date.now();
    const { row, taken, lasts, owners } = unwrap(await ask('integration.deliver', input)).data as Given;
    if (!row || taken.length === 0) return;
    const began = Date.now();
    const message = messageAbout(
      taken.map(({ event }) => event),
      org,
      settings.publicUrl,
    );
    const sent = async () => {
      const { shown, credentials } = decryptConfig(keys, org, row);
      return send(
        row.platform,
        withRecipients({ ...shown, ...credentials }, owners),
        message,
        settings,
        async () => Date.now() < asked + lasts,
      );
    };
    const verdict = await sent().catch(() => altered(org, id));
    const ms = Date.now() - began;
    report = {
      together: taken.map(({ id, lease }) => ({ id, lease })),
      attempt: attemptOf(verdict, ms),
      isFinal: isFinal(verdict),
    };
    more = Date.now() < until && ms < SLOW;
  }
}

/** The config of an e-mail connection with the owners added as recipients, up to the limit of a message. */
function withRecipients(config: Config, owners: string[]): Config {
  if (owners.length === 0) return config;
  return { ...config, to: [...new Set([...owners, ...(config.to as string[])])].slice(0, MOST_RECIPIENTS) };
}

/** The stored credentials do not decrypt: the message is retried like any other and finally fails. */
function altered(org: string, resource: string): null {
  console.error(JSON.stringify({ level: 'error', event: 'connection_does_not_open', org, resource }));
  return null;
}

const attemptOf = (verdict: Verdict | null, ms: number): Attempt => ({
  status: verdict?.status ?? null,
  error: verdict === null ? 'unreachable' : verdict.delivered ? null : 'http_status',
  response: '',
  ms,
  retry_after: verdict?.retry_after ?? null,
});

/** Whether a refusal is final: only 429, 5xx and no response are retried. */
export const isFinal = (verdict: Verdict | null): boolean =>
  // safety: notification-refusal-final
  verdict !== null && !verdict.delivered && verdict.status !== 429 && verdict.status < 500;
