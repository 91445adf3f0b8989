// Opsgenie: https://docs.opsgenie.com/docs/alert-api#create-alert. Repeats with the same alias are one alert.
// Its pages render HTML in descriptions.
import { z } from '@hono/zod-openapi';
import { adapter, post, Region, SecretText } from './adapter';
import { palette } from './palette';
import { cut, oneLine, tagless } from './text';

const MOST_MESSAGE = 130;
const MOST_DESCRIPTION = 15_000;
const MOST_ALIAS = 512;

export const opsgenie = adapter({
  platform: 'opsgenie',
  config: z.strictObject({ apiKey: SecretText, region: Region.optional() }),
  credentials: ['apiKey'],
  request: ({ apiKey, region }, { severity, title, text, event, link, key }) =>
    post(
      `https://api.${region === 'eu' ? 'eu.' : ''}opsgenie.com/v2/alerts`,
      {
        message: cut(`${title}: ${oneLine(text)}`, { most: MOST_MESSAGE, as: tagless }),
        alias: cut(key, { most: MOST_ALIAS }),
        description: cut(text, { most: MOST_DESCRIPTION, as: tagless }),
        priority: palette[severity].priority,
        source: 'secrets-vault-service',
        tags: ['secrets', severity],
        details: {
          severity,
          ...(event && { type: event.type, event_id: event.id }),
          ...(link !== null && { link }),
        },
      },
      { Authorization: `GenieKey ${apiKey}` },
    ),
});
