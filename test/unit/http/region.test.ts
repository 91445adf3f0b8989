// Regions: where a caller is, and which region of its organisation answers. Coordinates are those of cities.
import { describe, expect, it } from 'vitest';
import guide from '../../../docs/guides/regions.md?raw';
import { REGIONS, type Region } from '../../../src/db/regions';
import type { Env } from '../../../src/env';
import { nearestRegion, type Place, placeOfRequest, regionOf } from '../../../src/http/calls/region';

/** Latitude and longitude. */
const CITIES: [string, string, number, number, Region][] = [
  ['Seattle', 'NA', 47.61, -122.33, 'wnam'],
  ['Los Angeles', 'NA', 34.05, -118.24, 'wnam'],
  ['Denver', 'NA', 39.74, -104.99, 'wnam'],
  ['Honolulu', 'NA', 21.31, -157.86, 'wnam'],
  ['Dallas', 'NA', 32.78, -96.8, 'enam'],
  ['Mexico City', 'NA', 19.43, -99.13, 'enam'],
  ['Chicago', 'NA', 41.88, -87.63, 'enam'],
  ['Toronto', 'NA', 43.65, -79.38, 'enam'],
  ['Panama City', 'NA', 8.98, -79.52, 'enam'],
  ['São Paulo', 'SA', -23.55, -46.63, 'sam'],
  ['Santiago', 'SA', -33.45, -70.67, 'sam'],
  ['Bogotá', 'SA', 4.71, -74.07, 'sam'],
  ['Reykjavík', 'EU', 64.15, -21.94, 'weur'],
  ['Lisbon', 'EU', 38.72, -9.14, 'weur'],
  ['Dublin', 'EU', 53.35, -6.26, 'weur'],
  ['Berlin', 'EU', 52.52, 13.4, 'weur'],
  ['Rome', 'EU', 41.9, 12.5, 'weur'],
  ['Vienna', 'EU', 48.21, 16.37, 'eeur'],
  ['Warsaw', 'EU', 52.23, 21.01, 'eeur'],
  ['Athens', 'EU', 37.98, 23.73, 'eeur'],
  ['Moscow', 'EU', 55.76, 37.62, 'eeur'],
  ['Novosibirsk', 'EU', 55.03, 82.92, 'eeur'],
  ['Vladivostok', 'EU', 43.12, 131.89, 'apac-ne'],
  ['Istanbul', 'AS', 41.01, 28.98, 'eeur'],
  ['Tbilisi', 'AS', 41.72, 44.79, 'eeur'],
  ['Almaty', 'AS', 43.24, 76.89, 'eeur'],
  ['Tel Aviv', 'AS', 32.09, 34.78, 'me'],
  ['Riyadh', 'AS', 24.71, 46.68, 'me'],
  ['Dubai', 'AS', 25.2, 55.27, 'me'],
  ['Karachi', 'AS', 24.86, 67.01, 'apac-se'],
  ['Mumbai', 'AS', 19.08, 72.88, 'apac-se'],
  ['Delhi', 'AS', 28.61, 77.21, 'apac-se'],
  ['Dhaka', 'AS', 23.81, 90.41, 'apac-se'],
  ['Bangkok', 'AS', 13.76, 100.5, 'apac-se'],
  ['Singapore', 'AS', 1.35, 103.82, 'apac-se'],
  ['Jakarta', 'AS', -6.21, 106.85, 'apac-se'],
  ['Manila', 'AS', 14.6, 120.98, 'apac-se'],
  ['Hong Kong', 'AS', 22.32, 114.17, 'apac'],
  ['Taipei', 'AS', 25.03, 121.57, 'apac'],
  ['Hanoi', 'AS', 21.03, 105.85, 'apac'],
  ['Seoul', 'AS', 37.57, 126.98, 'apac-ne'],
  ['Tokyo', 'AS', 35.68, 139.69, 'apac-ne'],
  ['Beijing', 'AS', 39.9, 116.41, 'apac-ne'],
  ['Sydney', 'OC', -33.87, 151.21, 'oc'],
  ['Perth', 'OC', -31.95, 115.86, 'oc'],
  ['Auckland', 'OC', -36.85, 174.76, 'oc'],
  ['Casablanca', 'AF', 33.57, -7.59, 'weur'],
  ['Cairo', 'AF', 30.04, 31.24, 'weur'],
  ['Lagos', 'AF', 6.52, 3.38, 'afr'],
  ['Nairobi', 'AF', -1.29, 36.82, 'afr'],
  ['Johannesburg', 'AF', -26.2, 28.05, 'afr'],
  ['McMurdo', 'AN', -77.85, 166.67, 'oc'],
];
const placeOf = (name: string): Place => {
  const found = CITIES.find(([city]) => city === name);
  if (!found) throw new Error(`no such city: ${name}`);
  const [, continent, latitude, longitude] = found;
  return { continent, latitude, longitude };
};
const of = (region: Region): Place => ({ region });
const namesIn = (cell: string) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, name]) => name as Region);

describe('regions: of a place', () => {
  it.each(CITIES)('%s', (_city, continent, latitude, longitude, region) => {
    expect(regionOf({ continent, latitude, longitude })).toBe(region);
  });

  it('is that of the data centre, where the Worker runs, before that of the caller', () => {
    expect(regionOf({ ...placeOf('São Paulo'), colo: 'MIA' })).toBe('enam');
    expect(regionOf({ ...placeOf('Mumbai'), colo: 'FRA' })).toBe('weur');
    // Of other data centres the region is not known.
    expect(regionOf({ ...placeOf('São Paulo'), colo: 'GRU' })).toBe('sam');
    expect(regionOf({ colo: 'GRU' })).toBe(null);
  });

  it('needs no coordinates', () => {
    expect(['NA', 'SA', 'EU', 'AF', 'AS', 'OC', 'AN'].map((continent) => regionOf({ continent }))).toEqual([
      'enam',
      'sam',
      'weur',
      'afr',
      'apac',
      'oc',
      'oc',
    ]);
  });

  it('is not known without a continent, or with another than there are', () => {
    for (const continent of [undefined, '', 'XX', 'constructor', '__proto__'])
      expect(regionOf({ continent, longitude: 10, latitude: 50 })).toBe(null);
  });
});

describe('regions: which one answers', () => {
  it('is none without regions, or from a place that is not known', () => {
    for (const [city] of CITIES) expect(nearestRegion(placeOf(city), [])).toBe(null);
    expect(nearestRegion({}, REGIONS)).toBe(null);
  });

  it('is the own one, wherever the list has it', () => {
    for (const region of REGIONS) {
      expect(nearestRegion(of(region), REGIONS)).toBe(region);
      expect(nearestRegion(of(region), [...REGIONS].reverse())).toBe(region);
    }
  });

  it('is the nearest of those that there are', () => {
    const nearest = (city: string, ...regions: Region[]) => nearestRegion(placeOf(city), regions);
    expect(nearest('Berlin', 'oc', 'eeur')).toBe('eeur');
    expect(nearest('Warsaw', 'enam', 'weur')).toBe('weur');
    expect(nearest('Seattle', 'weur', 'enam')).toBe('enam');
    expect(nearest('São Paulo', 'weur', 'enam')).toBe('enam');
    expect(nearest('Tokyo', 'apac-se', 'apac')).toBe('apac');
    expect(nearest('Mumbai', 'apac-ne', 'weur')).toBe('apac-ne');
    expect(nearest('Sydney', 'apac-se', 'wnam')).toBe('apac-se');
    expect(nearest('Lagos', 'enam', 'weur')).toBe('weur');
    expect(nearest('Dubai', 'apac-se', 'eeur')).toBe('eeur');
  });

  it('is none where all are far and the gate may be nearer', () => {
    expect(nearestRegion(placeOf('Berlin'), ['oc'])).toBe(null);
    expect(nearestRegion(placeOf('Sydney'), ['weur', 'enam'])).toBe(null);
  });

  it('is one nearer than the gate, if it is known where that is', () => {
    expect(nearestRegion(placeOf('Berlin'), ['oc'], 'weur')).toBe(null);
    expect(nearestRegion(placeOf('Berlin'), ['oc', 'eeur'], 'weur')).toBe(null);
    expect(nearestRegion(placeOf('Berlin'), ['weur', 'oc'], 'weur')).toBe(null);
    expect(nearestRegion(placeOf('Berlin'), ['enam', 'oc'], 'apac')).toBe('enam');
    expect(nearestRegion(placeOf('Sydney'), ['wnam'], 'weur')).toBe('wnam');
    for (const gate of REGIONS)
      for (const region of REGIONS) {
        const other = REGIONS.filter((one) => one !== region);
        // With every other region to choose from, somebody near the gate goes there.
        expect(nearestRegion(of(gate), other, gate)).toBe(null);
        // Somebody in a region with a replica goes to that, unless the gate is there.
        expect(nearestRegion(of(region), [region], gate)).toBe(gate === region ? null : region);
      }
  });
});

describe('regions: the guide', () => {
  const rows = [...guide.matchAll(/^\| `([\w-]+)` \| (`.*) \| (`.*) \|$/gm)].map(
    ([, from = '', near = '', far = '']) => ({
      from: from as Region,
      near: namesIn(near),
      far: namesIn(far),
    }),
  );

  it('has the order of each region', () => {
    expect(rows.map(({ from }) => from)).toEqual(expect.arrayContaining([...REGIONS]));
    for (const { from, near, far } of rows) {
      const all = [...near, ...far];
      expect([...all, from].sort()).toEqual([...REGIONS].sort());
      const last = all.at(-1) as Region;
      for (const [at, region] of all.entries()) {
        const left = all.slice(at);
        expect(nearestRegion(of(from), left)).toBe(at < near.length ? region : null);
        expect(nearestRegion(of(from), left, last)).toBe(region === last ? null : region);
      }
    }
  });
});

describe('regions: the place of a request', () => {
  const request = (cf: object | undefined, region?: string) =>
    ({ cf, headers: new Headers(region === undefined ? {} : { 'Svc-Test-Region': region }) }) as never;
  const env = (PUBLIC_URL?: string) => ({ PUBLIC_URL }) as Env;
  const FRANKFURT = {
    colo: 'FRA',
    continent: 'EU',
    country: 'DE',
    longitude: '8.68410',
    latitude: '50.11550',
  };
  const read = { colo: 'FRA', continent: 'EU', longitude: 8.6841, latitude: 50.1155 };

  it('is what Cloudflare says', () => {
    expect(placeOfRequest(request(FRANKFURT), env('https://vault.example.com'))).toEqual(read);
  });

  it('is not known outside Cloudflare, and has no coordinates that are none', () => {
    expect(regionOf(placeOfRequest(request(undefined), env()))).toBe(null);
    for (const longitude of ['', ' ', 'east', '181', 'Infinity', 'NaN', 8, null, ['8']])
      expect(placeOfRequest(request({ ...FRANKFURT, longitude }), env()).longitude).toBe(undefined);
  });

  it.each(['http://localhost:8787', 'http://127.0.0.1:9000', 'http://[::1]:8787'])(
    'in development, at %s, is the region that Svc-Test-Region names',
    (url) => {
      expect(placeOfRequest(request(FRANKFURT, 'oc'), env(url))).toEqual({ region: 'oc' });
      for (const name of ['', 'mars', 'OC', 'oc,weur', 'toString'])
        expect(placeOfRequest(request(FRANKFURT, name), env(url))).toEqual({});
      expect(placeOfRequest(request(FRANKFURT), env(url))).toEqual({});
    },
  );

  it.each([
    'https://vault.example.com',
    'https://localhost.example.com',
    'https://127.0.0.1.example.com',
    'https://vault.example.com/?http://localhost',
    'https://localhost@vault.example.com',
    'http://128.0.0.1',
    'http://[::2]',
    'localhost',
    '',
    undefined,
  ])('attack: nobody plays a region at %s', (url) => {
    expect(placeOfRequest(request(FRANKFURT, 'oc'), env(url))).toEqual(read);
  });
});
