// The pure parts of the Vault-compatible API: paths, values and durations.
import { describe, expect, it } from 'vitest';
import { isObjectText, membersOf, merged } from '../../../src/compat/json-text';
import { cut } from '../../../src/compat/vault/path';
import { secondsOf } from '../../../src/compat/vault/tokens';
import { isMap, mapOf, storedAs, subkeysOf } from '../../../src/compat/vault/values';

const segmentsOf = (path: string) => {
  const found = cut(`https://host.example${path}`);
  return found === null || found === 'invalid' ? found : [found.org, ...found.segments];
};

describe('Vault: paths', () => {
  it('segments: decoded once, and a slash in one separates', () => {
    expect(segmentsOf('/v1/production/data/app/db?version=1#x')).toEqual([
      null,
      'production',
      'data',
      'app',
      'db',
    ]);
    expect(segmentsOf('/v1//production//data/app%2Fdb/')).toEqual([null, 'production', 'data', 'app', 'db']);
    expect(segmentsOf('/v1/production/data/%252e%252e')).toEqual([null, 'production', 'data', '%2e%2e']);
    expect(segmentsOf('/v1/production/data/a\\..\\b')).toEqual([null, 'production', 'data', 'a\\..\\b']);
  });

  it('base path: the organisation is between /compat/vault and /v1', () => {
    expect(segmentsOf('/compat/vault/org_1/v1/sys/health')).toEqual(['org_1', 'sys', 'health']);
    expect(segmentsOf('/compat/vault//v1/sys/health')).toEqual(['', 'sys', 'health']);
    for (const path of [
      '/compat/vault/org_1',
      '/compat/vault/org_1/v2/x',
      '/compat/vault/v1/x',
      '/v1',
      '/v2/x',
    ])
      expect(segmentsOf(path)).toBe(null);
  });

  it('dots: a segment . or .. is refused, however it is spelled', () => {
    for (const dots of ['..', '.', '%2e%2e', '%2E.', 'a/../b', 'a%2f..%2fb', '..%2f..', 'a/%2e/b'])
      expect(segmentsOf(`/v1/production/data/${dots}`)).toBe('invalid');
    expect(segmentsOf('/v1/%zz')).toBe('invalid');
    for (const path of ['metadata/.', 'data/./a', 'data/a/.', 'data/..'])
      expect(segmentsOf(`/v1/production.folders/${path}`)).toBe('invalid');
    expect(segmentsOf('/v1/production.folders/data/.')).toEqual([null, 'production.folders', 'data']);
    expect(segmentsOf('/v1/%ff')).toBe('invalid');
  });
});

describe('Vault: values', () => {
  it('members: texts are kept, and the last of equal keys counts', () => {
    const text = ' { "a" : 1.10 , "b\\"}" : {"x":[1,"]"]} , "c":"\\\\", "\\u0061": 2e3 } ';
    expect([...membersOf(text)]).toEqual([
      ['a', '2e3'],
      ['b"}', '{"x":[1,"]"]}'],
      ['c', '"\\\\"'],
    ]);
    expect([...membersOf('{}')]).toEqual([]);
  });

  it('merge: RFC 7396 on texts', () => {
    // The examples of its appendix A whose target and patch are objects.
    for (const [target, patch, result] of [
      ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
      ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
      ['{"a":"b"}', '{"a":null}', '{}'],
      ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
      ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
      ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
      ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
      ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
      ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
      ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
      ['{"n":1.10,"m":12345678901234567}', '{"x":1.0}', '{"n":1.10,"m":12345678901234567,"x":1.0}'],
    ] as const)
      expect(merged(target, patch)).toBe(result);
    expect(merged('{}', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)).toBe(null);
    const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
    expect([merged('{}', deep), isObjectText(deep)]).toEqual([null, true]);
    expect(JSON.stringify(subkeysOf(JSON.parse(deep), 0)).length).toBeLessThan(1000);
  });

  it('map: the text of an object of type json is a map, all else is one value', () => {
    expect(isMap('json', ' {"a":1}')).toBe(true);
    for (const text of ['[1]', '"x"', '1', 'null', '{', '{}x', '']) expect(isMap('json', text)).toBe(false);
    expect(isMap('generic', '{"a":1}')).toBe(false);
    expect(mapOf('generic', 'a"b')).toBe('{"value":"a\\"b"}');
    expect(storedAs('{"value":"a"}', false)).toEqual({ is_single: true, is_text: true, value: 'a' });
    expect(storedAs('{"value":"a"}', true)).toEqual({
      is_single: true,
      is_text: false,
      value: '{"value":"a"}',
    });
    for (const map of ['{}', '{"value":1}', '{"value":null}', '{"value":"a","b":1}', '{"Value":"a"}'])
      expect(storedAs(map, false)).toEqual({ is_single: false, is_text: false, value: map });
  });
});

it('Vault: durations are numbers or Go durations', () => {
  for (const [value, seconds] of [
    [90, 90],
    ['90', 90],
    ['90s', 90],
    ['2m', 120],
    ['2m0s', 120],
    ['1h30m', 5400],
  ] as const)
    expect(secondsOf(value, 'ttl')).toBe(seconds);
  for (const value of [-1, 1.5, '', 'x', '1d', '1h 30m', null, {}, '1.5h'])
    expect(() => secondsOf(value, 'ttl')).toThrow();
});
