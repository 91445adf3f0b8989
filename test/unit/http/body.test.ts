// Reading a body: its limit holds whatever the request says of its length.
import { expect, it } from 'vitest';
import { MOST_BODY, readBody } from '../../../src/http/input/body';

const requestOf = (length: number, declared: string | null) =>
  new Request('https://vault.example.com/', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(declared !== null && { 'Content-Length': declared }) },
    // A stream has no length of its own.
    body: new Blob([`"${' '.repeat(length - 2)}"`]).stream(),
  });

it.each([null, '5', '0', '-1', String(MOST_BODY), String(MOST_BODY + 1), 'long'])(
  'body: at most 1 MiB with the Content-Length %s',
  async (declared) => {
    const whole = await readBody(requestOf(MOST_BODY, declared));
    expect([whole.refusal, whole.bytes.length]).toEqual([null, MOST_BODY]);
    const tooLong = await readBody(requestOf(MOST_BODY + 1, declared));
    expect([tooLong.refusal?.code, tooLong.bytes.length, tooLong.json]).toEqual([
      'PAYLOAD_TOO_LARGE',
      0,
      undefined,
    ]);
  },
);
