#!/usr/bin/env node
// The start of svc. It stands beside the bundle, which `npm ci` makes in a clone, so that npm finds it before that.
await import('../dist/main.js');
