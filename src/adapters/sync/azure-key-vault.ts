// Azure Key Vault: https://learn.microsoft.com/rest/api/keyvault/secrets/operation-groups. Names are
// case-insensitive. Each write creates a version, so the newest is read first. A deleted secret keeps its
// name and is recovered before it is written.
import { z } from '@hono/zod-openapi';
import { KB, type Problem, type Remote, Segment, syncAdapter, TargetError, tooLarge } from './adapter';
import type { Call, Reply } from './call';
import { paging } from './listing';
import { replaced } from './names';
import { accessToken, authorized } from './oauth';
import { path, shaped } from './shapes';

const VERSION = 'api-version=7.4';
const MOST = 25 * KB;

const Config = z.strictObject({
  tenantId: Segment,
  clientId: Segment,
  clientSecret: z.string().min(1).max(4096),
  vaultUrl: z
    .string()
    .toLowerCase()
    .regex(
      /^https:\/\/[a-z][a-z0-9-]{1,22}[a-z0-9]\.vault\.azure\.net$/,
      'must be like https://NAME.vault.azure.net',
    ),
});

const Item = z.object({
  id: z.string().regex(/\/secrets\/[A-Za-z0-9-]+(\/[a-z0-9]+)?$/),
  contentType: z.string().nullish(),
  tags: z.record(z.string(), z.string()).nullish(),
  managed: z.boolean().nullish(),
});
const Page = z.object({ value: z.array(Item), nextLink: z.string().nullish() });
const Bundle = z.object({ value: z.string() });

/** Properties that a new version would lose: stored with the plan, as JSON. */
const Kept = z.object({
  contentType: z.string().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  certificate: z.boolean().optional(),
});

export const azureKeyVault = syncAdapter({
  platform: 'azure-key-vault',
  config: Config,
  credentials: ['clientSecret'],
  urls: ({ vaultUrl }) => [{ field: 'vaultUrl', url: vaultUrl }],
  name: (name) => replaced(name, /[^A-Za-z0-9-]/gu, '-', 127),
  folds: true,
  value: (value) => tooLarge(value, MOST),
  redeploy: false,
  vendor: () => ({ code: codeOf }),
  open(client, { tenantId, clientId, clientSecret, vaultUrl }) {
    const tokens = `https://login.microsoftonline.com/${path(tenantId)}/oauth2/v2.0/token`;
    const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const call = authorized(client, () =>
      accessToken(client, tokens, { ...grant, scope: 'https://vault.azure.net/.default' }),
    );
    const urlOf = (target: string) => `${vaultUrl}/secrets/${path(target)}?${VERSION}`;
    const get = (target: string, more: Partial<Call> = {}): Call => ({
      method: 'GET',
      url: urlOf(target),
      purpose: 'write',
      ...more,
    });
    const newest = (target: string) => get(target, { expects: [404, 'SecretDisabled'] });
    const set = (target: string, value: string, kept: object, expects: string[]) =>
      call({
        method: 'PUT',
        url: urlOf(target),
        json: { value, ...kept },
        expects,
        pending: ['ObjectIsBeingDeleted', 'ObjectIsBeingRecovered'],
        settle: { call: newest(target), done: (reply) => valueIn(reply) === value },
      });
    return {
      async list() {
        const found: Remote[] = [];
        const follow = paging();
        for (let url: string | null = `${vaultUrl}/secrets?${VERSION}&maxresults=25`; url !== null; ) {
          const page: z.infer<typeof Page> = shaped(Page, (await call({ method: 'GET', url })).body);
          found.push(...page.value.map(remoteOf));
          url = page.nextLink ? client.next(page.nextLink, url) : null;
          if (url) follow(url, page.value.length);
        }
        return found;
      },
      async read({ target }) {
        return valueIn(await call(newest(target)));
      },
      async put({ target, value, remote }) {
        const { certificate, ...kept } = Kept.parse(JSON.parse(remote?.handle ?? '{}'));
        // safety: sync-certificates-kept
        if (certificate) throw new TargetError(CERTIFICATE, 'name');
        const { code } = await set(target, value, kept, ['ObjectIsDeletedButRecoverable']);
        if (code === null) return { action: remote ? 'updated' : 'created' };
        await call({
          method: 'POST',
          url: `${vaultUrl}/deletedsecrets/${path(target)}/recover?${VERSION}`,
          expects: [404, 409],
        });
        // It becomes available after some seconds.
        const recovered = await call(get(target, { expects: ['SecretDisabled'], pending: [404] }));
        const found = recovered.code === null ? kindOf(shaped(Item, recovered.body)) : {};
        if (found.certificate) throw new TargetError(CERTIFICATE, 'name');
        await set(target, value, found, []);
        return { action: 'updated' };
      },
      async remove({ target, remote }) {
        // safety: sync-certificates-not-deleted
        if (Kept.parse(JSON.parse(remote.handle ?? '{}')).certificate)
          throw new TargetError(CERTIFICATE, 'name');
        await call({ method: 'DELETE', url: urlOf(target), expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

const CERTIFICATE: Problem = {
  code: 'TARGET_REJECTED',
  message: 'The name belongs to a certificate at the target.',
};

const CERTIFICATE_TYPES = ['application/x-pkcs12', 'application/x-pem-file'];

function remoteOf(item: z.infer<typeof Item>): Remote {
  const handle = JSON.stringify(kindOf(item));
  return { target: /\/secrets\/([^/]+)/.exec(item.id)?.[1] as string, ...(handle !== '{}' && { handle }) };
}

function kindOf({ managed, contentType, tags }: z.infer<typeof Item>): z.infer<typeof Kept> {
  if (managed || CERTIFICATE_TYPES.includes(contentType ?? '')) return { certificate: true };
  return { ...(contentType && { contentType }), ...(tags && { tags }) };
}

/** The error's reason if there is one, otherwise its code; or a token endpoint's. */
function codeOf(body: unknown): unknown {
  const error = (body as { error?: unknown } | undefined | null)?.error;
  if (typeof error !== 'object' || error === null) return error;
  const { code, innererror } = error as { code?: unknown; innererror?: { code?: unknown } | null };
  return innererror?.code ?? code;
}

/** The text of the newest version; null if there is none or it is disabled. */
const valueIn = ({ status, body }: Reply): string | null =>
  status === 200 ? shaped(Bundle, body).value : null;
