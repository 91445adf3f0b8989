// Where a request comes from, and which of an organisation's regions answers it. docs/guides/regions.md has
// the same tables. Nothing here decides access: a wrong choice makes an answer slower.
import { REGIONS, type Region } from '../../db/regions';
import { type Env, isLocal } from '../../env';

/** What Cloudflare says of a request. Coordinates are those of the caller, by its address. */
export interface Place {
  /** The data centre in which the Worker runs, as the code of its airport. */
  colo?: string;
  continent?: string;
  longitude?: number;
  latitude?: number;
  /** In development: the region that `Svc-Test-Region` names. */
  region?: Region;
}

/** Where Cloudflare has been seen to run Durable Objects; of these cities the region is known. */
const CITIES: Partial<Record<Region, string>> = {
  wnam: 'DEN LAX SEA SJC',
  enam: 'ATL DFW EWR IAD MIA ORD',
  weur: 'AMS CDG FRA LHR LIS MAD MRS MXP',
  eeur: 'ARN OTP PRG VIE WAW',
  apac: 'HKG',
  'apac-ne': 'ICN KIX NRT',
  'apac-se': 'SIN',
  oc: 'BNE MEL SYD',
};
const regionOfCity = new Map(
  Object.entries(CITIES).flatMap(([region, cities]) =>
    cities.split(' ').map((city) => [city, region as Region] as const),
  ),
);

/**
 * For each region the others by their usual distance over the network, itself first. Those in `near` are
 * nearer than most gates.
 */
const ORDER: Record<Region, { near: Region[]; far: Region[] }> = {
  wnam: {
    near: ['wnam', 'enam'],
    far: ['sam', 'apac-ne', 'weur', 'oc', 'apac', 'eeur', 'apac-se', 'afr', 'me'],
  },
  enam: {
    near: ['enam', 'wnam', 'sam'],
    far: ['weur', 'eeur', 'afr', 'me', 'apac-ne', 'oc', 'apac', 'apac-se'],
  },
  sam: {
    near: ['sam', 'enam'],
    far: ['wnam', 'weur', 'afr', 'eeur', 'me', 'apac-ne', 'oc', 'apac', 'apac-se'],
  },
  weur: {
    near: ['weur', 'eeur'],
    far: ['me', 'afr', 'enam', 'wnam', 'sam', 'apac-se', 'apac', 'apac-ne', 'oc'],
  },
  eeur: {
    near: ['eeur', 'weur'],
    far: ['me', 'afr', 'enam', 'wnam', 'apac-se', 'apac', 'sam', 'apac-ne', 'oc'],
  },
  afr: {
    near: ['afr', 'weur', 'eeur'],
    far: ['me', 'enam', 'sam', 'wnam', 'apac-se', 'apac', 'apac-ne', 'oc'],
  },
  me: {
    near: ['me', 'eeur', 'weur'],
    far: ['afr', 'apac-se', 'apac', 'enam', 'apac-ne', 'wnam', 'oc', 'sam'],
  },
  apac: {
    near: ['apac', 'apac-se', 'apac-ne'],
    far: ['oc', 'wnam', 'me', 'eeur', 'weur', 'enam', 'sam', 'afr'],
  },
  'apac-ne': {
    near: ['apac-ne', 'apac', 'apac-se'],
    far: ['wnam', 'oc', 'enam', 'me', 'eeur', 'weur', 'sam', 'afr'],
  },
  'apac-se': {
    near: ['apac-se', 'apac', 'apac-ne'],
    far: ['oc', 'me', 'eeur', 'weur', 'wnam', 'enam', 'afr', 'sam'],
  },
  oc: {
    near: ['oc', 'apac-se', 'apac'],
    far: ['apac-ne', 'wnam', 'enam', 'sam', 'weur', 'eeur', 'me', 'afr'],
  },
};

/** By continent, from coordinates. Those that are not known are those of many people. */
const CONTINENTS: Record<string, (longitude?: number, latitude?: number) => Region> = {
  NA: (longitude = -80) => (longitude < -100 ? 'wnam' : 'enam'),
  SA: () => 'sam',
  // Russia is Europe as a whole.
  EU: (longitude = 0) => (longitude < 15 ? 'weur' : longitude < 100 ? 'eeur' : 'apac-ne'),
  // The north of Africa is connected to Europe.
  AF: (_, latitude = 0) => (latitude < 20 ? 'afr' : 'weur'),
  AS: (longitude = 114, latitude = 22) => asia(longitude, latitude),
  OC: () => 'oc',
  AN: () => 'oc',
};

function asia(longitude: number, latitude: number): Region {
  if (longitude < 80 && latitude >= 36) return 'eeur';
  if (longitude < 60) return 'me';
  // India has no hosts, and is connected to Singapore.
  if (longitude < 92 || latitude < 20) return 'apac-se';
  return longitude >= 110 && latitude >= 30 ? 'apac-ne' : 'apac';
}

/** The region of a place; null if it is not known. */
export function regionOf({ region, colo, continent, longitude, latitude }: Place): Region | null {
  if (region !== undefined) return region;
  const city = regionOfCity.get(colo ?? '');
  if (city !== undefined) return city;
  return Object.hasOwn(CONTINENTS, continent ?? '')
    ? (CONTINENTS[continent as string]?.(longitude, latitude) ?? null)
    : null;
}

/**
 * Which of an organisation's regions answers a caller; null for the gate. `gate`: the region of the gate; if
 * it is not known, only regions near the caller are chosen.
 */
export function nearestRegion(
  place: Place,
  regions: readonly Region[],
  gate: Region | null = null,
): Region | null {
  const home = regionOf(place);
  if (home === null) return null;
  const { near, far } = ORDER[home];
  const candidates = gate === null ? near : [...near, ...far];
  const nearest = candidates.find((region) => region === gate || regions.includes(region));
  return nearest === undefined || nearest === gate ? null : nearest;
}

/** A coordinate, which Cloudflare sends as a text. */
function degrees(text: unknown, most: number): number | undefined {
  const value = typeof text === 'string' && text.trim() !== '' ? Number(text) : Number.NaN;
  return Math.abs(value) <= most ? value : undefined;
}

const isRegion = (text: string | null): text is Region =>
  (REGIONS as readonly (string | null)[]).includes(text);

/**
 * Where a request comes from. In development `Svc-Test-Region` plays a region; without it the place is not
 * known.
 */
export function placeOfRequest({ cf, headers }: Request, env: Env): Place {
  // safety: test-region-in-development
  if (isLocal(env)) {
    const region = headers.get('svc-test-region');
    // What the local runtime says of requests is made up.
    return isRegion(region) ? { region } : {};
  }
  const { colo, continent, longitude, latitude } = (cf ?? {}) as Partial<IncomingRequestCfProperties>;
  return { colo, continent, longitude: degrees(longitude, 180), latitude: degrees(latitude, 90) };
}
