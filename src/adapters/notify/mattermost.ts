// Mattermost: https://developers.mattermost.com/integrate/webhooks/incoming. It also recognises mentions in
// attachments.
import { z } from '@hono/zod-openapi';
import { adapter, post, SecretUrl } from './adapter';
import { headingOf, palette } from './palette';
import { blockless, cut, markdown } from './text';

/** Old servers reject attachments of more than about 7,900 characters in total. */
const MOST_TEXT = 7000;

const as = markdown('\\[]()*_`~|#!');

export const mattermost = adapter({
  platform: 'mattermost',
  config: z.strictObject({ webhookUrl: SecretUrl }),
  credentials: ['webhookUrl'],
  request: ({ webhookUrl }, message) =>
    post(webhookUrl, {
      text: headingOf(message).replace(/[[\]]/g, '\\$&'),
      attachments: [
        {
          fallback: headingOf(message),
          color: palette[message.severity].hex,
          title: message.title,
          text: cut(blockless(message.text), { most: MOST_TEXT, as }),
          ...(message.link !== null && { title_link: message.link }),
        },
      ],
    }),
});
