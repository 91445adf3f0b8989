// What a SCIM request is refused with. Pure. The path of the detail carries SCIM's own type of the error,
// which compat/scim puts into the answer.
import { type Refusal, refuse } from '../../errors';

export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany';

export const PREFIX = 'scim:';

/** 400 with a type of RFC 7644, table 9. */
export const badRequest = (type: ScimType, message: string): Refusal =>
  refuse('VALIDATION_FAILED', { details: [{ path: `${PREFIX}${type}`, message }] });

/** 409: the resource stays as it is. */
export const immutable = (message: string): Refusal => refuse('CONFLICT', { message });
