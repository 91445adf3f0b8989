// Domain names, and the DNS record that proves one. Pure. Invariant: the record of a domain names its
// organisation, so a record that proves a domain for one organisation proves it for no other.

/** The label below a domain at which its record is. */
const LABEL = '_secrets-vault';
/** The longest name in DNS, less the label of the record. */
const MOST = 253 - LABEL.length - 1;

/** A domain name in the form in which it is stored, or what is wrong with it. */
export function domainOf(text: string): { domain: string } | { problem: string } {
  const domain = text.toLowerCase().replace(/\.$/, '');
  const labels = domain.split('.');
  const isName =
    domain.length <= MOST &&
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label)) &&
    // An address in any notation, or a label that is no Punycode, has another form as the host of a URL.
    URL.parse(`https://${domain}`)?.hostname === domain &&
    !/^[0-9]+$/.test(labels.at(-1) as string);
  return isName
    ? { domain }
    : { problem: 'must be a domain such as example.com, in ASCII (Punycode) and without a wildcard' };
}

/** The TXT record that proves a domain. */
export const recordOf = ({ org_id, id, domain }: { org_id: string; id: string; domain: string }) => ({
  type: 'TXT' as const,
  name: `${LABEL}.${domain}`,
  value: `svc-domain-verification=${org_id}/${id}`,
});
