// What someone else changed after the member opened a dialog. Invariant: the member's own changes are applied to the new state only after
// they have said so here.
import { useState } from 'preact/hooks';
import type { ChangedError, Difference } from '../differences';
import { Button } from './button';
import { intoView } from './parts';

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
  const words = field.replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);
  return LABELS[field] ?? words.charAt(0).toUpperCase() + words.slice(1);
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

const Row = ({ path, before, now }: Difference) => (
  <li>
    <strong>{labelIn(path)}:</strong> <del>{inWords(before)}</del> → <ins>{inWords(now)}</ins>
  </li>
);

export function Changed({ error }: { error: ChangedError }) {
  const [isKept, setKept] = useState(false);
  const { differences } = error;
  const keep = () => {
    error.accept();
    setKept(true);
  };
  return (
    <div ref={intoView} class="note warn stack" role="alert">
      <p>
        <strong>{error.message}.</strong> Nothing was saved. {!differences.length && 'Nothing that you can see is different.'}
      </p>
      {differences.length > 0 && (
        <ul class="bullets">
          {differences.map((difference) => (
            <Row key={difference.path.join('\n')} {...difference} />
          ))}
        </ul>
      )}
      {isKept ? (
        <p role="status">Do it again to apply your change to the current state.</p>
      ) : (
        <Button small onPress={keep}>
          Keep my change
        </Button>
      )}
    </div>
  );
}
