// Discord: https://discord.com/developers/docs/resources/webhook#execute-webhook. With `wait` it responds
// once the message exists.
import { z } from '@hono/zod-openapi';
import { adapter, post, SecretUrl } from './adapter';
import { asInteger, headingOf, palette } from './palette';
import { blockless, cut, markdown } from './text';

const MOST_DESCRIPTION = 4096;

const as = markdown('\\[]()*_`~|');

export const discord = adapter({
  platform: 'discord',
  config: z.strictObject({ webhookUrl: SecretUrl }),
  credentials: ['webhookUrl'],
  request({ webhookUrl }, message) {
    const url = new URL(webhookUrl);
    url.searchParams.set('wait', 'true');
    return post(url.href, {
      embeds: [
        {
          title: headingOf(message),
          description: cut(blockless(message.text), { most: MOST_DESCRIPTION, as }),
          color: asInteger(palette[message.severity].hex),
          timestamp: new Date(message.time).toISOString(),
          ...(message.link !== null && { url: message.link }),
        },
      ],
      // safety: notification-pings-nobody
      allowed_mentions: { parse: [] },
    });
  },
});
