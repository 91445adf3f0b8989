// The regions in which an organisation can have replicas: Cloudflare's location hints for Durable Objects.
// https://developers.cloudflare.com/durable-objects/reference/data-location/

/**
 * Western and eastern North America, South America, western and eastern Europe, Asia-Pacific as a whole, its
 * north-east and its south-east, Oceania, Africa, the Middle East. `sam`, `afr` and `me` have no hosts of
 * their own: Cloudflare chooses one nearby, such as Miami for `sam`.
 */
export const REGIONS = [
  'wnam',
  'enam',
  'sam',
  'weur',
  'eeur',
  'apac',
  'apac-ne',
  'apac-se',
  'oc',
  'afr',
  'me',
] as const;
export type Region = (typeof REGIONS)[number];

/** The regions of an organisation; `auto`: those from which it is read. */
export type Regions = Region[] | 'auto';

export const MOST_REGIONS = 9;
