#!/usr/bin/env node
// The start of svc: the compile cache of Node.js, then the bundle. In a clone, `npm ci` makes the bundle.
import module from 'node:module';

module.enableCompileCache?.();
await import('../dist/main.js');
