// The forms of ids, slugs and secret names in paths. Invariant: a text in none of these forms names nothing
// and reaches neither rows nor the audit log.
import { credentialPrefixes, idBytes, type Prefix } from './ids';

const isId =
  (...prefixes: Prefix[]) =>
  (text: string): boolean =>
    prefixes.some((prefix) => idBytes(prefix, text) !== null);

/** A slug of an environment: 1 to 63 of a-z, 0-9 and -, not starting or ending with -. */
const isSlug = (text: string): boolean => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text);

/** A secret's name: 1 to 255 characters; segments between slashes must not be empty, `.` or `..`. */
export const isSecretName = (text: string): boolean =>
  /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$/.test(text) &&
  text.split('/').every((part) => !['', '.', '..'].includes(part));

/** Whether a text has the form of a reference to each kind of resource. */
export const forms = {
  environment: (text: string) => isSlug(text) || isId('env')(text),
  name: isSecretName,
  secret: isId('sec'),
  credential: isId(...Object.values(credentialPrefixes)),
  member: isId('mem'),
  team: isId('team'),
  grant: isId('grt'),
  passkey: isId('psk'),
  policy: isId('pol'),
  approval: isId('apr'),
  trust: isId('trs'),
  org: isId('org'),
  device: isId('dev'),
  webhook: isId('whk'),
  delivery: isId('dlv'),
  integration: isId('int'),
  log_stream: isId('log'),
  upstream: isId('ups'),
  /** The name of an upstream in the path of a call. */
  use: isSlug,
  share: isId('shr'),
  sync: isId('syn'),
  incident: isId('inc'),
  domain: isId('dom'),
  sso_connection: isId('sso'),
} as const;
