// What differs between the state of a resource that a member saw and the current one, in words. Pure.
import type { Difference } from './changed-error';

const LONGEST = 200;

/** The labels that forms give to fields, where they differ from the name of the field. */
const LABELS: Record<string, string> = {
  secrets: 'Secret names',
  allowed_addresses: 'Allowed IP addresses',
  rate_limit: 'Requests per minute',
  ttlSeconds: 'Session token lifetime (seconds)',
  jwks: 'Issuer keys',
  rotate_every_seconds: 'Rotate every (seconds)',
  audit_retention_days: 'Keep entries for (days)',
  max_age_days: 'Days',
  cron: 'Cron expression',
  auto_rotate: 'Rotate automatically',
  operations: 'Requires approval',
  required: 'Approvals required',
  allow_break_glass: 'Exempt break-glass tokens',
  auto: 'Sync automatically',
  prune: 'Delete removed secrets',
  serial: 'Serial number',
  email: 'E-mail address',
  url: 'URL',
};

/** Fields whose parts have names that someone chose. */
const NAMED = ['tags', 'claims'];

/** The label of a field: `created_by` becomes `Created by`. */
function labelOf(field: string): string {
  const words = field
    .replaceAll('_', ' ')
    .replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);
  return Object.hasOwn(LABELS, field)
    ? String(LABELS[field])
    : words.charAt(0).toUpperCase() + words.slice(1);
}

/** The label of a part of a field. A form shows the parts of a config as fields of their own. */
const labelIn = ([field = '', ...parts]: string[]): string =>
  [
    ...(field === 'config' && parts.length ? [] : [labelOf(field)]),
    ...parts.map((part) => (NAMED.includes(field) ? part : labelOf(part))),
  ].join(' › ');

/** A value of the API in words. */
function textOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'not set';
  if (Array.isArray(value)) return value.length ? value.map(textOf).join(', ') : 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return String(value);
  const parts = Object.entries(value).map(([key, part]) => `${labelOf(key)} ${textOf(part)}`);
  return parts.length ? parts.join(', ') : 'none';
}

const inWords = (value: unknown): string => {
  const text = textOf(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
};

/** Fields that change by themselves, or say only that something else did. */
const INCIDENTAL = /^(revision|etag|updated_?at|last_used_(at|place)|use_count|usage|next_times)$/i;

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const at = (fields: Fields, key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);

function within(before: unknown, now: unknown, path: string[]): Difference[] {
  // Some answers leave out what others have as null.
  if (JSON.stringify(before ?? null) === JSON.stringify(now ?? null)) return [];
  if (!isFields(before) || !isFields(now))
    return [{ label: labelIn(path), before: inWords(before), now: inWords(now) }];
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].flatMap((key) =>
    path.length === 0 && INCIDENTAL.test(key) ? [] : within(at(before, key), at(now, key), [...path, key]),
  );
}

/** What differs between two states of a resource. */
export const differencesOf = (before: object, now: object): Difference[] => within(before, now, []);
