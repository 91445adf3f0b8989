// The environments: create, rename, delete. Invariant: the slug that programs use never changes.
import { Plus } from 'lucide-preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { defaultEnvironment, type Environment, environments } from '../../organisation/environments';
import { at, forget, here, vault } from '../../requests/api';
import { change, useEdit } from '../../requests/seen';
import { may, mayEverywhere } from '../../session/may';
import { Button } from '../../ui/controls/button';
import { Menu } from '../../ui/controls/menu';
import { useMaker } from '../../ui/controls/shortcuts';
import { Confirm } from '../../ui/dialogs/confirm';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { Table } from '../../ui/lists/table';
import { Badge, Empty } from '../../ui/parts';
import { tell } from '../../ui/toast';

const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63);

function NewEnvironment({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [slug, setSlug] = useState<string | null>(null);
  const problems = useProblems();
  const shown = slug ?? slugOf(name);
  const create = async () => {
    await vault().api.POST('/orgs/{org_id}/environments', {
      params: { path: here() },
      body: { name, ...(shown && { slug: shown }) },
    });
    await forget('environments');
    tell(`${name} created`);
    onClose();
  };
  return (
    <Dialog
      title="New environment"
      lead="A separate set of secrets, such as staging."
      onClose={onClose}
      dirty={name !== ''}
    >
      <Form action="Create environment" onSubmit={create} onCancel={onClose} problems={problems}>
        <TextField
          label="Name"
          value={name}
          onValue={setName}
          error={problems.of('name')}
          required
          maxLength={255}
        />
        <TextField
          label="Slug"
          class="mono"
          spellcheck={false}
          value={shown}
          onValue={setSlug}
          error={problems.of('slug')}
          hint="The name that programs use. It cannot be changed later."
        />
      </Form>
    </Dialog>
  );
}

function Rename({ environment, onClose }: { environment: Environment; onClose: () => void }) {
  const { draft, setDraft, isSame, changing } = useEdit(environment, ({ name }) => ({ name }));
  const { name } = draft;
  const problems = useProblems();
  const save = async () => {
    await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/environments/{id}', { ...at(environment.id, header), body: draft }),
    );
    await forget('environments');
    tell(`Renamed to ${name}`);
    onClose();
  };
  return (
    <Dialog
      title={`Rename ${environment.name}`}
      lead={`Programs keep using the slug ${environment.slug}.`}
      onClose={onClose}
    >
      <Form
        action="Rename environment"
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={isSame}
      >
        <TextField
          label="Name"
          value={name}
          onValue={(text) => setDraft({ name: text })}
          error={problems.of('name')}
          required
          maxLength={255}
        />
      </Form>
    </Dialog>
  );
}

type Doing = { kind: 'new' } | { kind: 'rename' | 'delete'; environment: Environment } | null;

function Doings({ doing, end }: { doing: Doing; end: () => void }) {
  if (!doing) return null;
  if (doing.kind === 'new') return <NewEnvironment onClose={end} />;
  const { environment } = doing;
  if (doing.kind === 'rename') return <Rename environment={environment} onClose={end} />;
  const remove = async () => {
    await change(environment, (header) =>
      vault().api.DELETE('/orgs/{org_id}/environments/{id}', at(environment.id, header)),
    );
    await forget('environments');
    tell(`${environment.name} deleted`);
  };
  return (
    <Confirm
      title={`Delete ${environment.name}?`}
      action="Delete environment"
      onConfirm={remove}
      onClose={end}
    >
      <p>
        Programs that ask for <strong class="mono">{environment.slug}</strong> will fail. An environment with
        secrets, including deleted ones that can still be restored, cannot be deleted.
      </p>
    </Confirm>
  );
}

export function Environments() {
  const [doing, setDoing] = useState<Doing>(null);
  useMaker(() => setDoing({ kind: 'new' }), mayEverywhere('environments:write'));
  return (
    <div class="stack">
      <div class="section-head">
        <p class="dim grow">
          Each environment has its own secrets. Credentials can be limited to some environments.
        </p>
        {mayEverywhere('environments:write') && (
          <Button kind="primary" onPress={() => setDoing({ kind: 'new' })}>
            <Plus size={16} aria-hidden="true" /> New environment
          </Button>
        )}
      </div>
      <Table<Environment>
        label="Environments"
        rows={environments.value}
        keyOf={({ id }) => id}
        columns={[
          {
            label: 'Name',
            width: 'minmax(10rem, 2fr)',
            cell: ({ name, slug }) => (
              <Link href={`/secrets?environment=${slug}`} class="row-link">
                <span class="truncate">{name}</span>
              </Link>
            ),
          },
          {
            label: 'Slug',
            width: 'minmax(8rem, 1fr)',
            cell: ({ slug }) => <span class="mono dim truncate">{slug}</span>,
          },
          {
            label: 'Default',
            width: '7rem',
            wide: true,
            cell: ({ slug }) =>
              slug === defaultEnvironment.value ? <Badge tone="accent">default</Badge> : null,
          },
        ]}
        actions={
          may('environments:write')
            ? (environment) => (
                <Menu
                  label={`Actions for ${environment.name}`}
                  actions={[
                    { label: 'Rename', onSelect: () => setDoing({ kind: 'rename', environment }) },
                    mayEverywhere('environments:write') &&
                      environment.slug !== defaultEnvironment.value && {
                        label: 'Delete',
                        danger: true,
                        onSelect: () => setDoing({ kind: 'delete', environment }),
                      },
                  ]}
                />
              )
            : undefined
        }
        empty={<Empty title="No environments">Create one to store secrets in it.</Empty>}
      />
      <Doings doing={doing} end={() => setDoing(null)} />
    </div>
  );
}
