// Stand-ins for the notify platforms, each as strict as its documentation: which requests it accepts, and how
// it responds. Texts are parsed as the platform parses them, so mentions, links and formatting are found.
import { z } from 'zod';
import type { NotifyPlatform } from '../../../src/adapters/platforms';

/** A request as a platform receives it. */
export interface Seen {
  url: URL;
  method: string;
  headers: Headers;
  body: string;
}

/** What is wrong with a request; nothing where the platform takes it. */
type Check = (seen: Seen, body: never) => string[];

const bytes = (text: string) => new TextEncoder().encode(text).length;
const notWellFormed = (body: string) =>
  body.isWellFormed() && !/\\ud[89a-f]/i.test(body) ? [] : ['half a surrogate pair'];

function by(schema: z.ZodType, body: unknown): string[] {
  const { error } = schema.safeParse(body);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const https = z.string().regex(/^https?:\/\//);
const short = (most: number) => z.string().min(1).max(most);

/** What is left of Markdown once the characters that a backslash escapes are gone. */
const unescaped = (text: string) => text.replace(/\\[!-/:-@[-`{-~]/g, '');

/** What Markdown would still read in a text. */
function markdownIn(text: string, special: RegExp): string[] {
  const rest = unescaped(text);
  return [
    ...(special.test(rest) ? [`Markdown in ${JSON.stringify(text.slice(0, 200))}`] : []),
    ...(/@(everyone|here|channel|all\b|[\w.-])|<[@#:!a-z/]/i.test(text) ? ['a mention'] : []),
    ...(/^[ \t]*([-+*#>=]|\d{1,9}[.)](\s|$))|^( {4}|\t)/m.test(text)
      ? [`a block in ${JSON.stringify(text.slice(0, 200))}`]
      : []),
    ...(/\\$/.test(text.replace(/\\\\/g, '').replace(/…$/, '')) ? ['half an escape'] : []),
  ];
}

/** What is no entity of Slack's or of HTML's three. */
const entitiesIn = (text: string) =>
  /[<>]|&(?!(amp|lt|gt);)/.test(text) ? [`not escaped: ${JSON.stringify(text.slice(0, 200))}`] : [];

// ---------------------------------------------------------------- chat

const slackText = z.strictObject({
  type: z.literal('plain_text'),
  text: short(3000),
  emoji: z.boolean().optional(),
});
const slackBlock = z.union([
  z.strictObject({ type: z.literal('header'), text: slackText.extend({ text: short(150) }) }),
  z.strictObject({ type: z.literal('section'), text: slackText }),
  z.strictObject({
    type: z.literal('actions'),
    elements: z
      .array(
        z.strictObject({
          type: z.literal('button'),
          text: slackText.extend({ text: short(75) }),
          url: https.max(3000),
        }),
      )
      .min(1),
  }),
]);
const slackBody = z.strictObject({
  text: short(40_000),
  // Formatting is off: nothing in it is bold, or a link of another name.
  mrkdwn: z.literal(false),
  attachments: z
    .array(
      z.strictObject({
        color: z.string().regex(/^#[0-9A-F]{6}$/),
        blocks: z.array(slackBlock).min(1).max(50),
      }),
    )
    .max(99),
});
const slack: Check = (_seen, body: z.infer<typeof slackBody>) => [
  ...by(slackBody, body),
  ...entitiesIn(body.text),
  ...body.attachments.flatMap(({ blocks }) =>
    blocks.flatMap((block) => ('text' in block ? entitiesIn(block.text.text) : [])),
  ),
  ...(body.attachments.reduce((all, { blocks }) => all + JSON.stringify(blocks).length, 0) > 13_200 * 6
    ? ['msg_blocks_too_long']
    : []),
];

const card = z.strictObject({
  $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
  type: z.literal('AdaptiveCard'),
  version: z.literal('1.4'),
  // Without entities nothing is a mention.
  msteams: z.strictObject({ width: z.literal('Full') }),
  body: z.array(
    z.union([
      z.strictObject({
        type: z.literal('TextBlock'),
        text: z.string().min(1),
        weight: z.enum(['Bolder']).optional(),
        size: z.enum(['Medium']).optional(),
        color: z.enum(['Default', 'Accent', 'Good', 'Warning', 'Attention']).optional(),
        wrap: z.boolean(),
      }),
      z.strictObject({
        type: z.literal('FactSet'),
        facts: z.array(z.strictObject({ title: z.string(), value: z.string() })),
      }),
    ]),
  ),
  actions: z
    .array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string(), url: https }))
    .optional(),
});
const teamsBody = z.strictObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null(),
        content: card,
      }),
    )
    .length(1),
});
const teams: Check = ({ body: raw }, body: z.infer<typeof teamsBody>) => [
  ...by(teamsBody, body),
  ...(bytes(raw) > 21_000 ? ['413'] : []),
  ...body.attachments.flatMap(({ content }) =>
    content.body.flatMap((block) => ('text' in block ? markdownIn(block.text, /[[\]()*_`~]/) : [])),
  ),
];

const discordBody = z.strictObject({
  embeds: z
    .array(
      z.strictObject({
        title: short(256),
        description: short(4096),
        color: z.int().min(0).max(0xffffff),
        timestamp: z.iso.datetime(),
        url: https.optional(),
      }),
    )
    .min(1)
    .max(10),
  allowed_mentions: z.strictObject({ parse: z.tuple([]) }),
});
const discord: Check = ({ url }, body: z.infer<typeof discordBody>) => [
  ...by(discordBody, body),
  ...(url.searchParams.get('wait') === 'true' ? [] : ['no wait']),
  ...(JSON.stringify(body.embeds.map(({ title, description }) => title + description)).length > 2 * 6000
    ? ['embeds too long']
    : []),
  ...body.embeds.flatMap(({ description }) => markdownIn(description, /[[\]()*_`~|]/)),
];

const chatText = z.strictObject({ textParagraph: z.strictObject({ text: z.string().min(1) }) });
const chatButton = z.strictObject({
  buttonList: z.strictObject({
    buttons: z.array(
      z.strictObject({
        text: short(100),
        onClick: z.strictObject({ openLink: z.strictObject({ url: https }) }),
      }),
    ),
  }),
});
const chatBody = z.strictObject({
  text: z.string().regex(/^\[(critical|error|warning|info)\] [A-Za-z -]+$/),
  cardsV2: z
    .array(
      z.strictObject({
        cardId: short(64),
        card: z.strictObject({
          header: z.strictObject({ title: short(200), subtitle: short(200) }),
          sections: z
            .array(z.strictObject({ widgets: z.array(z.union([chatText, chatButton])).min(1) }))
            .min(1),
        }),
      }),
    )
    .length(1),
});
const chat: Check = ({ body: raw }, body: z.infer<typeof chatBody>) => [
  ...by(chatBody, body),
  ...(bytes(raw) > 32_000 ? ['too long'] : []),
  ...body.cardsV2.flatMap(({ card: { sections } }) =>
    sections.flatMap(({ widgets }) =>
      widgets.flatMap((widget) =>
        'textParagraph' in widget
          ? entitiesIn(widget.textParagraph.text.replace(/^<font color="#[0-9A-F]{6}">[a-z]+<\/font>$/, ''))
          : [],
      ),
    ),
  ),
];

const mattermostBody = z.strictObject({
  text: short(16_383),
  attachments: z
    .array(
      z.strictObject({
        fallback: short(200),
        color: z.string().regex(/^#[0-9A-F]{6}$/),
        title: short(200),
        text: short(7900),
        title_link: https.optional(),
      }),
    )
    .length(1),
});
const mattermost: Check = (_seen, body: z.infer<typeof mattermostBody>) => [
  ...by(mattermostBody, body),
  ...(JSON.stringify(body.attachments).length > 6 * 7900 ? ['attachments too long'] : []),
  ...[body.text, ...body.attachments.map(({ text }) => text)].flatMap((text) =>
    markdownIn(text, /[[\]()*_`~|#!]/),
  ),
];

const telegramBody = z.strictObject({
  chat_id: z.union([z.string().min(1), z.int()]),
  text: short(4096),
  parse_mode: z.literal('HTML'),
  disable_web_page_preview: z.literal(true),
});
const telegram: Check = ({ url }, body: z.infer<typeof telegramBody>) => [
  ...by(telegramBody, body),
  ...(/^\/(.*\/)?bot[A-Za-z0-9_:-]+\/sendMessage$/.test(url.pathname) ? [] : ['no such method']),
  ...entitiesIn(body.text.replace(/^<b>\[[a-z]+\] [A-Za-z -]+<\/b>\n/, '')),
  ...(/@\w/.test(body.text) ? ['a mention'] : []),
];

// ---------------------------------------------------------------- paging

const pagerdutyBody = z.strictObject({
  routing_key: z.string().min(1),
  event_action: z.literal('trigger'),
  dedup_key: short(255),
  payload: z.strictObject({
    summary: short(1024),
    source: short(255),
    severity: z.enum(['critical', 'error', 'warning', 'info']),
    timestamp: z.iso.datetime(),
    component: z.string(),
    class: z.string().optional(),
    custom_details: z.record(z.string(), z.string()),
  }),
  links: z.array(z.strictObject({ href: https, text: z.string() })).optional(),
  client: z.string(),
});
const pagerduty: Check = ({ body: raw, headers }, body: z.infer<typeof pagerdutyBody>) => [
  ...by(pagerdutyBody, body),
  ...(bytes(raw) > 512_000 ? ['413'] : []),
  ...(headers.has('authorization') ? ['a credential in a header'] : []),
  ...(body.payload.summary.includes('\n') ? ['a summary of two lines'] : []),
];

const opsgenieBody = z.strictObject({
  message: short(130),
  alias: short(512),
  description: short(15_000),
  priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']),
  source: short(100),
  tags: z.array(short(50)).max(20),
  details: z.record(z.string(), z.string()),
});
const opsgenie: Check = ({ headers, url, body: raw }, body: z.infer<typeof opsgenieBody>) => {
  const [, key] = /^GenieKey (\S+)$/.exec(headers.get('authorization') ?? '') ?? [];
  return [
    ...by(opsgenieBody, body),
    ...(key ? [] : ['401']),
    ...(key && (raw.includes(key) || url.href.includes(key)) ? ['the key in body or URL'] : []),
    ...(/<[a-z/!]/i.test(body.message + body.description) ? ['HTML'] : []),
  ];
};

// ---------------------------------------------------------------- others

const webhookBody = z.strictObject({
  severity: z.enum(['critical', 'error', 'warning', 'info']),
  message: z.string().min(1),
  timestamp: z.iso.datetime(),
  event: z
    .strictObject({
      id: z.string(),
      type: z.string(),
      timestamp: z.iso.datetime(),
      org_id: z.string(),
      data: z.record(z.string(), z.unknown()),
    })
    .nullable(),
});
const webhook: Check = (_seen, body) => by(webhookBody, body);

const address = z.email();
const subject = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !/[\r\n]/.test(text), 'has a line break');
const mail = {
  'api.resend.com': z.strictObject({
    from: z.string().min(3),
    to: z.array(address).min(1).max(50),
    subject,
    text: z.string().min(1),
  }),
  'api.postmarkapp.com': z.strictObject({
    From: z.string().min(3),
    To: z
      .string()
      .refine(
        (list) =>
          list.split(', ').length <= 50 && list.split(', ').every((one) => address.safeParse(one).success),
      ),
    Subject: subject,
    TextBody: z.string().min(1),
    MessageStream: z.literal('outbound'),
  }),
  'api.sendgrid.com': z.strictObject({
    personalizations: z
      .array(z.strictObject({ to: z.array(z.strictObject({ email: address })).min(1) }))
      .length(1),
    from: z.strictObject({ email: address, name: z.string().optional() }),
    subject,
    content: z.array(z.strictObject({ type: z.literal('text/plain'), value: z.string().min(1) })).length(1),
  }),
};
const paths: Record<string, string> = {
  'api.resend.com': '/emails',
  'api.postmarkapp.com': '/email',
  'api.sendgrid.com': '/v3/mail/send',
};
const email: Check = ({ url, headers }, body) => {
  const host = url.host as keyof typeof mail;
  const key =
    host === 'api.postmarkapp.com'
      ? headers.get('x-postmark-server-token')
      : headers.get('authorization')?.replace(/^Bearer /, '');
  return [...by(mail[host], body), ...(url.pathname === paths[host] ? [] : ['404']), ...(key ? [] : ['401'])];
};

const checks: Record<NotifyPlatform, Check> = {
  slack,
  'microsoft-teams': teams,
  discord,
  'google-chat': chat,
  mattermost,
  telegram,
  pagerduty,
  opsgenie,
  webhook,
  email,
};

/** What a platform finds wrong with a request. */
export function problemsOf(platform: NotifyPlatform, seen: Seen): string[] {
  if (seen.method !== 'POST') return ['405'];
  if (seen.headers.get('content-type') !== 'application/json') return ['415'];
  return [...notWellFormed(seen.body), ...checks[platform](seen, JSON.parse(seen.body) as never)];
}

/** What each platform answers to a message that it takes. */
export const accepted: Record<NotifyPlatform, () => Response> = {
  slack: () => new Response('ok'),
  'microsoft-teams': () => new Response(null, { status: 202 }),
  discord: () => Response.json({ id: '1' }),
  'google-chat': () => Response.json({ name: 'spaces/S/messages/1' }),
  mattermost: () => new Response('ok'),
  telegram: () => Response.json({ ok: true, result: { message_id: 1 } }),
  pagerduty: () =>
    Response.json({ status: 'success', message: 'Event processed', dedup_key: 'k' }, { status: 202 }),
  opsgenie: () =>
    Response.json({ result: 'Request will be processed', took: 0.1, requestId: 'r' }, { status: 202 }),
  webhook: () => new Response(null, { status: 204 }),
  email: () => new Response(null, { status: 202 }),
};

/** A config of each platform, as its documentation shows one, with its credentials. */
export const configs: Record<NotifyPlatform, Record<string, unknown>> = {
  slack: { webhookUrl: 'https://hooks.slack.com/services/T024BE7LD/B024BE7LD/needleSlack0123456789' },
  'microsoft-teams': {
    webhookUrl:
      'https://prod-01.westeurope.logic.azure.com/workflows/abc/triggers/manual/paths/invoke?sig=needleTeams0123456789',
  },
  discord: { webhookUrl: 'https://discord.com/api/webhooks/123/needleDiscord0123456789' },
  'google-chat': {
    webhookUrl: 'https://chat.googleapis.com/v1/spaces/S/messages?key=k&token=needleChat0123456789',
  },
  mattermost: { webhookUrl: 'https://mattermost.example.com/hooks/needleMattermost0123456789' },
  telegram: { botToken: '123456:needleTelegram0123456789', chatId: -100123 },
  pagerduty: { routingKey: 'needlePagerduty0123456789' },
  opsgenie: { apiKey: 'needleOpsgenie0123456789' },
  webhook: {
    url: 'https://receiver.example.com/hook?key=needleWebhook0123456789',
    secret: 'needleSecret0123456789',
  },
  email: {
    provider: 'resend',
    apiKey: 'needleEmail0123456789',
    from: 'Vault <vault@example.com>',
    to: ['ops@example.com'],
  },
};
