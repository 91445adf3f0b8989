// Notify adapters: each request is as its platform documents it, for any text, and each response is judged
// correctly.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adapters } from '../../../src/adapters/notify';
import { type Message, outcome, type Sent, severities } from '../../../src/adapters/notify/adapter';
import { blockless, clean, cut, html, markdown } from '../../../src/adapters/notify/text';
import { type NotifyPlatform, notifyPlatforms, rebased } from '../../../src/adapters/platforms';
import { utf8 } from '../../../src/crypto/bytes';
import { hmacHex } from '../../../src/crypto/digest';
import { configs, problemsOf } from '../../support/integrations/notify';

const NOW = Date.parse('2026-11-22T10:00:00.000Z');

const message = (fields: Partial<Message> = {}): Message => ({
  severity: 'info',
  title: 'Message from Secrets Vault Service',
  text: 'Deployed',
  event: null,
  link: null,
  key: 'notify:1',
  time: NOW,
  ...fields,
});

const event = {
  id: 'evt_1',
  type: 'SECRET_LEAKED',
  timestamp: '2026-11-22T10:00:00.000Z',
  org_id: 'org_1',
  data: { secret_id: 'sec_1' },
};

const sent = (platform: NotifyPlatform, fields: Partial<Message> = {}, config = configs[platform]): Sent => {
  const adapter = adapters[platform];
  return adapter.request(adapter.config.parse(config) as never, message(fields));
};
const seen = ({ url, method, headers, body }: Sent) => ({
  url: new URL(url),
  method,
  headers: new Headers(headers),
  body,
});
const problems = (platform: NotifyPlatform, fields: Partial<Message> = {}) =>
  problemsOf(platform, seen(sent(platform, fields)));

const HOSTILE = [
  ...[
    '<!channel>',
    '<!here>',
    '<!everyone>',
    '<@U024BE7LH>',
    '<#C024BE7LR>',
    '<https://evil.example|https://good.example>',
    '<users/all>',
  ],
  ...[
    '@everyone',
    '@here',
    '@channel',
    '@all',
    '@ann',
    '<@!123>',
    '<@&123>',
    '<#123>',
    '<:x:123>',
    '</cmd:1>',
    '<id:home>',
    '<t:1:R>',
  ],
  ...[
    '[good](https://evil.example)',
    '![x](https://evil.example/x.png)',
    '[a]: https://evil.example',
    '<https://evil.example>',
  ],
  ...[
    '**bold**',
    '__u__',
    '_i_',
    '~~s~~',
    '||spoiler||',
    '`code`',
    '```\ncode\n```',
    '# h1',
    '> quote',
    '>>> all',
    '- item',
    '* item',
  ],
  ...[
    '1. item',
    '1) item',
    '    code',
    '\tcode',
    '---',
    '===',
    '| a | b |\n|---|---|',
    '-# small',
    '#tag',
    '~town-square',
  ],
  ...[
    '<b>x</b>',
    '<a href="https://evil.example">x</a>',
    '<script>alert(1)</script>',
    '<at>Ann</at>',
    '&lt;b&gt;',
    '&#60;b&#62;',
    '&amp;',
  ],
  ...[
    '\\',
    '\\\\',
    '\\[',
    '\\@everyone',
    '&',
    '<',
    '>',
    '\r\nBcc: x@example.com',
    '\u2028',
    '\u202egnp.exe',
    '\u0000',
    '\u001b[31m',
  ],
  ...['😀', '👩‍👩‍👧', '\ud83d', '\ude00', 'ﷺ', 'e\u0301', '\ufeff', '%s', '{{x}}', '$x', '"', "'", '\n\n\n'],
];
const hostileText = fc.array(
  fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', maxLength: 20 })),
  {
    minLength: 1,
    maxLength: 12,
  },
);

describe.each(notifyPlatforms)('notify: %s', (platform) => {
  it('notify: a message of each severity, of an event and with a link has the documented form', () => {
    for (const severity of severities) {
      expect(problems(platform, { severity })).toEqual([]);
      expect(
        problems(platform, {
          severity,
          event,
          title: 'Secret leaked',
          link: 'https://vault.example.com/x?a=b&c=d',
        }),
      ).toEqual([]);
    }
  });

  it.each(HOSTILE.map((text) => [JSON.stringify(text), text]))('notify: %s has no effect', (_shown, text) => {
    for (const around of [text, `a${text}b`, `a ${text} b`, `a\n${text}\nb`, text.repeat(3)])
      if (clean(around).trim()) expect(problems(platform, { text: around })).toEqual([]);
  });

  it('notify: no text mentions, links, formats or breaks anything, or exceeds a limit', () => {
    fc.assert(
      fc.property(
        hostileText,
        fc.constantFrom('', ' ', '\n'),
        fc.constantFrom(1, 1, 1, 2000),
        (parts, by, times) => {
          const text = parts.join(by).repeat(times);
          fc.pre(clean(text).trim() !== '');
          expect(problems(platform, { text })).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('notify: a message that fits is sent in full, one that is too long is cut and ends in an ellipsis', () => {
    const whole = 'Deployed release 1 to production';
    expect(sent(platform, { text: whole }).body).toContain(whole);
    if (platform === 'webhook') return;
    for (const character of ['a', '<', '*', '😀', '&', '@', '"', '\\']) {
      const long = sent(platform, { text: character.repeat(600_000) });
      expect(problemsOf(platform, seen(long))).toEqual([]);
      expect(long.body).toContain('…');
    }
  });

  it('notify: the config takes no unknown, missing or ill-typed field', () => {
    const { config } = adapters[platform];
    const good = configs[platform];
    expect(config.safeParse(good).success).toBe(true);
    expect(config.safeParse({ ...good, surprise: 1 }).success).toBe(false);
    for (const name of Object.keys(good).filter((field) => field !== 'secret')) {
      expect(config.safeParse({ ...good, [name]: undefined }).success).toBe(false);
      for (const bad of ['', null, {}, [], true, 'a b', 'x\r\ny', '\u0000'])
        expect(config.safeParse({ ...good, [name]: bad }).success).toBe(false);
    }
    expect(adapters[platform].credentials.every((name) => name in good)).toBe(true);
  });
});

describe('notify: severity', () => {
  const bodies = (platform: NotifyPlatform) =>
    severities.map((severity) => JSON.parse(sent(platform, { severity }).body));

  it('notify: severity is a colour, a level or a word', () => {
    const hex = ['#D92D20', '#F04438', '#F79009', '#2E90FA'];
    expect(bodies('slack').map(({ attachments }) => attachments[0].color)).toEqual(hex);
    expect(bodies('mattermost').map(({ attachments }) => attachments[0].color)).toEqual(hex);
    expect(bodies('discord').map(({ embeds }) => embeds[0].color)).toEqual([
      14232864, 15746104, 16224265, 3051770,
    ]);
    const card = ['Attention', 'Attention', 'Warning', 'Accent'];
    expect(bodies('microsoft-teams').map(({ attachments }) => attachments[0].content.body[0].color)).toEqual(
      card,
    );
    expect(bodies('pagerduty').map(({ payload }) => payload.severity)).toEqual([...severities]);
    expect(bodies('opsgenie').map(({ priority }) => priority)).toEqual(['P1', 'P2', 'P3', 'P5']);
    expect(bodies('webhook').map(({ severity }) => severity)).toEqual([...severities]);
    for (const platform of ['telegram', 'google-chat', 'email'] as const)
      expect(
        severities.every((severity, at) => JSON.stringify(bodies(platform)[at]).includes(`[${severity}]`)),
      ).toBe(true);
  });
});

describe('notify: addresses', () => {
  it('notify: each request goes to the address documented by the vendor', () => {
    const url = (platform: NotifyPlatform, config = configs[platform]) => sent(platform, {}, config).url;
    expect(url('telegram')).toBe('https://api.telegram.org/bot123456:needleTelegram0123456789/sendMessage');
    expect(url('pagerduty')).toBe('https://events.pagerduty.com/v2/enqueue');
    expect(url('pagerduty', { ...configs.pagerduty, region: 'eu' })).toBe(
      'https://events.eu.pagerduty.com/v2/enqueue',
    );
    expect(url('opsgenie', { ...configs.opsgenie, region: 'us' })).toBe('https://api.opsgenie.com/v2/alerts');
    expect(url('opsgenie', { ...configs.opsgenie, region: 'eu' })).toBe(
      'https://api.eu.opsgenie.com/v2/alerts',
    );
    expect(url('slack')).toBe(configs.slack.webhookUrl);
    expect(url('discord')).toBe(`${configs.discord.webhookUrl}?wait=true`);
  });

  it('notify: a base URL replaces scheme, host and port, and its path is put in front', () => {
    const target = 'https://hooks.slack.com:8443/services/T/B/x?a=b%20c&sig=1';
    expect(rebased(target, undefined)).toBe(target);
    expect(rebased(target, 'http://127.0.0.1:9000')).toBe(
      'http://127.0.0.1:9000/services/T/B/x?a=b%20c&sig=1',
    );
    expect(rebased(target, 'https://proxy.example.com/slack/')).toBe(
      'https://proxy.example.com/slack/services/T/B/x?a=b%20c&sig=1',
    );
  });

  it('notify: a URL with a user name, a fragment or another scheme is not a valid config', () => {
    for (const webhookUrl of [
      ...[
        'https://user@hooks.slack.com/x',
        'https://u:p@hooks.slack.com/x',
        'https://@hooks.slack.com/x',
        'https://hooks.slack.com/#x',
      ],
      ...[
        'ftp://hooks.slack.com/',
        'https:hooks.slack.com',
        'https:///x',
        'hooks.slack.com',
        'https://a\\b',
        'https://a b',
      ],
    ])
      expect(adapters.slack.config.safeParse({ webhookUrl }).success, webhookUrl).toBe(false);
  });

  it('notify: a bot token cannot lead to another path', () => {
    for (const botToken of ['1:a/../x', '1:a?x', '1:a#x', '1:a%2fx', '../x', '1:a b'])
      expect(adapters.telegram.config.safeParse({ botToken, chatId: 1 }).success, botToken).toBe(false);
  });
});

describe('notify: webhook', () => {
  it('notify: a message is signed only if there is a secret', () => {
    const { headers, body } = sent('webhook', { event });
    expect(headers['X-Svc-Signature']).toBe(hmacHex(utf8('needleSecret0123456789'), utf8(body)));
    expect(JSON.parse(body)).toEqual({
      severity: 'info',
      message: 'Message from Secrets Vault Service: Deployed',
      timestamp: '2026-11-22T10:00:00.000Z',
      event,
    });
    const plain = sent('webhook', {}, { url: 'https://receiver.example.com/' });
    expect(plain.headers).toEqual({ 'Content-Type': 'application/json' });
    expect(JSON.parse(plain.body)).toMatchObject({ message: 'Deployed', event: null });
  });
});

describe('notify: email', () => {
  const { config } = adapters.email;
  const mail = (provider: string, from = 'Vault <vault@example.com>') =>
    sent(
      'email',
      { text: 'a\r\nBcc: x@example.com\nb' },
      { ...configs.email, provider, from, to: ['a@example.com', 'b@example.com'] },
    );

  it.each(['resend', 'postmark', 'sendgrid'])(
    'notify: %s gets the documented request, and no header is injected',
    (provider) => {
      expect(problemsOf('email', seen(mail(provider)))).toEqual([]);
      expect(mail(provider).body).toContain(
        '[info] Message from Secrets Vault Service: a Bcc: x@example.com b',
      );
    },
  );

  it('notify: a sender is an address, or a name and an address', () => {
    expect(JSON.parse(mail('sendgrid').body).from).toEqual({ email: 'vault@example.com', name: 'Vault' });
    expect(JSON.parse(mail('sendgrid', 'vault@example.com').body).from).toEqual({
      email: 'vault@example.com',
    });
    const valid = (fields: object) => config.safeParse({ ...configs.email, ...fields }).success;
    for (const from of ['vault@example.com', 'Vault <vault@example.com>', 'Über Vault <vault@example.com>'])
      expect(valid({ from }), from).toBe(true);
    for (const from of [
      ...[
        'Vault',
        'Vault <x>',
        'a@example.com, b@example.com',
        'V\r\nBcc: x@y.z <a@example.com>',
        '<a@example.com> <b@example.com>',
      ],
      ...['"V" <a@example.com>', 'V <a@example.com', 'a@example.com>', ''],
    ])
      expect(valid({ from }), from).toBe(false);
    expect(valid({ to: Array.from({ length: 50 }, (_, n) => `a${n}@example.com`) })).toBe(true);
    for (const to of [
      [],
      ['x'],
      ['a@example.com,b@example.com'],
      ['a@example.com\r\nBcc: b@example.com'],
      Array(51).fill('a@example.com'),
    ])
      expect(valid({ to })).toBe(false);
    expect(valid({ provider: 'smtp' })).toBe(false);
  });
});

describe('notify: paging', () => {
  it('notify: repeats of one subject have one key, within the limit', () => {
    const long = `SECRET_LEAKED:${'x'.repeat(600)}`;
    expect(JSON.parse(sent('pagerduty', { key: 'k' }).body).dedup_key).toBe('k');
    expect(JSON.parse(sent('opsgenie', { key: 'k' }).body).alias).toBe('k');
    expect(problems('pagerduty', { key: long })).toEqual([]);
    expect(problems('opsgenie', { key: long })).toEqual([]);
  });
});

describe('notify: answers', () => {
  const judge = (platform: NotifyPlatform, status: number, text = '', headers: Record<string, string> = {}) =>
    outcome(adapters[platform], { status, text, headers: new Headers(headers) }, NOW);
  const taken = (status: number) => ({ delivered: true, status, retry_after: null });
  const refused = (status: number, retry_after: number | null = null) => ({
    delivered: false,
    status,
    retry_after,
  });

  it.each(notifyPlatforms)(
    'notify: %s: any 2xx is a success regardless of its body, and anything else is not',
    (platform) => {
      for (const status of [200, 201, 202, 204, 299])
        for (const text of ['', 'ok', 'no JSON {', 'null', '[]', '{"errors":[]}', '{"ok":true}', '"x"'])
          expect(judge(platform, status, text)).toEqual(taken(status));
      for (const status of [301, 302, 307, 400, 401, 403, 404, 410, 413, 429, 500, 503])
        expect(judge(platform, status)).toEqual(refused(status));
    },
  );

  it('notify: Telegram refuses by ok: false, Teams by a text that names an HTTP error', () => {
    expect(judge('telegram', 200, '{"ok":false,"error_code":403}')).toEqual(refused(403));
    expect(judge('telegram', 200, '{"ok":false,"error_code":429,"parameters":{"retry_after":5}}')).toEqual(
      refused(429, 5),
    );
    expect(judge('telegram', 400, '{"ok":false}')).toEqual(refused(400));
    expect(judge('telegram', 200, '{"ok":false,"error_code":"<b>"}')).toEqual(refused(200));
    const failed =
      'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId x';
    expect(judge('microsoft-teams', 200, failed)).toEqual(refused(429));
    expect(judge('slack', 200, failed)).toEqual(taken(200));
  });

  it('notify: the retry time of a target is reported in whole seconds, at most a day', () => {
    expect(judge('slack', 429, '', { 'Retry-After': '7' })).toEqual(refused(429, 7));
    expect(judge('slack', 503, '', { 'Retry-After': 'Sun, 22 Nov 2026 10:00:30 GMT' })).toEqual(
      refused(503, 30),
    );
    expect(judge('slack', 503, '', { 'Retry-After': 'Sun, 22 Nov 2026 09:00:00 GMT' })).toEqual(
      refused(503, 0),
    );
    expect(judge('discord', 429, '{"retry_after":1.337,"global":false}')).toEqual(refused(429, 2));
    expect(judge('slack', 429, '', { 'Retry-After': '999999999' })).toEqual(refused(429, 86_400));
    for (const odd of ['-1', 'soon', 'NaN', 'Infinity', ''])
      expect(judge('slack', 429, '', { 'Retry-After': odd }).retry_after ?? 86_400).toBe(86_400);
  });
});

describe('notify: cutting', () => {
  it('notify: a cut text is never longer than its limit, and is the start of the whole one', () => {
    fc.assert(
      fc.property(
        hostileText,
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom(html, markdown('\\[]()*_`~'), undefined),
        (parts, most, as) => {
          const text = parts.join('');
          const whole = cut(text, { most: Number.MAX_SAFE_INTEGER, as });
          const short = cut(text, { most, as });
          expect(short.length).toBeLessThanOrEqual(most);
          expect(short.isWellFormed()).toBe(true);
          if (whole.length <= most) expect(short).toBe(whole);
          else expect([short.at(-1), whole.startsWith(short.slice(0, -1))]).toEqual(['…', true]);
        },
      ),
    );
  });

  it('notify: line breaks stay, and invisible characters are removed', () => {
    expect(clean('a\r\nb\rc\u2028d\u0000e\u202ef\tg👩‍👩‍👧')).toBe(
      'a\nb\nc\nde\u200bf\tg👩‍👩‍👧'.replace('\u200b', ''),
    );
    expect(blockless('text\n# x\n- y\n12. z\n12 z')).toBe('text\n\u200b# x\n\u200b- y\n\u200b12. z\n12 z');
  });
});
