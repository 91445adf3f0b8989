// Client addresses and the ranges that a credential can be limited to, parsed by ipaddr.js. An IPv4-mapped
// IPv6 address counts as the IPv4 address.
import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** A range; null if the text is not one or is ambiguous: short and octal forms, IPv4-mapped addresses. */
function parseRange(text: string): Range | null {
  const [address = '', ...length] = text.split('/');
  if (
    !/^[0-9A-Fa-f:.]+$/.test(address) ||
    !isAddress(address) ||
    length.length > 1 ||
    !/^(\d{1,3})?$/.test(length[0] ?? '')
  )
    return null;
  try {
    const parsed = ipaddr.parse(address);
    if (parsed.kind() === 'ipv6' && (parsed as ipaddr.IPv6).isIPv4MappedAddress()) return null;
    return length.length ? ipaddr.parseCIDR(text) : [parsed, parsed.kind() === 'ipv4' ? 32 : 128];
  } catch {
    return null;
  }
}

const isAddress = (text: string) => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);

/**
 * The client's address from a header: an IPv4 or IPv6 address of at most 45 characters, otherwise `unknown`.
 */
export const addressOf = (header: string | null): string =>
  header !== null && /^[0-9A-Fa-f:.]{1,45}$/.test(header) && isAddress(header) ? header : 'unknown';

/** Whether the text is an IPv4 or IPv6 address or range (CIDR). */
export const isRange = (text: string): boolean => parseRange(text) !== null;

/** Whether an address is in one of the ranges. An invalid address is in none. */
export function isWithin(address: string, ranges: readonly string[]): boolean {
  if (!isAddress(address)) return false;
  const at = ipaddr.process(address);
  return ranges.some((text) => {
    const range = parseRange(text);
    return range !== null && range[0].kind() === at.kind() && at.match(range as never);
  });
}

/** Whether every address of `inner` is within one range of `outer`. */
export const rangesContain = (outer: readonly string[], inner: readonly string[]): boolean =>
  inner.every((text) => {
    const small = parseRange(text);
    return outer.some((wide) => {
      const range = parseRange(wide);
      return (
        small !== null &&
        range !== null &&
        small[0].kind() === range[0].kind() &&
        small[1] >= range[1] &&
        small[0].match(range as never)
      );
    });
  });

/** The key for counting a client: its IPv4 address, or the /64 of its IPv6 address. */
export function clientOf(address: string): string {
  if (!isAddress(address)) return 'unknown';
  const at = ipaddr.process(address);
  if (at.kind() === 'ipv4') return at.toString();
  return `${(at as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
