// E-mail through the HTTP API of a mail service, as plain text without formatting.
// https://resend.com/docs/api-reference/emails, https://postmarkapp.com/developer/api/email-api,
// https://www.twilio.com/docs/sendgrid/api-reference/mail-send
import { z } from '@hono/zod-openapi';
import { adapter, type Message, post, SecretText, type Sent } from './adapter';
import { headingOf } from './palette';
import { clean, cut, oneLine } from './text';

const MOST_SUBJECT = 200;
const MOST_TEXT = 100_000;
export const MOST_RECIPIENTS = 50;

const Address = z.email().max(254);
/**
 * An address, or a name and an address: `Vault <vault@example.com>`. A name must not contain characters with
 * a meaning in headers.
 */
const sender = /^(?:([^\p{C}\p{Zl}\p{Zp}<>@,;:"\\()[\]]{1,64}?) {0,5}<([^<>]{3,254})>|([^<>]{3,254}))$/u;
const From = z
  .string()
  .max(330)
  .refine(
    (text) => Address.safeParse(senderOf(text)?.email).success,
    'must be an address, or a name and an address as in "Vault <vault@example.com>"',
  );

/** The parts of a sender; null if it is invalid. */
function senderOf(text: string): { email: string; name?: string } | null {
  const [, name, named, bare] = sender.exec(text) ?? [];
  const email = named ?? bare;
  return email === undefined ? null : { email, ...(name?.trim() && { name: name.trim() }) };
}

interface Mail {
  apiKey: string;
  from: string;
  to: string[];
  subject: string;
  text: string;
}

const providers: Record<'resend' | 'postmark' | 'sendgrid', (mail: Mail) => Sent> = {
  resend: ({ apiKey, from, to, subject, text }) =>
    post('https://api.resend.com/emails', { from, to, subject, text }, { Authorization: `Bearer ${apiKey}` }),
  postmark: ({ apiKey, from, to, subject, text }) =>
    post(
      'https://api.postmarkapp.com/email',
      { From: from, To: to.join(', '), Subject: subject, TextBody: text, MessageStream: 'outbound' },
      { 'X-Postmark-Server-Token': apiKey, Accept: 'application/json' },
    ),
  sendgrid: ({ apiKey, from, to, subject, text }) =>
    post(
      'https://api.sendgrid.com/v3/mail/send',
      {
        personalizations: [{ to: to.map((email) => ({ email })) }],
        from: senderOf(from),
        subject,
        content: [{ type: 'text/plain', value: text }],
      },
      { Authorization: `Bearer ${apiKey}` },
    ),
};

const textOf = ({ title, text, link }: Message): string =>
  [title, '', cut(text, { most: MOST_TEXT }), ...(link === null ? [] : ['', clean(link)])].join('\n');

export const email = adapter({
  platform: 'email',
  config: z.strictObject({
    provider: z.enum(['resend', 'postmark', 'sendgrid']),
    apiKey: SecretText,
    from: From,
    to: z.array(Address).min(1).max(MOST_RECIPIENTS),
  }),
  credentials: ['apiKey'],
  request: ({ provider, ...rest }, message) =>
    providers[provider]({
      ...rest,
      // safety: notification-subject-one-line
      subject: cut(`${headingOf(message)}: ${oneLine(message.text)}`, { most: MOST_SUBJECT }),
      text: textOf(message),
    }),
});
