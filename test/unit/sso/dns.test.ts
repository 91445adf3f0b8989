// TXT records of a domain that is to be verified, as its owner can make them.
import { decode, encode } from '@leichtgewicht/dns-packet';
import { expect, it } from 'vitest';
import { inMessage } from '../../../src/domains/sso/dns';

const NAME = '_svc.example.com';

const answer = (many: number): Uint8Array =>
  encode({
    type: 'response',
    questions: [{ type: 'TXT', name: NAME, class: 'IN' }],
    answers: Array.from({ length: many }, (_, n) => ({ type: 'TXT' as const, name: NAME, data: `v${n}` })),
  });

it('limit: a DNS answer has 199 records, as each name may follow thousands of pointers', () => {
  expect(inMessage(answer(199), NAME)).toHaveLength(199);
  expect(decode(answer(200)).answers).toHaveLength(200);
  expect(inMessage(answer(200), NAME)).toBeNull();
  expect(inMessage(new Uint8Array(3), NAME)).toBeNull();
});
