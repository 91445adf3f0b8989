// Upstreams as pages show them, and their fields as text. The service validates the fields.
import type { components } from '@secrets-vault/client';

export type Upstream = components['schemas']['Upstream'];
/** What a list shows: a caller without `upstreams:read` gets no more than what is required here. */
export type Shown = Pick<Upstream, 'id' | 'name' | 'base_url' | 'allow'> & Partial<Upstream>;
export type Fields = Pick<Upstream, 'base_url' | 'auth' | 'allow'>;

export const fieldsOf = ({ base_url, auth, allow }: Fields): Fields => ({ base_url, auth, allow });

export const textOf = (fields: Fields): string => JSON.stringify(fields, null, 2);

/** The fields of a text; undefined if it is no JSON object. */
export function parsed(text: string): Fields | undefined {
  try {
    const fields: unknown = JSON.parse(text);
    return fields && typeof fields === 'object' && !Array.isArray(fields) ? (fields as Fields) : undefined;
  } catch {
    return undefined;
  }
}
