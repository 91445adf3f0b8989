// Actions on several secrets of an environment: edit, delete, restore, export. Invariants: what will
// happen is said for each name before it happens; secrets are changed one after the other, until the
// dialog is left, so after a failure or a closed tab each is either changed or as it was.
import { ApprovalRequiredError } from '@secrets-vault/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { ChangedError, wordsOf } from '../../changes/changed-error';
import { counted } from '../../counted';
import { at, forget, vault } from '../../requests/api';
import { change } from '../../requests/seen';
import { may } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Confirm } from '../../ui/dialogs/confirm';
import { type Run, useStop } from '../../ui/dialogs/stop';
import type { Choosing } from '../../ui/lists/table';
import { report, tell, warn } from '../../ui/toast';
import { Affected } from './affected';
import { EditSeveral, Names } from './bulk-edit';
import type { Row, Secret } from './secret';

/** Each is a request, and a session has 600 a minute. */
const MOST = 100;

/** The chosen secrets of a list. With other filters, nothing is chosen. */
export function useChosen(list: string) {
  const [kept, setKept] = useState<{ list: string; chosen: ReadonlyMap<string, Secret> }>({
    list,
    chosen: new Map(),
  });
  const chosen: ReadonlyMap<string, Secret> = kept.list === list ? kept.chosen : new Map();
  const choosing: Choosing<Row> = {
    nameOf: ({ secret }) => secret?.name ?? null,
    isChosen: ({ secret }) => secret !== undefined && chosen.has(secret.id),
    choose: (rows, isChosen) => {
      const next = new Map(chosen);
      for (const { secret } of rows) {
        if (secret && isChosen) next.set(secret.id, secret);
        else if (secret) next.delete(secret.id);
      }
      setKept({ list, chosen: next });
    },
  };
  return {
    chosen: [...chosen.values()],
    choosing,
    keep: (rest: Secret[]) => setKept({ list, chosen: new Map(rest.map((one) => [one.id, one])) }),
  };
}

const remove = (secret: Secret) =>
  change(secret, (header) => vault().api.DELETE('/orgs/{org_id}/secrets/{id}', at(secret.id, header)));
const restore = (secret: Secret) => vault().api.POST('/orgs/{org_id}/secrets/{id}/restore', at(secret.id));

/** As many as are shown at a time. The rest is told when this is repeated. */
const MOST_TOLD = 3;

/**
 * Tells what somebody else changed. Repeated, the change is made to the state that was told, so the rest
 * stays refused.
 */
function tellChanged(changed: [Secret, ChangedError][]): void {
  for (const [{ name }, { differences, accept }] of changed.slice(0, MOST_TOLD)) {
    warn(`Someone else changed ${name}`, `${wordsOf(differences)}. Repeat this for its current state.`);
    accept();
  }
}

/** Changes secrets one after the other. Returns those that were not changed, and tells how many were. */
async function each(
  secrets: Secret[],
  act: (secret: Secret) => Promise<unknown>,
  done: string,
  run: Run,
): Promise<Secret[]> {
  const failed: Secret[] = [];
  const errors: unknown[] = [];
  const changed: [Secret, ChangedError][] = [];
  for (const secret of secrets)
    if (run.isStopped) failed.push(secret);
    else
      await act(secret).catch((error) => {
        failed.push(secret);
        if (error instanceof ChangedError) changed.push([secret, error]);
        else errors.push(error);
      });
  await forget('secrets');
  const count = secrets.length - failed.length;
  const held = errors.filter((error) => error instanceof ApprovalRequiredError).length;
  if (count)
    tell(
      `${counted(count, 'secret')} ${done}`,
      failed.length
        ? `${counted(failed.length, 'secret')} ${failed.length === 1 ? 'was not, and is' : 'were not, and are'} still selected.`
        : undefined,
    );
  if (held > 1) tell(`${counted(held, 'secret')} wait for approval`, 'Repeat this once they are approved.');
  tellChanged(changed);
  const first = errors.find((error) => held < 2 || !(error instanceof ApprovalRequiredError));
  if (first) report(first);
  return failed;
}

interface SelectedProps {
  environment: string;
  chosen: Secret[];
  keep: (rest: Secret[]) => void;
}

/** The bar while secrets are chosen: below the list, so that rows stay under the pointer. */
export function Selected({ environment, chosen, keep }: SelectedProps) {
  const [doing, setDoing] = useState<'edit' | 'delete' | null>(null);
  const [, go] = useLocation();
  const { begin, stop } = useStop();
  if (!chosen.length) return null;
  const isDeleted = chosen.some(({ status }) => status === 'deleted');
  const tooMany = chosen.length > MOST;
  const names = chosen.map(({ name }) => name);
  return (
    <section class="note plain row chosen-bar" aria-label="Selection">
      <p class="grow" role="status">
        {counted(chosen.length, 'secret')} selected
        {tooMany ? `. At most ${MOST} can be changed at a time.` : ''}
      </p>
      <div class="row">
        <Button small kind="quiet" onPress={() => keep([])}>
          Clear
        </Button>
        {!isDeleted && may('integrations:generate', environment) && (
          <Button
            small
            onPress={() => go(`/secrets/export?environment=${environment}`, { state: { names } })}
          >
            Export
          </Button>
        )}
        {!isDeleted && may('secrets:write', environment) && (
          <Button small disabled={tooMany} onPress={() => setDoing('edit')}>
            Edit
          </Button>
        )}
        {may('secrets:delete', environment) &&
          (isDeleted ? (
            <Button
              small
              disabled={tooMany}
              onPress={async () => keep(await each(chosen, restore, 'restored', begin()))}
            >
              Restore
            </Button>
          ) : (
            <Button small kind="danger" disabled={tooMany} onPress={() => setDoing('delete')}>
              Delete
            </Button>
          ))}
      </div>
      {doing === 'edit' && (
        <EditSeveral
          environment={environment}
          secrets={chosen}
          onClose={(rest) => {
            setDoing(null);
            keep(rest);
          }}
        />
      )}
      {doing === 'delete' && (
        <Confirm
          title={`Delete ${counted(chosen.length, 'secret')} in ${environment}?`}
          action={`Delete ${counted(chosen.length, 'secret')}`}
          word={chosen.length > 1 ? environment : undefined}
          onConfirm={async () => keep(await each(chosen, remove, 'deleted', begin()))}
          onClose={() => {
            stop();
            setDoing(null);
          }}
        >
          <p>Programs that read them will fail immediately. You can restore them for 7 days.</p>
          <Names secrets={chosen} />
          <Affected secrets={chosen} outcome="They will fail." />
        </Confirm>
      )}
    </section>
  );
}
