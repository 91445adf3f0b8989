// Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. Only attachments have a
// colour bar. User text is in plain_text, which is not formatted, and in the notification's text, for which
// formatting is off.
import { z } from '@hono/zod-openapi';
import { adapter, post, SecretUrl } from './adapter';
import { headingOf, palette } from './palette';
import { cut, html, oneLine } from './text';

const MOST_TEXT = 3000;
const MOST_NOTICE = 300;

export const slack = adapter({
  platform: 'slack',
  config: z.strictObject({ webhookUrl: SecretUrl }),
  credentials: ['webhookUrl'],
  request: ({ webhookUrl }, message) =>
    post(webhookUrl, {
      text: `${headingOf(message)}: ${cut(oneLine(message.text), { most: MOST_NOTICE, as: html })}`,
      mrkdwn: false,
      attachments: [
        {
          color: palette[message.severity].hex,
          blocks: [
            { type: 'header', text: { type: 'plain_text', text: message.title } },
            // safety: notification-plain-text
            {
              type: 'section',
              text: {
                type: 'plain_text',
                text: cut(message.text, { most: MOST_TEXT, as: html }),
                emoji: false,
              },
            },
            ...(message.link === null
              ? []
              : [
                  {
                    type: 'actions',
                    elements: [
                      { type: 'button', text: { type: 'plain_text', text: 'Open' }, url: message.link },
                    ],
                  },
                ]),
          ],
        },
      ],
    }),
});
