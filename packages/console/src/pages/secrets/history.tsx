// The versions of a secret: their authors, a comparison, and rollback.
import type { components } from '@secrets-vault/client';
import { diffLines } from 'diff';
import { useState } from 'preact/hooks';
import { useDrop } from '../../changes/unsaved';
import { Who } from '../../organisation/people';
import { at, forget, here, useList, vault } from '../../requests/api';
import type { Changing } from '../../requests/seen';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { Badge, ErrorNote, Skeleton, Time } from '../../ui/parts';
import { tell } from '../../ui/toast';
import type { Secret } from './secret';

type Version = components['schemas']['Version'];

/** Its versions, newest first, page by page. */
const useVersions = ({ id }: Secret) =>
  useList<Version>(['secrets', 'one', id, 'versions'], (cursor, signal) =>
    vault().api.GET('/orgs/{org_id}/secrets/{id}/versions', {
      params: { path: { ...here(), id }, query: { limit: 100, cursor } },
      signal,
    }),
  );

const readVersion = async (id: string, version: number): Promise<string> => {
  const { data } = await vault().api.GET('/orgs/{org_id}/secrets/{id}', {
    params: { path: { ...here(), id }, query: { version } },
  });
  return data.value;
};

/**
 * The line-by-line difference between a version and the current one. Both values are in the document while
 * this is open.
 */
function Diff({ before, after }: { before: string; after: string }) {
  return (
    <pre class="diff" tabIndex={0} aria-label="Differences">
      {diffLines(before, after).flatMap((part, index) =>
        part.value
          .replace(/\n$/, '')
          .split('\n')
          .map((line, at) => (
            <span key={`${index}.${at}`} class={part.added ? 'added' : part.removed ? 'removed' : undefined}>
              <span aria-hidden="true">{part.added ? '+ ' : part.removed ? '− ' : '  '}</span>
              {part.added && <span class="unseen">added: </span>}
              {part.removed && <span class="unseen">removed: </span>}
              {line}
              {'\n'}
            </span>
          )),
      )}
    </pre>
  );
}

export function Versions({ secret }: { secret: Secret }) {
  const list = useVersions(secret);
  const [compared, setCompared] = useState<{ version: number; before: string; after: string } | null>(null);
  const [returning, setReturning] = useState<number | null>(null);
  useDrop('read', () => setCompared(null));
  const compare = async (version: number) => {
    const [before, after] = await Promise.all([
      readVersion(secret.id, version),
      readVersion(secret.id, secret.version),
    ]);
    setCompared({ version, before, after });
  };
  const rollBack = async (version: number, changing: Changing) => {
    const { data } = await changing((header) =>
      vault().api.POST('/orgs/{org_id}/secrets/{id}/rollback', {
        ...at(secret.id, header),
        body: { version },
      }),
    );
    await forget('secrets');
    tell(`Version ${data.version} is current, with the value of version ${version}`);
  };
  if (list.error) return <ErrorNote error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Skeleton />;
  return (
    <>
      <ol class="timeline">
        {list.rows.map(({ version, created_at, created_by, current }) => (
          <li key={version}>
            <span class="grow">
              <strong>Version {version}</strong> {current && <Badge tone="good">current</Badge>}
              <span class="dim block small">
                <Time at={created_at} /> by <Who id={created_by} />
              </span>
            </span>
            {!current && (
              <span class="row">
                <Button small onPress={() => compare(version)}>
                  Compare
                </Button>
                <Button small onPress={() => setReturning(version)}>
                  Roll back
                </Button>
              </span>
            )}
          </li>
        ))}
      </ol>
      {list.moreError ? <ErrorNote error={list.moreError} onRetry={list.fetchNextPage} /> : null}
      {list.hasNextPage && !list.moreError && (
        <Button small onPress={async () => void (await list.fetchNextPage())}>
          Show older versions
        </Button>
      )}
      {compared && (
        <Dialog
          wide
          title={`Version ${compared.version} and version ${secret.version}`}
          lead="Both values are read from the vault, and both reads are recorded in the audit log."
          onClose={() => setCompared(null)}
        >
          {compared.before === compared.after ? (
            <p>The two values are the same.</p>
          ) : (
            <Diff before={compared.before} after={compared.after} />
          )}
        </Dialog>
      )}
      {returning !== null && (
        <Confirm
          title={`Roll back to version ${returning}?`}
          action="Roll back"
          resource={secret}
          onConfirm={(changing) => rollBack(returning, changing)}
          onClose={() => setReturning(null)}
        >
          <p>
            Its value becomes version {secret.version + 1} of <strong class="mono">{secret.name}</strong>.
            Version {secret.version} stays in the history.
          </p>
        </Confirm>
      )}
    </>
  );
}
