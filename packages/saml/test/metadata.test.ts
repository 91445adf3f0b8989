// Metadata of identity providers: what is read, and what is refused.
import { beforeAll, expect, it } from 'vitest';
import { readMetadata } from '../src/metadata';
import { newProvider, type Provider } from './provider';

let idp: Provider;
beforeAll(async () => {
  idp = await newProvider();
});

it('saml: metadata without `use`, with two certificates, gives both', async () => {
  const other = await newProvider();
  const key = /<md:KeyDescriptor.*<\/md:KeyDescriptor>/.exec(idp.metadata)?.[0] as string;
  const second = key.replace(' use="signing"', '').replace(idp.certificate, other.certificate);
  const xml = idp.metadata.replace(key, key + second + key.replace('"signing"', '"encryption"'));
  expect(readMetadata(xml).certificates).toHaveLength(2);
});

it('saml: metadata names the formats of NameID, each once and in a limit', () => {
  const format = (name: string) => `<md:NameIDFormat> ${name} </md:NameIDFormat>`;
  const before = '<md:SingleSignOnService';
  const withFormats = (...names: string[]) =>
    readMetadata(idp.metadata.replace(before, names.map(format).join('') + before)).nameIdFormats;
  expect(withFormats()).toEqual([]);
  expect(withFormats('a', 'b', 'a', 'x'.repeat(257))).toEqual(['a', 'b']);
  expect(withFormats(...Array.from({ length: 30 }, (_, n) => `f${n}`))).toHaveLength(20);
});

it.each<[string, string | RegExp, string, string]>([
  [
    'an entity',
    '<md:EntityDescriptor',
    '<!DOCTYPE m [<!ENTITY a "b">]><md:EntityDescriptor',
    'document type',
  ],
  ['no entityID', /entityID="[^"]*"/, '', 'entityID'],
  ['no HTTP-Redirect', 'HTTP-Redirect', 'SOAP', 'HTTP-Redirect'],
  ['no URL', 'https://idp.example/sso?tenant=1', 'sso', 'HTTP-Redirect'],
  ['no certificate', /<md:KeyDescriptor.*<\/md:KeyDescriptor>/, '', 'certificates'],
  ['a certificate that is none', /<ds:X509Certificate>.{40}/, '<ds:X509Certificate>', 'cannot be read'],
  ['another root', /md:EntityDescriptor/g, 'md:EntitiesDescriptor', 'one identity provider'],
])('saml: metadata with %s is refused', (_, from, to, reason) => {
  const xml = idp.metadata.replace(from, to);
  expect(xml).not.toBe(idp.metadata);
  expect(() => readMetadata(xml)).toThrow(reason);
});

it('saml: metadata with a short key is refused', async () => {
  const weak = await newProvider('https://idp.example/metadata', 1024);
  expect(() => readMetadata(weak.metadata)).toThrow('2,048 bits');
});
