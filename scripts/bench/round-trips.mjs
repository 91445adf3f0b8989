// How far the regions in which Cloudflare runs Durable Objects are from each other, for `bench:regions`.
//
// Cloudflare publishes no round trips between its data centres. These are between data centres of another
// provider in the same cities, as its network measures them: medians in milliseconds of 30 days until 9 April
// 2024, from https://learn.microsoft.com/azure/networking/azure-network-latency (West US, East US, West
// Europe, Poland Central, East Asia, Japan East, Southeast Asia, Australia East; the column of the region in
// the row where both are given).

/** Between a Worker and a Durable Object of the same region. */
export const LOCAL = 5;

/** @type {Record<string, Record<string, number>>} */
const BETWEEN = {
  wnam: { enam: 69, weur: 146, eeur: 161, apac: 151, 'apac-ne': 108, 'apac-se': 171, oc: 140 },
  enam: { weur: 83, eeur: 102, apac: 203, 'apac-ne': 157, 'apac-se': 223, oc: 202 },
  weur: { eeur: 24, apac: 189, 'apac-ne': 226, 'apac-se': 159, oc: 258 },
  eeur: { apac: 203, 'apac-ne': 240, 'apac-se': 172, oc: 259 },
  apac: { 'apac-ne': 48, 'apac-se': 36, oc: 120 },
  'apac-ne': { 'apac-se': 72, oc: 103 },
  'apac-se': { oc: 90 },
};

/** The regions, with cities of data centres in them. */
export const PLACES = {
  wnam: 'San José',
  enam: 'Ashburn',
  weur: 'Amsterdam',
  eeur: 'Warsaw',
  apac: 'Hong Kong',
  'apac-ne': 'Tokyo',
  'apac-se': 'Singapore',
  oc: 'Sydney',
};

/** @param {string} one @param {string} other */
export function roundTrip(one, other) {
  if (one === other) return LOCAL;
  const found = BETWEEN[one]?.[other] ?? BETWEEN[other]?.[one];
  if (found === undefined) throw new Error(`no round trip between ${one} and ${other}`);
  return found;
}
