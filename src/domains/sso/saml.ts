// The configuration of connections by SAML, in the Worker: the metadata is fetched through the egress guard
// and read by the SAML Worker. Invariant: the address that browsers are sent to obeys the rules for targets.
import type { z } from '@hono/zod-openapi';
import { sha256 } from '../../crypto/digest';
import type { SsoConnectionRow } from '../../db/schema';
import { checkTarget, type Egress, guardedFetch } from '../../delivery/egress';
import type { SamlProvider } from '../../env';
import { invalid, type Refusal, refuse } from '../../errors';
import { isRefusal } from '../../gate/request/call';
import type { Context } from '../../http/context';
import type { Made } from './gate/connections';
import { type SsoConnectionPatch, samlOf } from './wire';

const MOST = 262_144;

/** The refusal of a deployment without the SAML Worker. */
export const NO_SAML =
  'This deployment has no SAML Worker. An operator deploys it with npm run deploy -- --saml.';

type Fields = Pick<
  z.output<typeof SsoConnectionPatch>,
  'metadata_xml' | 'metadata_url' | 'subject_attribute' | 'groups_claim'
>;

/** The configuration of a new or changed connection. */
export async function samlMade(
  context: Pick<Context, 'env' | 'settings'>,
  body: Fields,
  row: SsoConnectionRow | null,
): Promise<Made> {
  const revision = row?.revision ?? 0;
  const before = row && samlOf(row);
  const { metadata_xml, metadata_url, subject_attribute, groups_claim } = body;
  if (metadata_xml !== undefined && metadata_url !== undefined)
    return { revision, refusal: invalid('metadata_url', 'must not be sent with metadata_xml') };
  const subject = subject_attribute === undefined ? (before?.subject_attribute ?? null) : subject_attribute;
  const isNew = metadata_xml !== undefined || metadata_url !== undefined;
  const provider = isNew || !before ? await providerOf(context, body) : before.provider;
  if (isRefusal(provider)) return { revision, refusal: provider };
  // safety: saml-name-id-no-address
  if (subject === null && namesByAddress(provider)) return { revision, refusal: BY_ADDRESS };
  return {
    revision,
    config: {
      issuer: provider.entityId,
      groups_claim: groups_claim ?? before?.groups_claim ?? 'groups',
      subject_attribute: subject,
      metadata_url: isNew ? (metadata_url ?? null) : (before?.metadata_url ?? null),
      provider,
      signers: sha256([...provider.certificates].sort().join('')),
    },
    client_secret_sealed: null,
  };
}

const EMAIL = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
/** Formats that leave open what the provider sends, or promise a lasting id. */
const MAY_LAST = [
  'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
];

/** Whether a provider says that its NameIDs are addresses, which may be given to somebody else later. */
const namesByAddress = ({ nameIdFormats = [] }: SamlProvider): boolean =>
  nameIdFormats.includes(EMAIL) && !MAY_LAST.some((format) => nameIdFormats.includes(format));

const BY_ADDRESS = invalid(
  'subject_attribute',
  'is required: the metadata offers e-mail addresses as NameID, and these do not identify a person for good. Name the attribute with the immutable id, or have the provider send persistent NameIDs',
);

async function providerOf(
  { env, settings }: Pick<Context, 'env' | 'settings'>,
  { metadata_xml, metadata_url }: Fields,
): Promise<SamlProvider | Refusal> {
  const path = metadata_url === undefined ? 'metadata_xml' : 'metadata_url';
  if (!env.SAML) return invalid(path, `cannot be read. ${NO_SAML}`);
  const xml = metadata_url === undefined ? metadata_xml : await fetched(settings, metadata_url);
  if (typeof xml !== 'string') return xml ?? invalid(path, 'is missing');
  const read = await env.SAML.metadata(xml).catch(() => null);
  if (!read) return refuse('UNAVAILABLE', { retry_after: 1 });
  if (!read.ok) return invalid(path, `is not accepted: ${read.reason}`);
  const { entityId, signInUrl, certificates, nameIdFormats } = read.value;
  // safety: saml-sign-in-guarded
  return checkTarget(signInUrl, settings)
    ? invalid(path, 'has a SingleSignOnService that is not allowed: it must be https on a public host')
    : { entityId, signInUrl, certificates, ...(nameIdFormats && { nameIdFormats }) };
}

async function fetched(egress: Egress, url: string): Promise<string | Refusal> {
  const problem = checkTarget(url, egress);
  if (problem) return invalid('metadata_url', problem);
  const got = await guardedFetch(egress, url, {
    method: 'GET',
    headers: { Accept: 'application/samlmetadata+xml, application/xml, text/xml' },
    read: MOST + 1,
  });
  if ('unreachable' in got)
    return refuse(got.unreachable === 'timeout' ? 'TARGET_TIMEOUT' : 'TARGET_UNREACHABLE');
  // Redirects are not followed.
  if (got.status !== 200)
    return refuse('TARGET_UNREACHABLE', {
      message: `The metadata of the provider cannot be read: the answer has status ${got.status}.`,
    });
  return got.bytes.length > MOST ? invalid('metadata_url', 'its metadata is larger than 256 KiB') : got.text;
}
