// svc init --worker: binds the Worker of a directory to the vault.
import path from 'node:path';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { pages } from './secrets/lookup.ts';
import { writeForeign } from './settings/files.ts';
import { clean } from './text.ts';
import { type Binding, withBindings, workerConfig } from './worker-config.ts';

/** The issuer of trusts for Workers that are bound to the vault. */
export const BINDING = 'cloudflare:service-binding';
/** The name of the vault's Worker where the vault does not tell it. */
export const SERVICE = 'secrets-vault-service';

export interface WorkerOptions {
  trust?: string;
  service?: string;
  upstream?: string[];
}

interface Trust {
  id: string;
  issuer: string;
  claims: Record<string, string | string[]>;
  /** The name of the vault's Worker. */
  service?: string;
}

/** Whether a trust takes a name, as far as this needs no pattern but one that ends with *. */
const takes = ({ issuer, claims }: Trust, name: string): boolean =>
  issuer === BINDING &&
  [claims.name ?? []]
    .flat()
    .some((glob) => glob === name || (/^[^*?]+\*$/.test(glob) && name.startsWith(glob.slice(0, -1))));

/** The trust that the Worker acts by: the one that is named, else the one that takes it. */
async function trustFor(
  context: Context,
  name: string,
  id: string | undefined,
): Promise<Pick<Trust, 'id' | 'service'>> {
  const { vault, org_id } = await context.vault();
  if (id !== undefined) {
    const params = { path: { org_id, id } };
    // A caller that may not see trusts can name one.
    const { data } = await vault.api
      .GET('/orgs/{org_id}/trusts/{id}', { params })
      .catch((error: { status?: number }) => {
        if (error.status !== 403 && error.status !== 404) throw error;
        return { data: { id } };
      });
    return data;
  }
  const trusts = await pages(Number.POSITIVE_INFINITY, async (limit, cursor) => {
    const { data } = await vault.api.GET('/orgs/{org_id}/trusts', {
      params: { path: { org_id }, query: { limit, cursor } },
    });
    return data;
  });
  const [trust, other] = trusts.filter((each) => takes(each, name));
  if (trust && !other) return trust;
  throw new CliError(
    trust ? `Several trusts take the Worker ${clean(name)}.` : `No trust takes the Worker ${clean(name)}.`,
    {
      exit: trust ? 'conflict' : 'notFound',
      code: 'TRUST_NEEDED',
      next: trust
        ? 'Choose one with --trust; svc trust list shows them'
        : `Create one: svc trust create ${name} --worker ${name} --scopes secrets:read`,
    },
  );
}

/** A name of a binding for an upstream, such as STRIPE. */
const bindingName = (upstream: string) => upstream.toUpperCase().replace(/-/g, '_');

/** Writes the bindings into the configuration of the Worker in this directory. */
export async function initWorker(
  context: Context,
  { trust, service: chosen, upstream = [] }: WorkerOptions,
): Promise<number> {
  const config = workerConfig(context.host.cwd);
  const { org_id } = await context.vault();
  const { id, service: told = SERVICE } = await trustFor(context, config.name, trust);
  const service = chosen ?? told;
  const props = { org: org_id, trust: id, name: config.name };
  const bindings: Binding[] = [
    { binding: 'VAULT', service, entrypoint: 'Vault', props },
    ...upstream.map((name): Binding => {
      return {
        binding: bindingName(name),
        service,
        entrypoint: 'Upstream',
        props: { ...props, upstream: name },
      };
    }),
  ];
  writeForeign(config.file, withBindings(config, bindings));
  const names = bindings.map(({ binding }) => `env.${binding}`).join(', ');
  context.out.result({ file: config.file, bindings }, () => {
    context.out.success(`Wrote ${names} to ${path.basename(config.file)}. Nothing in it is a secret.`);
    context.out.note(
      'Environments of wrangler do not inherit services: copy them where you use one. Run npx wrangler types for the types',
    );
  });
  return 0;
}
