// The secret that a path of KV version 2 names, and what an answer says of a version of it.
import { isSecretName } from '../../db/names';
import type { Absent, VersionShown } from '../../domains/secrets/gate/paths';
import type { Context } from '../../http/context';
import type { Input } from '../../http/route';
import { enveloped, errors } from './answers';
import { sentence } from './body';

export type At = Pick<Input, 'params'>;
export type Params = { mount: string; path: string };

/** The secret of a path. A text that is no name of ours names only its environment, and is refused later. */
export const at = ({ params }: At) => {
  const { mount, path } = params as Params;
  return { environment: mount, ...(isSecretName(path) && { name: path }) };
};
export const mount = ({ params }: At) => ({ environment: (params as Params).mount });

/** Throws 400 for a path that is no name of ours. */
export function mustBeName({ params }: At): void {
  if (!isSecretName((params as Params).path))
    throw sentence(
      'the path must have 1 to 255 characters: letters, digits, _ . / - and must start with a letter, a digit or _',
    );
}

/** The metadata of a version. */
export const versionData = ({ version, created_at, deleted_at, tags }: VersionShown) => ({
  version,
  created_time: created_at,
  deletion_time: deleted_at ?? '',
  destroyed: false,
  custom_metadata: Object.keys(tags).length ? tags : null,
});

export const answered = (context: Context, data: object, status = 200) =>
  enveloped(context.request, { data: JSON.stringify(data), status });

/** 404: of what was deleted, its metadata stay visible. */
export const gone = ({ gone }: Absent, context: Context) =>
  gone ? answered(context, { data: null, metadata: versionData(gone) }, 404) : errors(404);
