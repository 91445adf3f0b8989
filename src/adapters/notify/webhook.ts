// Any other receiver: our own JSON, signed like a webhook delivery if a secret is set.
import { z } from '@hono/zod-openapi';
import { utf8 } from '../../crypto/bytes';
import { hmacHex } from '../../crypto/digest';
import { adapter, post, SecretUrl } from './adapter';

export const webhook = adapter({
  platform: 'webhook',
  config: z.strictObject({ url: SecretUrl, secret: z.string().min(1).max(512).optional() }),
  credentials: ['url', 'secret'],
  request({ url, secret }, { severity, title, text, event, time }) {
    const message = event ? `${title}: ${text}` : text;
    const sent = post(url, {
      severity,
      message: message.toWellFormed(),
      timestamp: new Date(time).toISOString(),
      event,
    });
    if (secret === undefined) return sent;
    return {
      ...sent,
      headers: { ...sent.headers, 'X-Svc-Signature': hmacHex(utf8(secret), utf8(sent.body)) },
    };
  },
});
