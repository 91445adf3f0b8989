// Google Cloud Secret Manager: https://cloud.google.com/secret-manager/docs/reference/rest. Each write
// creates a version that costs money, so the newest version is read first. One access token per sync:
// https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests.
import { z } from '@hono/zod-openapi';
import { importPKCS8, SignJWT } from 'jose';
import { fromBase64, fromUtf8, toBase64, utf8 } from '../../crypto/bytes';
import { crc32c } from '../crc32c';
import { empty, KB, type Remote, Segment, syncAdapter, TargetError, tooLarge, Url } from './adapter';
import type { Call, Reply } from './call';
import type { Client } from './client';
import { paging } from './listing';
import { replaced } from './names';
import { accessToken, authorized } from './oauth';
import { path, shaped } from './shapes';
import { SKEWED_CLOCK, unreadable } from './target-error';

const API = 'https://secretmanager.googleapis.com/v1';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const MOST = 64 * KB;

// ---------------------------------------------------------------- config

const Key = z.looseObject({
  project_id: Segment,
  private_key_id: z.string().max(255).optional(),
  private_key: z.string().max(16_384).startsWith('-----BEGIN PRIVATE KEY-----'),
  client_email: z.string().min(1).max(320),
  // Unchanged: a parser would drop or change characters, and the audience of an assertion is exactly this
  // text.
  token_uri: Url,
});

type Key = z.infer<typeof Key>;

function keyOf(given: unknown): Key | null {
  try {
    return Key.parse(typeof given === 'string' ? JSON.parse(given) : given);
  } catch {
    return null;
  }
}

const Config = z
  .strictObject({
    serviceAccountJson: z
      .union([z.string().max(32_768), z.looseObject({})])
      .refine((given) => keyOf(given) !== null, 'must be the JSON key file of a service account'),
    projectId: Segment.optional(),
  })
  // Filled in, so that it identifies the target regardless of later keys.
  .overwrite((config) => ({
    ...config,
    projectId: config.projectId ?? keyOf(config.serviceAccountJson)?.project_id,
  }));

// ---------------------------------------------------------------- adapter

const Page = z.strictObject({
  // An empty list is omitted.
  secrets: z.array(z.object({ name: z.string().regex(/\/secrets\/[^/]+$/) })).optional(),
  nextPageToken: z.string().optional(),
  totalSize: z.number().optional(),
});
const Version = z.object({
  payload: z.object({
    data: z.string().optional(),
    dataCrc32c: z.union([z.string(), z.number()]).optional(),
  }),
});

export const gcpSecretManager = syncAdapter({
  platform: 'gcp-secret-manager',
  config: Config,
  credentials: ['serviceAccountJson'],
  urls: ({ serviceAccountJson }) => [
    { field: 'serviceAccountJson', url: (keyOf(serviceAccountJson) as Key).token_uri },
  ],
  name: (name) => replaced(name, /[^A-Za-z0-9_-]/gu, '_', 255),
  value: (value) => empty(value) ?? tooLarge(value, MOST),
  redeploy: false,
  vendor: () => ({ code: codeOf, advice: (reply) => (isSkewed(reply) ? SKEWED_CLOCK : null) }),
  open(client, { serviceAccountJson, projectId }) {
    const secrets = `${API}/projects/${path(projectId as string)}/secrets`;
    const call = authorized(client, () => tokenOf(client, keyOf(serviceAccountJson) as Key));
    const newest = (id: string): Call => ({
      method: 'GET',
      url: `${secrets}/${path(id)}/versions/latest:access`,
      purpose: 'write',
      // There is no version, or it is disabled or destroyed.
      expects: [404, 'FAILED_PRECONDITION'],
    });
    const addVersion = async (id: string, value: string, expects: number[]) => {
      const bytes = utf8(value);
      const payload = { data: toBase64(bytes), dataCrc32c: checksum(bytes) };
      const settle = { call: newest(id), done: (reply: Reply) => valueIn(reply) === value };
      return call({
        method: 'POST',
        url: `${secrets}/${path(id)}:addVersion`,
        json: { payload },
        expects,
        settle,
      });
    };
    const create = (id: string) =>
      call({
        method: 'POST',
        url: `${secrets}?secretId=${path(id)}`,
        json: { replication: { automatic: {} } },
        expects: [409],
      });
    return {
      async list() {
        const found: Remote[] = [];
        const follow = paging();
        for (let page: string | null = ''; page !== null; ) {
          const query: string = page ? `&pageToken=${encodeURIComponent(page)}` : '';
          const read = shaped(
            Page,
            (await call({ method: 'GET', url: `${secrets}?pageSize=1000${query}` })).body,
          );
          // The name begins with the project's number.
          for (const { name } of read.secrets ?? []) found.push({ target: name.replace(/^.*\//, '') });
          page = read.nextPageToken || null;
          if (page) follow(page, read.secrets?.length ?? 0);
        }
        return found;
      },
      async read({ target }) {
        return valueIn(await call(newest(target)));
      },
      async put({ target, value, remote }) {
        const isThere = remote !== null && (await addVersion(target, value, [404])).status !== 404;
        if (isThere) return { action: 'updated' };
        const { status } = await create(target);
        await addVersion(target, value, []);
        return { action: status === 409 ? 'updated' : 'created' };
      },
      async remove({ target }) {
        await call({ method: 'DELETE', url: `${secrets}/${path(target)}`, expects: [404] });
        return { action: 'deleted' };
      },
    };
  },
});

/** The API's errors, and those of the token endpoint. */
function codeOf(body: unknown): unknown {
  const error = (body as { error?: unknown } | undefined | null)?.error;
  return typeof error === 'object' && error !== null ? (error as { status?: unknown }).status : error;
}

/** Whether Google refuses an assertion for its times, which it reports like any other invalid assertion. */
const isSkewed = ({ code, body }: Reply): boolean =>
  code === 'invalid_grant' &&
  /\biat and exp\b/.test(String((body as { error_description?: unknown }).error_description ?? ''));

const checksum = (bytes: Uint8Array): string => String(crc32c(bytes));

/** The text of a version; null if there is none, or its bytes are not text. */
function valueIn({ status, body }: Reply): string | null {
  if (status !== 200) return null;
  const { data = '', dataCrc32c } = shaped(Version, body).payload;
  const bytes = fromBase64(data);
  if (!bytes || (dataCrc32c !== undefined && String(dataCrc32c) !== checksum(bytes))) throw unreadable();
  return fromUtf8(bytes);
}

// ---------------------------------------------------------------- access token

async function tokenOf(client: Client, key: Key): Promise<string> {
  const assertion = await assertionOf(key).catch(() => {
    throw new TargetError(
      { code: 'TARGET_AUTH', message: 'The private key of the service account cannot be read.' },
      'sync',
    );
  });
  return accessToken(client, key.token_uri, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion,
  });
}

async function assertionOf({ private_key, private_key_id, client_email, token_uri }: Key): Promise<string> {
  const signer = await importPKCS8(private_key, 'RS256');
  return new SignJWT({ scope: SCOPE })
    .setProtectedHeader({
      alg: 'RS256',
      typ: 'JWT',
      ...(private_key_id !== undefined && { kid: private_key_id }),
    })
    .setIssuer(client_email)
    .setAudience(token_uri)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(signer);
}
