// The certificate authority of one run of svc proxy. Invariants: its keys are in the memory of this process
// alone, and its own key cannot be exported; it is good for the hosts of upstreams and for no other.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  GeneralName as AsnName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  NameConstraints,
} from '@peculiar/asn1-x509';
import * as x509 from '@peculiar/x509';

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR = 3_600_000;
/** Longer than runs last. The keys end with the run. */
const VALID = 365 * 24 * HOUR;

export class Authority {
  private readonly contexts = new Map<string, tls.SecureContext>();

  private constructor(
    private readonly root: x509.X509Certificate,
    private readonly rootKey: webcrypto.CryptoKey,
    private readonly pair: webcrypto.CryptoKeyPair,
    /** The private key of the certificates of hosts, as PEM. */
    private readonly key: string,
  ) {}

  /** @param hosts names and addresses, as they stand in URLs */
  static async create(hosts: readonly string[]): Promise<Authority> {
    x509.cryptoProvider.set(webcrypto as unknown as Crypto);
    const { subtle } = webcrypto;
    const keys = (await subtle.generateKey(EC, false, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
    const root = await x509.X509CertificateGenerator.createSelfSigned({
      ...period(),
      serialNumber: serial(),
      name: 'CN=svc proxy, O=Secrets Vault Service',
      keys: keys as unknown as CryptoKeyPair,
      signingAlgorithm: EC,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey as unknown as CryptoKey),
        // Programs that trust it trust it for these hosts.
        // safety: proxy-authority-hosts
        new x509.Extension(id_ce_nameConstraints, true, constraints(hosts)),
      ],
    });
    const pair = (await subtle.generateKey(EC, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
    const pkcs8 = await subtle.exportKey('pkcs8', pair.privateKey);
    return new Authority(root, keys.privateKey, pair, x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'));
  }

  /** Its certificate, as PEM. */
  get certificate(): string {
    return this.root.toString('pem');
  }

  /** What a TLS server for this host needs. */
  async contextOf(host: string): Promise<tls.SecureContext> {
    const known = this.contexts.get(host);
    if (known) return known;
    const certificate = await x509.X509CertificateGenerator.create({
      ...period(),
      serialNumber: serial(),
      subject: 'CN=svc proxy host',
      issuer: this.root.subject,
      publicKey: this.pair.publicKey as unknown as CryptoKey,
      signingKey: this.rootKey as unknown as CryptoKey,
      signingAlgorithm: EC,
      extensions: [
        new x509.BasicConstraintsExtension(false),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension([
          net.isIP(host) ? { type: 'ip', value: host } : { type: 'dns', value: host },
        ]),
        await x509.AuthorityKeyIdentifierExtension.create(this.root),
        await x509.SubjectKeyIdentifierExtension.create(this.pair.publicKey as unknown as CryptoKey),
      ],
    });
    const context = tls.createSecureContext({ cert: certificate.toString('pem'), key: this.key });
    this.contexts.set(host, context);
    return context;
  }
}

/** From an hour ago, since clocks differ. */
function period() {
  const now = Date.now();
  return { notBefore: new Date(now - HOUR), notAfter: new Date(now + VALID) };
}

const serial = (): string => {
  const bytes = Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)));
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString('hex');
};

/**
 * The hosts that certificates of an authority may name. A kind of which there is no host has one that nobody
 * reaches, since what is not constrained is allowed.
 */
function constraints(hosts: readonly string[]): ArrayBuffer {
  const addresses = hosts.filter((host) => net.isIP(host));
  const names = hosts.filter((host) => !net.isIP(host));
  const permitted = [
    ...(names.length ? names : ['none.invalid']).map((dNSName) => new AsnName({ dNSName })),
    ...(addresses.length ? addresses : ['192.0.2.0']).map(
      (address) => new AsnName({ iPAddress: `${address}/${net.isIPv4(address) ? 32 : 128}` }),
    ),
  ];
  return AsnConvert.serialize(
    new NameConstraints({
      permittedSubtrees: new GeneralSubtrees(permitted.map((base) => new GeneralSubtree({ base }))),
    }),
  );
}
