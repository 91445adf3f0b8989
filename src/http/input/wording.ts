// What a field must be, as worded in a refusal. Invariant: a message says what is expected and never quotes
// the request.
import type { z } from '@hono/zod-openapi';

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

const types: Record<string, string> = {
  string: 'a string',
  number: 'an integer',
  int: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

const formats: Record<string, string> = {
  email: 'must be an email address',
  datetime: 'must be a time in ISO 8601 with an offset, such as 2026-11-21T12:00:00Z',
};

const counted = (count: unknown, what: string) => `${count} ${what}${Number(count) === 1 ? '' : 's'}`;

/** A bound on a number, the characters of a string or the items of an array. */
function bound(word: 'at least' | 'at most', origin: string, limit: unknown): string {
  if (origin === 'string')
    return word === 'at least' && Number(limit) === 1
      ? 'must not be empty'
      : `must have ${word} ${counted(limit, 'character')}`;
  if (origin === 'array')
    return word === 'at least' && Number(limit) === 1
      ? 'must not be empty'
      : `must have ${word} ${counted(limit, 'item')}`;
  return `must be ${word} ${limit}`;
}

/** The message of an issue whose schema does not define one. */
export function messageOf(issue: RawIssue): string {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${types[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'too_small':
      return bound('at least', issue.origin, issue.minimum);
    case 'too_big':
      return bound('at most', issue.origin, issue.maximum);
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of: ${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return formats[issue.format] ?? 'has the wrong format';
    case 'invalid_key':
      return `has a field whose name ${issue.issues[0]?.message ?? 'is not allowed'}`;
    default:
      return 'is not valid';
  }
}
