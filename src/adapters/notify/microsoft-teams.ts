// Microsoft Teams, through a Workflows webhook: an Adaptive Card. A 2xx means that the flow accepted it.
// Retired connectors return 200 with a text that names an HTTP error, which is a refusal.
// https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
import { z } from '@hono/zod-openapi';
import { adapter, post, SecretUrl } from './adapter';
import { palette } from './palette';
import { blockless, cut, type Escape, inJson, markdown } from './text';

/** The most bytes of JSON. The documentation allows 28 kB; some flows reject more than 21 kB. */
const MOST_TEXT = 19_000;

const escaped = markdown('\\[]()*_`~');
/** A line break needs an empty line. */
const as: Escape = (character) => (character === '\n' ? '\n\n' : escaped(character));

export const microsoftTeams = adapter({
  platform: 'microsoft-teams',
  config: z.strictObject({ webhookUrl: SecretUrl }),
  credentials: ['webhookUrl'],
  request({ webhookUrl }, { severity, title, text, link }) {
    const lines = cut(blockless(text), {
      most: MOST_TEXT,
      measure: inJson,
      as,
    });
    return post(webhookUrl, {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            msteams: { width: 'Full' },
            body: [
              {
                type: 'TextBlock',
                text: title,
                weight: 'Bolder',
                size: 'Medium',
                color: palette[severity].card,
                wrap: true,
              },
              { type: 'TextBlock', text: lines, wrap: true },
              { type: 'FactSet', facts: [{ title: 'Severity', value: severity }] },
            ],
            ...(link !== null && { actions: [{ type: 'Action.OpenUrl', title: 'Open', url: link }] }),
          },
        },
      ],
    });
  },
  refusal({ text }) {
    const [, status] = /\bHTTP error (\d{3})\b/i.exec(text) ?? [];
    return status === undefined ? null : { status: Number(status), retry_after: null };
  },
});
