// How the Worker serves the console. What people do in it is tested in packages/console.
import { describe, expect, it } from 'vitest';
import { send, useWorld } from '../../support/world';

useWorld();

describe('console: files and headers', () => {
  it('is one page at every address below /console, which cannot be framed and runs only its own files', async () => {
    for (const path of ['/console', '/console/', '/console/secrets/sec_1?tab=history', '/console/%00/../x']) {
      const page = await send('GET', path);
      expect([path, page.status, page.headers.get('content-type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ]);
      expect(page.headers.get('cache-control')).toBe('no-store');
      const policy = page.headers.get('content-security-policy') ?? '';
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ])
        expect(policy).toContain(part);
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
    }
  });

  it('has files that may be cached for ever, and no others', async () => {
    const { text } = await send('GET', '/console');
    const names = [...text.matchAll(/\/console\/assets\/([\w.-]+)/g)].map(([, name]) => name as string);
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      const file = await send('GET', `/console/assets/${name}`);
      expect([name, file.status, file.headers.get('cache-control')]).toEqual([
        name,
        200,
        'public, max-age=31536000, immutable',
      ]);
      expect(file.headers.get('x-content-type-options')).toBe('nosniff');
    }
    for (const name of ['missing.js', '..%2findex.html', 'index.html', '.built-from', 'a.map']) {
      const file = await send('GET', `/console/assets/${name}`);
      expect([name, file.status, file.headers.get('cache-control')]).toEqual([name, 404, 'no-store']);
    }
    expect((await send('POST', '/console')).status).toBe(405);
  });
});
