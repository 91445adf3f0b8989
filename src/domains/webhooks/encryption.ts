// Encryption of a webhook's URL and signing secrets, in the Worker. Invariant: each ciphertext is bound to
// its webhook and column, and the URL also to the host in the row, so a ciphertext moved elsewhere does not
// decrypt.
import { fromUtf8, randomBytes, toBase64, utf8 } from '../../crypto/bytes';
import { decrypt, encrypt, type Purpose } from '../../crypto/envelope';
import type { WebhookRow } from '../../db/schema';
import { ApiError, refuse } from '../../errors';
import type { OrgKeys } from '../../keys/keyring';

/** Standard Webhooks allows 24 to 64 bytes: https://www.standardwebhooks.com */
const SECRET_BYTES = 32;

export const newSigningSecret = (): string => `whsec_${toBase64(randomBytes(SECRET_BYTES))}`;

/** The organisation and id of the webhook. */
interface Owner {
  keys: OrgKeys;
  org: string;
  id: string;
}

const encryptFor = ({ keys, org, id }: Owner, purpose: Purpose, context: string[], text: string): string =>
  encrypt(keys.value, purpose, [org, id, ...context], utf8(text));

/**
 * Throws INTERNAL if the ciphertext was altered or belongs to another webhook; the gate then reports the
 * integrity violation.
 */
function decryptFor(
  { keys, org, id }: Owner,
  purpose: Purpose,
  context: string[],
  ciphertext: string,
): string {
  const plain = decrypt(keys.value, purpose, [org, id, ...context], ciphertext);
  const text = plain && fromUtf8(plain);
  if (text === null) throw new ApiError(refuse('INTERNAL'), { event: 'value_does_not_open', resource: id });
  return text;
}

export const encryptUrl = (owner: Owner, url: string) => {
  const { host } = new URL(url);
  return { host, url_sealed: encryptFor(owner, 'webhook URL', [host], url) };
};
export const decryptUrl = (
  owner: Owner,
  { host, url_sealed }: Pick<WebhookRow, 'host' | 'url_sealed'>,
): string => decryptFor(owner, 'webhook URL', [host], url_sealed);

export const encryptSecret = (owner: Owner, secret: string): string =>
  encryptFor(owner, 'webhook secret', [], secret);
export const decryptSecret = (owner: Owner, ciphertext: string): string =>
  decryptFor(owner, 'webhook secret', [], ciphertext);

/** The same for the secret before the last rotation. */
export const encryptOldSecret = (owner: Owner, secret: string): string =>
  encryptFor(owner, 'old webhook secret', [], secret);
export const decryptOldSecret = (owner: Owner, ciphertext: string): string =>
  decryptFor(owner, 'old webhook secret', [], ciphertext);

/** Hosts whose webhook URLs are credentials: anyone with the URL can post. */
const CREDENTIAL_HOSTS = [
  ...[
    'hooks.slack.com',
    'hooks.slack-gov.com',
    'discord.com',
    'discordapp.com',
    'chat.googleapis.com',
    'webhook.office.com',
  ],
  ...[
    'outlook.office.com',
    'logic.azure.com',
    'api.powerplatform.com',
    'api.telegram.org',
    'hooks.zapier.com',
    'maker.ifttt.com',
  ],
  ...[
    'make.com',
    'integromat.com',
    'pipedream.net',
    'webhook.site',
    'hooks.airtable.com',
    'open.feishu.cn',
    'oapi.dingtalk.com',
  ],
];
/** Parameters that carry credentials. */
const CREDENTIAL_PARAMETER = /token|key|secret|sig|auth|pass|code|hash/i;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a segment of a path looks like a token: long, with digits, and no name that somebody chose. */
const isToken = (segment: string): boolean =>
  UUID.test(segment) ||
  (segment.length >= 20 &&
    /\d/.test(segment) &&
    ((/[a-z]/.test(segment) && /[A-Z]/.test(segment)) || /[a-z0-9]{20}/i.test(segment)));

/** A URL in its shown form: if it is itself a credential, only the host. */
export function shownUrl(url: string): string {
  const { origin, hostname, pathname, searchParams } = new URL(url);
  const name = hostname.replace(/\.$/, '');
  const isCredential =
    CREDENTIAL_HOSTS.some((host) => name === host || name.endsWith(`.${host}`)) ||
    pathname.split('/').some(isToken) ||
    [...searchParams.keys()].some((parameter) => CREDENTIAL_PARAMETER.test(parameter));
  // safety: credential-url-shown-as-host
  return isCredential ? origin : url;
}
