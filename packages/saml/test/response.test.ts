// Responses of identity providers: what is accepted, and published attacks on signatures and XML, which are
// not.
import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { readMetadata } from '../src/metadata';
import { readResponse } from '../src/response';
import {
  AUDIENCE,
  encoded,
  freshId,
  newProvider,
  type Provider,
  RECIPIENT,
  SAML_NS,
  type Said,
  type Signing,
} from './provider';

let idp: Provider;
let other: Provider;
beforeAll(async () => {
  [idp, other] = await Promise.all([newProvider(), newProvider()]);
});

const expected = (requestId: string) => ({
  provider: readMetadata(idp.metadata),
  audience: AUDIENCE,
  recipient: RECIPIENT,
  requestId,
});

const read = (requestId: string, xml: string) => readResponse(encoded(xml), expected(requestId));

/** A response in which a text is replaced after it was signed. */
async function altered(from: string | RegExp, to: string, said: Said = {}, signing: Signing = {}) {
  const requestId = freshId();
  const xml = idp.respond(requestId, said, signing);
  const changed = xml.replace(from, to);
  expect(changed).not.toBe(xml);
  return read(requestId, changed);
}

describe('saml: a response of the provider', () => {
  it.each(['assertion', 'both'] as const)(
    'saml: with a signed %s gives its subject and attributes',
    async (signs) => {
      const requestId = freshId();
      const answer = await read(requestId, idp.respond(requestId, {}, { signs }));
      expect(answer).toMatchObject({
        subject: 'u-1',
        format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
        sessionIndex: 's-1',
        attributes: { email: ['ann@example.com'], groups: ['ops', 'dev'] },
      });
      expect(Math.abs(answer.validUntil - Date.now() - 300_000)).toBeLessThan(60_000);
    },
  );

  it('saml: whose clock is four minutes off is accepted, and six minutes is not', async () => {
    const id = freshId();
    const off = (minutes: number) => ({
      notBefore: minutes * 60_000,
      confirmedUntil: 600_000,
      notOnOrAfter: 600_000,
    });
    await expect(read(id, idp.respond(id, off(4)))).resolves.toMatchObject({ subject: 'u-1' });
    await expect(read(id, idp.respond(id, off(6)))).rejects.toThrow('conditions');
  });
});

describe('saml: what the provider says is refused', () => {
  const cases: Record<string, [Said, Signing?]> = {
    'with a signature on the response alone': [{}, { signs: 'response' }],
    'without a signature': [{}, { signs: 'nothing' }],
    'that nobody asked for': [{ requestId: null, confirmedFor: null }],
    'to another request': [{ requestId: '_other' }],
    'whose assertion answers another request': [{ confirmedFor: '_other' }],
    'whose assertion answers none': [{ confirmedFor: null }],
    'for another recipient': [{ recipient: 'https://evil.example/acs' }],
    'for another destination': [{ destination: 'https://evil.example/acs' }],
    'for another audience': [{ audience: 'https://other.example' }],
    'for an audience that begins like ours': [{ audience: `${AUDIENCE}x` }],
    'for no audience': [{ audience: null }],
    'of another provider': [{ issuer: 'https://other.example' }],
    'that is not for the bearer': [{ method: 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches' }],
    'that has expired': [{ notOnOrAfter: -301_000, confirmedUntil: 300_000 }],
    'whose confirmation has expired': [{ confirmedUntil: -301_000 }],
    'that is not valid yet': [{ notBefore: 301_000 }],
    'that is a failure': [{ status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }],
    'without a subject': [{ nameId: '' }],
    'signed with SHA-1': [{}, { algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }],
    'with a SHA-1 digest': [{}, { digest: 'http://www.w3.org/2000/09/xmldsig#sha1' }],
    'with inclusive canonicalization': [
      {},
      { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' },
    ],
    'with a single transform': [
      {},
      { transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature'] },
    ],
  };
  it.each(Object.entries(cases))('saml: %s', async (_, [said, signing]) => {
    const id = freshId();
    await expect(read(id, idp.respond(id, said, signing))).rejects.toThrow(/./);
  });

  it('saml: of another provider with the same name and its own key', async () => {
    const id = freshId();
    await expect(read(id, other.respond(id))).rejects.toThrow('its signature');
  });
});

describe('saml: attacks on the signature', () => {
  it.each([
    ['the subject', 'u-1<', 'u-2<'],
    ['an attribute', 'ann@example.com', 'eve@example.com'],
    ['the audience', `<saml:Audience>${AUDIENCE}<`, '<saml:Audience>https://vault.example<'],
    ['the digest', /<DigestValue>.{4}/, '<DigestValue>AAAA'],
    ['the signature', /<SignatureValue>.{4}/, '<SignatureValue>AAAA'],
    // Comment truncation (CVE-2017-11427 and others): libraries read only the text before it.
    ['the subject, by a comment', 'u-1<', 'u-1<!---->.evil<'],
    ['the digest, by a comment (CVE-2025-29775)', '<DigestValue>', '<DigestValue><!--AAAA-->'],
    ['the subject, by CDATA', 'u-1<', '<![CDATA[u-1]]><'],
    ['an entity', '<samlp:Response', '<!DOCTYPE r [<!ENTITY a "x">]><samlp:Response'],
    [
      'a billion laughs',
      '<samlp:Response',
      '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><samlp:Response',
    ],
    ['an external entity', '<samlp:Response', '<!DOCTYPE r SYSTEM "file:///etc/passwd"><samlp:Response'],
    ['a processing instruction', '<saml:Conditions', '<?x y?><saml:Conditions'],
    // Two SignedInfo (CVE-2025-29774): the one that is verified is not the one that is used.
    ['a second SignedInfo', /(<SignedInfo>.*<\/SignedInfo>)/, '$1$1'],
    ['a second digest', /(<DigestValue>[^<]*<\/DigestValue>)/, '$1$1'],
    ['a second reference', /(<Reference.*<\/Reference>)/, '$1$1'],
    ['a second signature', /(<Signature .*<\/Signature>)/, '$1$1'],
    ['no signature', /<Signature .*<\/Signature>/, ''],
    ['an empty reference', /URI="#[^"]*"/, 'URI=""'],
    [
      'the namespace of the assertion',
      /xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID/,
      'xmlns:saml="urn:evil" ID',
    ],
    ['the name of the assertion', /saml:Assertion(?=[ >])/g, 'saml:Advice'],
  ])('saml: %s is changed', async (_, from, to) => {
    await expect(altered(from, to)).rejects.toThrow(/./);
  });

  /**
   * The eight kinds of wrapping (Somorovsky et al., "On Breaking SAML", 2012): an evil assertion beside a
   * signed one.
   */
  const wrappings: Record<string, (xml: string, signed: string, evil: string) => string> = {
    'before it': (xml, signed, evil) => xml.replace(signed, evil + signed),
    'after it': (xml, signed, evil) => xml.replace(signed, signed + evil),
    'around it': (xml, signed, evil) =>
      xml.replace(signed, evil.replace('</saml:Assertion>', `${signed}</saml:Assertion>`)),
    'around it, as an object of the signature': (xml, signed, evil) =>
      xml.replace(
        signed,
        evil.replace(
          '</saml:Issuer>',
          `</saml:Issuer><Signature xmlns="http://www.w3.org/2000/09/xmldsig#"><Object>${signed}</Object></Signature>`,
        ),
      ),
    'with the signed one in an extension': (xml, signed, evil) =>
      xml
        .replace(signed, evil)
        .replace('<samlp:Status>', `<samlp:Extensions>${signed}</samlp:Extensions><samlp:Status>`),
    'with the signed response in an advice': (xml, _, evil) =>
      xml.replace(
        /<saml:Assertion.*<\/saml:Assertion>/,
        evil.replace('<saml:AuthnStatement', `<saml:Advice>${xml}</saml:Advice><saml:AuthnStatement`),
      ),
    'and takes its signature': (xml, signed, evil) => {
      const signature = /<Signature .*<\/Signature>/.exec(signed)?.[0] as string;
      return xml.replace(
        signed,
        evil.replace('</saml:Issuer>', `</saml:Issuer>${signature}`) + signed.replace(signature, ''),
      );
    },
    'with the same id': (xml, signed, evil) => {
      const id = /ID="([^"]*)"/.exec(signed)?.[1] as string;
      return xml.replace(signed, signed + evil.replace(/ID="[^"]*"/, `ID="${id}"`));
    },
    'with the same id, written otherwise': (xml, signed, evil) => {
      const id = /ID="([^"]*)"/.exec(signed)?.[1] as string;
      return xml.replace(
        signed,
        evil.replace(/ID="[^"]*"/, `Id="${id}"`).replace('</saml:Assertion>', `${signed}</saml:Assertion>`),
      );
    },
  };
  it.each(Object.entries(wrappings))('saml: an evil assertion stands %s', async (_, wrap) => {
    const id = freshId();
    const xml = idp.respond(id);
    const signed = /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] as string;
    const evil = idp.assertionOf(id, { nameId: 'owner' });
    const wrapped = wrap(xml, signed, evil);
    expect(wrapped).toContain('>owner<');
    await expect(read(id, wrapped)).rejects.toThrow(/./);
  });

  it('saml: the certificate comes with the signature', async () => {
    const id = freshId();
    const xml = other.respond(id);
    const key = `<KeyInfo><X509Data><X509Certificate>${other.certificate}</X509Certificate></X509Data></KeyInfo>`;
    await expect(read(id, xml.replace('</SignatureValue>', `</SignatureValue>${key}`))).rejects.toThrow(/./);
  });

  it('saml: the public key is used as the key of an HMAC', async () => {
    const id = freshId();
    const xml = idp.respond(id).replace(/xmldsig-more#rsa-sha256/, 'xmldsig-more#hmac-sha256');
    const info = /<SignedInfo>.*<\/SignedInfo>/s.exec(xml)?.[0] as string;
    const value = createHmac('sha256', idp.pem).update(info).digest('base64');
    await expect(read(id, xml.replace(/<SignatureValue>[^<]*/, `<SignatureValue>${value}`))).rejects.toThrow(
      'an algorithm that is not accepted',
    );
  });

  it('saml: an unsigned response around a signed assertion decides nothing', async () => {
    const id = freshId();
    const xml = idp.respond(id, { requestId: '_stolen', confirmedFor: '_stolen' });
    await expect(
      read(id, xml.replace('InResponseTo="_stolen" ID', `InResponseTo="${id}" ID`)),
    ).rejects.toThrow(/./);
    await expect(
      read(id, xml.replace(/(<samlp:Response[^>]*)InResponseTo="_stolen"/, `$1InResponseTo="${id}"`)),
    ).rejects.toThrow(/./);
  });
});

describe('saml: text that is not a response', () => {
  it.each([
    ['nothing', ''],
    ['no base64', '<x/>'],
    ['base64 with spaces', `${encoded('<samlp:Response/>')} `],
    ['no UTF-8', Buffer.from([0x3c, 0xff, 0x3e]).toString('base64')],
    ['no XML', encoded('response')],
    ['another document', encoded(`<saml:Assertion ${SAML_NS}/>`)],
    ['an unclosed element', encoded('<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol">')],
    ['two roots', encoded('<a/><b/>')],
    ['deep nesting', encoded('<a>'.repeat(500) + '</a>'.repeat(500))],
    ['many elements', encoded(`<a>${'<b/>'.repeat(30_000)}</a>`)],
    ['more than 256 KiB', encoded(`<a>${'x'.repeat(400_000)}</a>`)],
  ])('saml: %s is refused', async (_, text) => {
    await expect(readResponse(text, expected('_1'))).rejects.toThrow(/./);
  });

  it.each([
    ['elements', '<b/>'.repeat(5000), 'too large'],
    ['attributes', `<b ${Array.from({ length: 7000 }, (_, i) => `a${i}=""`).join(' ')}/>`, 'too large'],
    ['namespaces', Array.from({ length: 2600 }, (_, i) => `<b xmlns:n${i}="u"/>`).join(''), 'namespaces'],
  ])('saml: too many %s are refused before the signature is checked', async (_, more, why) => {
    await expect(altered('</saml:Assertion>', `${more}</saml:Assertion>`)).rejects.toThrow(why);
  });

  it('saml: a signature by any of several certificates is accepted', async () => {
    const id = freshId();
    const certificates = [other, idp].flatMap(({ metadata }) => readMetadata(metadata).certificates);
    const provider = { ...readMetadata(idp.metadata), certificates };
    const answer = await readResponse(encoded(idp.respond(id)), { ...expected(id), provider });
    expect(answer.subject).toBe('u-1');
  });

  it('saml: a signature that no certificate made is refused before the document is verified', async () => {
    const parts: [RegExp, string][] = [
      [/(SignatureValue>)[^<]{8}/, '$1AAAAAAAA'],
      [/(DigestValue>)[^<]{8}/, '$1AAAAAAAA'],
    ];
    for (const [from, to] of parts) await expect(altered(from, to)).rejects.toThrow('no certificate');
    await expect(altered('</ds:SignedInfo>', `${'<b/>'.repeat(101)}</ds:SignedInfo>`)).rejects.toThrow(/./);
  });

  it('saml: a thousand groups are accepted', async () => {
    const id = freshId();
    const groups = Array.from({ length: 1000 }, (_, i) => `g${i}`);
    expect((await read(id, idp.respond(id, { attributes: { groups } }))).attributes.groups).toEqual(groups);
  });

  it('saml: an assertion with too many attributes is refused', async () => {
    const id = freshId();
    const attributes = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`a${i}`, ['x']]));
    await expect(read(id, idp.respond(id, { attributes }))).rejects.toThrow('too many attributes');
  });

  it('saml: white space makes another subject, and another value of an attribute', async () => {
    const id = freshId();
    const answer = await read(
      id,
      idp.respond(id, { nameId: 'u-1 ', attributes: { groups: ['ops', ' ops'] } }),
    );
    expect(answer).toMatchObject({ subject: 'u-1 ', attributes: { groups: ['ops', ' ops'] } });
    const blank = await read(id, idp.respond(id, { attributes: { uid: [' '] } }));
    expect(blank.attributes).toEqual({ uid: [''] });
    await expect(read(id, idp.respond(id, { nameId: ' ' }))).rejects.toThrow('it names nobody');
  });

  it('saml: an attribute named like a property of objects is only an attribute', async () => {
    const id = freshId();
    const answer = await read(id, idp.respond(id, { attributes: { __proto__x: ['1'], constructor: ['2'] } }));
    expect(Object.keys(answer.attributes)).toEqual(['__proto__x', 'constructor']);
  });
});
