// Saved views of the list of secrets: an environment, a folder and filters under a name. Invariant: they are
// kept in this browser, for one member of one organisation, and hold only what the address holds.
import { useState } from 'preact/hooks';
import { useLocation, useSearch } from 'wouter-preact';
import { me, org } from '../../session/session';
import { Menu } from '../../ui/controls/menu';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';

interface View {
  name: string;
  query: string;
}

const PARAMETERS = ['environment', 'path', 'search', 'type', 'status'];
const MOST = 20;
const LONGEST = 60;

const keyOf = () => `views ${org.value} ${me.value?.id}`;

const isView = (view: unknown): view is View => {
  const { name, query } = (view ?? {}) as Partial<View>;
  return typeof name === 'string' && typeof query === 'string';
};

/** The stored views; none if somebody else wrote there. */
function stored(): View[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(keyOf()) ?? '[]');
    return Array.isArray(views) ? views.filter(isView).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** What a view keeps of an address. */
const queryOf = (search: string, environment: string): string => {
  const given = new URLSearchParams(search);
  if (!given.get('environment')) given.set('environment', environment);
  return new URLSearchParams(
    PARAMETERS.flatMap((name) => {
      const value = given.get(name);
      return value ? [[name, value]] : [];
    }),
  ).toString();
};

function Save({ onSave, onClose }: { onSave: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState('');
  const problems = useProblems();
  const save = async () => {
    onSave(name.trim());
    // After the browser has submitted the form, which it cannot once it is gone.
    setTimeout(onClose);
  };
  return (
    <Dialog
      title="Save this view"
      lead="The environment, the folder and the filters, in this browser."
      onClose={onClose}
    >
      <Form action="Save view" onSubmit={save} onCancel={onClose} problems={problems} disabled={!name.trim()}>
        <TextField label="Name" required maxLength={LONGEST} value={name} onValue={setName} />
      </Form>
    </Dialog>
  );
}

/** The menu of views. */
export function Views({ environment }: { environment: string }) {
  const [views, setViews] = useState(stored);
  const [saving, setSaving] = useState(false);
  const search = useSearch();
  const [, go] = useLocation();
  const query = queryOf(search, environment);
  const current = views.find((view) => view.query === query);
  // Another tab, or an earlier message, may have changed them since.
  const keep = (next: (views: View[]) => View[]) => {
    const changed = next(stored()).slice(0, MOST);
    localStorage.setItem(keyOf(), JSON.stringify(changed));
    setViews(changed);
  };
  const put = (one: View) => keep((all) => [...all.filter(({ name }) => name !== one.name), one]);
  const remove = (one: View) => {
    keep((all) => all.filter(({ name }) => name !== one.name));
    tell(`View ${one.name} removed`, undefined, async () => put(one));
  };
  return (
    <>
      <Menu
        label="Views"
        actions={[
          ...views.map((view) => ({
            label: view.name,
            isCurrent: view === current,
            onSelect: () => go(`/secrets?${view.query}`),
          })),
          !current && views.length < MOST && { label: 'Save this view', onSelect: () => setSaving(true) },
          current && { label: `Remove ${current.name}`, danger: true, onSelect: () => remove(current) },
        ]}
      >
        {current?.name ?? 'Views'}
      </Menu>
      {saving && <Save onSave={(name) => put({ name, query })} onClose={() => setSaving(false)} />}
    </>
  );
}
