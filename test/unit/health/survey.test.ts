// What a survey of the gates says once an operator has mended an organisation.
import { expect, it } from 'vitest';
import { readSurvey, sinceMended } from '../../../src/health/survey';

it('health: a mend in the future, as after the clock went back, hides no fault', () => {
  const found = { ...readSurvey(null), at: 1000 };
  const seen = { ...found, found: { ...found.found, ahead: ['org_a'] } };
  const mended = (at: number) => [{ org: 'org_a', at, vitals: 'well' as const, isWhole: true }];
  expect(sinceMended(seen, mended(1500), 2000).found.ahead).toEqual([]);
  expect(sinceMended(seen, mended(3000), 2000).found.ahead).toEqual(['org_a']);
});

it('health: an adoption in the future hides no lost organisation', () => {
  const none = readSurvey(null);
  const survey = JSON.stringify({ ...none, at: 1000, found: { ...none.found, lost: ['org_a'] } });
  expect(readSurvey({ survey, adopted: 1500 }, 2000).found.lost).toEqual([]);
  expect(readSurvey({ survey, adopted: 3000 }, 2000).found.lost).toEqual(['org_a']);
});
