// The version that runs, as /healthz shows it.
import { expect, it } from 'vitest';
import { running, version } from '../../src/version';

it('version: has the commit as build metadata, and shows nothing that is none', () => {
  expect(running({ COMMIT: '0123456789ab' })).toBe(`${version}+0123456789ab`);
  expect(running({ COMMIT: '0123456789ab-changed' })).toBe(`${version}+0123456789ab-changed`);
  for (const COMMIT of [undefined, '', 'main', 'x'.repeat(40), '0123456789ab<script>'])
    expect(running({ COMMIT })).toBe(version);
});
