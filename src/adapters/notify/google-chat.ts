// Google Chat: https://developers.google.com/workspace/chat/quickstart/webhooks. User text is in a card,
// where text is HTML. The message's own text could mention everyone, so it contains only our text.
import { z } from '@hono/zod-openapi';
import { adapter, post, SecretUrl } from './adapter';
import { headingOf, palette } from './palette';
import { cut, html, inJson } from './text';

/** The most bytes of JSON. A message may have 32,000. */
const MOST_TEXT = 30_000;

export const googleChat = adapter({
  platform: 'google-chat',
  config: z.strictObject({ webhookUrl: SecretUrl }),
  credentials: ['webhookUrl'],
  request: ({ webhookUrl }, message) =>
    post(webhookUrl, {
      text: headingOf(message),
      cardsV2: [
        {
          cardId: 'notification',
          card: {
            header: { title: message.title, subtitle: message.severity },
            sections: [
              {
                widgets: [
                  {
                    textParagraph: {
                      text: `<font color="${palette[message.severity].hex}">${message.severity}</font>`,
                    },
                  },
                  {
                    textParagraph: {
                      text: cut(message.text, { most: MOST_TEXT, as: html, measure: inJson }),
                    },
                  },
                  ...(message.link === null
                    ? []
                    : [
                        {
                          buttonList: {
                            buttons: [{ text: 'Open', onClick: { openLink: { url: message.link } } }],
                          },
                        },
                      ]),
                ],
              },
            ],
          },
        },
      ],
    }),
});
