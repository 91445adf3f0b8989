// The migrations of a checkout.
import fs from 'node:fs';

/** The names of the migrations that this checkout knows. @param {string} dir */
export const knownMigrations = (dir) =>
  fs.existsSync(dir) ? fs.readdirSync(dir).filter((name) => name.endsWith('.sql')) : [];
