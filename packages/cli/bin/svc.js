#!/usr/bin/env node
// The entry point of svc. It is separate from the bundle, which `npm ci` builds in a clone, so that npm can link it before that.
await import('../dist/main.js');
