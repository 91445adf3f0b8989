// Runs the check in Node.js, Bun or Deno; the argument contains its options as JSON.
import process from 'node:process';
import { check } from './check.mjs';

console.log(await check(JSON.parse(process.argv[2])));
