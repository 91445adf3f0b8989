// What the bundle holds of zod, in place of the whole package (`alias` in wrangler.toml): the API without its 264 kB of locales. Messages
// come from `messages.ts`. Invariant: source files import zod by its own name, so that types are those of the package.
export * from '../../node_modules/zod/v4/classic/checks.js';
export * from '../../node_modules/zod/v4/classic/compat.js';
export * from '../../node_modules/zod/v4/classic/errors.js';
export * as iso from '../../node_modules/zod/v4/classic/iso.js';
export * from '../../node_modules/zod/v4/classic/parse.js';
export * from '../../node_modules/zod/v4/classic/schemas.js';
export { toJSONSchema } from '../../node_modules/zod/v4/core/json-schema-processors.js';

import * as z from './zod.js';

export { z, z as default };
