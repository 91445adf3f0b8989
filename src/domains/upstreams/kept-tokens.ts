// Tokens that the service gets for upstreams, as the Worker opens and seals them. The gate keeps them.
import { fromUtf8, utf8 } from '../../crypto/bytes';
import { decrypt, encrypt } from '../../crypto/envelope';
import { ApiError, type Code, catalogue, refuse } from '../../errors';
import type { OrgKeys } from '../../keys/keyring';
import type { UsePlan, UsePorts } from './call/use-plan';
import type { Kept } from './gate/own-tokens';

type Told = (operation: string, input: object) => Promise<unknown>;

const isCode = (code: string): code is Code => Object.hasOwn(catalogue, code);

export const ownToken =
  (told: Told, { value }: OrgKeys, org: string, { upstream }: UsePlan): UsePorts['ownToken'] =>
  async (index, get) => {
    const context = [org, upstream.id, String(index)];
    const kept = (await told('use.token', { index })) as Kept;
    if (kept && 'failed' in kept)
      throw new ApiError(refuse(isCode(kept.failed) ? kept.failed : 'TARGET_REJECTED'));
    const opened = kept && decrypt(value, 'upstream token', context, kept.sealed);
    const token = opened && fromUtf8(opened);
    if (token) return token;
    try {
      const got = await get();
      const sealed = encrypt(value, 'upstream token', context, utf8(got.token));
      await told('use.keep_token', { index, got: { sealed, until: got.expires_at } });
      return got.token;
    } catch (error) {
      const failed = error instanceof ApiError ? error.refusal.code : 'TARGET_UNREACHABLE';
      await told('use.keep_token', { index, got: { failed } }).catch(() => {});
      throw error;
    }
  };
