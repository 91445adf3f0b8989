// `npm start -- --saml`: the SAML Worker beside the service, and what is told without it.
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { copyOfProject, freePort, launch } from '../../service.mjs';
import { slow } from '../../slow.mjs';

it('saml: npm start with --saml serves its pages and reads metadata', slow(120_000), async () => {
  const service = launch(copyOfProject(), {}, await freePort(), ['--saml']);
  after(() => service.stop().catch(() => {}));
  await service.ready();
  for (const file of ['/sign-in', '/assets/session.js', '/console']) {
    const { status } = await fetch(`${service.base}${file}`);
    assert.equal(status, 200, file);
  }
});
