// TXT records over DNS-over-HTTPS (RFC 8484), or in the JSON form that public resolvers offer beside it.
// Invariant: only TXT records of the very name count. An alias (CNAME) proves nothing, because one for all
// names of a domain leads to a host that others control.
import { decode, encode } from '@leichtgewicht/dns-packet';
import { toBase64Url } from '../../crypto/bytes';
import { type AnsweredBytes, guardedFetch } from '../../delivery/egress';
import type { Settings } from '../../env';

/** One timeout for all requests of a look-up, in milliseconds. */
const TIMEOUT = 10_000;
const MOST = 65_536;
const WIRE = 'application/dns-message';
const JSON_FORM = 'application/dns-json';
const TXT = 16;
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

type Resolver = Settings['resolver'];

/** The TXT records of a name, each joined; empty if there are none, null if nobody says. */
export async function txtRecords(resolver: Resolver, name: string): Promise<string[] | null> {
  const until = Date.now() + TIMEOUT;
  const ask = async (query: string, accept: string): Promise<AnsweredBytes | null> => {
    const { url, allowPrivate } = resolver;
    const timeout = until - Date.now();
    if (timeout <= 0) return null;
    const got = await guardedFetch({ allowPrivate }, `${url}${url.includes('?') ? '&' : '?'}${query}`, {
      method: 'GET',
      headers: { Accept: accept },
      read: MOST,
      timeout,
    });
    return 'unreachable' in got || got.status !== 200 ? null : got;
  };
  const wire = await ask(`dns=${toBase64Url(question(name))}`, WIRE);
  if (wire && typeOf(wire) === WIRE) return inMessage(wire.bytes, name);
  const json = await ask(new URLSearchParams({ name, type: 'TXT' }).toString(), JSON_FORM);
  return json && inJson(json.text, name);
}

const typeOf = ({ headers }: AnsweredBytes) =>
  headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();

/** With the id 0, so that caches can answer it. */
const question = (name: string): Uint8Array =>
  encode({ type: 'query', id: 0, flags: 0x100, questions: [{ type: 'TXT', name, class: 'IN' }] });

const isSame = (a: unknown, b: string): boolean =>
  typeof a === 'string' && a.toLowerCase().replace(/\.$/, '') === b;

const stringsOf = <T>(data: T | T[]): T[] => (Array.isArray(data) ? data : [data]);
const textOf = (part: string | Uint8Array) =>
  typeof part === 'string' ? part : new TextDecoder().decode(part);

/** Records of a message: the name of each may follow thousands of pointers. */
const MOST_RECORDS = 200;

/** How many questions and records a message says it has (RFC 1035, 4.1.1). */
const countOf = (bytes: Uint8Array): number => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return [4, 6, 8, 10].reduce((sum, at) => sum + view.getUint16(at), 0);
};

/** The TXT records in a message; null for a failure, and for what is no answer. */
export function inMessage(bytes: Uint8Array, name: string): string[] | null {
  try {
    // safety: dns-records-bounded
    if (countOf(bytes) > MOST_RECORDS) return null;
    const message = decode(bytes) as ReturnType<typeof decode> & { rcode: string };
    if (message.type !== 'response' || message.flag_tc) return null;
    if (message.rcode !== 'NOERROR') return message.rcode === 'NXDOMAIN' ? [] : null;
    const texts: string[] = [];
    for (const record of message.answers ?? []) {
      // safety: record-of-this-name
      if (record.type !== 'TXT' || record.class !== 'IN' || !isSame(record.name, name)) continue;
      texts.push(stringsOf(record.data).map(textOf).join(''));
    }
    return texts;
  } catch {
    return null;
  }
}

function inJson(text: string, name: string): string[] | null {
  try {
    const { Status, TC, Answer } = JSON.parse(text) as {
      Status?: unknown;
      TC?: unknown;
      Answer?: { name?: unknown; type?: unknown; data?: unknown }[];
    };
    if (TC === true || typeof Status !== 'number') return null;
    if (Status !== NO_ERROR) return Status === NO_SUCH_NAME ? [] : null;
    const texts: string[] = [];
    for (const { type, name: owner, data } of Answer ?? []) {
      // safety: json-record-of-this-name
      if (type !== TXT || !isSame(owner, name)) continue;
      if (typeof data === 'string') texts.push(joined(data));
    }
    return texts;
  } catch {
    return null;
  }
}

/** The strings of a record, as in a zone file or already joined. */
function joined(data: string): string {
  if (!/^\s*"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*\s*$/s.test(data)) return data;
  const strings = [...data.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, string = '']) => string);
  return strings
    .map((string) =>
      string.replace(/\\(\d{3}|.)/gs, (_, code: string) =>
        code.length === 3 ? String.fromCharCode(Number(code)) : code,
      ),
    )
    .join('');
}
