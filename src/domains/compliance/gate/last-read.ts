// When a secret was last read: the one place that says so.
import type { Core } from '../../../gate/core';
export const lastReadOf = (_core: Core, _secret: string): number | null => null;
export const readsSince = (_core: Core): number => 0;
