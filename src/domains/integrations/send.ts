// Sends a message to a platform through the egress guard. Invariant: only the status and the retry time of
// the platform's response are used.
import { type Message, outcome, type Verdict } from '../../adapters/notify/adapter';
import { guardedFetch } from '../../delivery/egress';
import type { Settings } from '../../env';
import { adapterOf, type Config, requestOf } from './config';

/** The verdict of the platform; null without a response, or if the message may not begin any more. */
export async function send(
  platform: string,
  config: Config,
  message: Message,
  settings: Settings,
  mayBegin?: () => Promise<boolean>,
): Promise<Verdict | null> {
  const { url, method, headers, body } = requestOf(platform, config, message, settings);
  const answered = await guardedFetch(settings, url, {
    method,
    headers,
    body,
    ...(mayBegin && { mayBegin }),
  });
  return 'unreachable' in answered ? null : outcome(adapterOf(platform), answered, Date.now());
}
