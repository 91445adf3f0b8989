// Telegram: https://core.telegram.org/bots/api#sendmessage. The token is part of the path. A 200 with
// `ok: false` is a refusal.
import { z } from '@hono/zod-openapi';
import { adapter, fieldsOf, post, seconds } from './adapter';
import { headingOf } from './palette';
import { cut, html, htmlApart } from './text';

/** The most characters, including heading and link. */
const MOST = 4096;

export const telegram = adapter({
  platform: 'telegram',
  config: z.strictObject({
    botToken: z
      .string()
      .regex(/^[A-Za-z0-9_:-]{1,128}$/, 'must be a bot token, of letters, digits and : _ -'),
    chatId: z.union([
      z.string().regex(/^(@[A-Za-z0-9_]{1,64}|-?\d{1,19})$/, 'must be a chat id, or @ and a channel name'),
      z
        .int()
        .min(Number.MIN_SAFE_INTEGER + 1)
        .max(Number.MAX_SAFE_INTEGER - 1),
    ]),
  }),
  credentials: ['botToken'],
  request({ botToken, chatId }, message) {
    const heading = `<b>${headingOf(message)}</b>\n`;
    const link = message.link === null ? '' : `\n${cut(message.link, { most: 1000, as: html })}`;
    return post(`https://api.telegram.org/bot${botToken}/sendMessage`, {
      chat_id: chatId,
      text: `${heading}${cut(message.text, { most: MOST - heading.length - link.length, as: htmlApart })}${link}`,
      parse_mode: 'HTML',
      disable_web_page_preview: true,
    });
  },
  refusal({ status, text }) {
    const { ok, error_code, parameters } = fieldsOf(text);
    if (ok !== false) return null;
    const { retry_after } = (typeof parameters === 'object' && parameters !== null ? parameters : {}) as {
      retry_after?: unknown;
    };
    return { status: isStatus(error_code) ? error_code : status, retry_after: seconds(retry_after) };
  },
});

const isStatus = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 599;
