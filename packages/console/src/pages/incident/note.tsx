// The dialog that closes an incident, or changes its note; and how to open an incident again.
import { useState } from 'preact/hooks';
import { at, forget, vault } from '../../requests/api';
import { change, summaryOf, useEdit } from '../../requests/seen';
import { Dialog } from '../../ui/dialogs/dialog';
import { TextField } from '../../ui/forms/field';
import { Form, useProblems } from '../../ui/forms/form';
import { tell } from '../../ui/toast';
import type { Incident, IncidentReport } from './data';

type Status = IncidentReport['status'];

export async function openAgain(incident: Incident): Promise<void> {
  await change(incident, (header) =>
    vault().api.PATCH('/orgs/{org_id}/incidents/{id}', {
      ...at(incident.id, header),
      body: { status: 'open' },
    }),
  );
  await forget('incidents');
}

export function NoteDialog({
  incident,
  status,
  onClose,
}: {
  incident: IncidentReport;
  status: Status;
  onClose: () => void;
}) {
  const { draft, setDraft, isSame, changing } = useEdit(summaryOf(incident), ({ note }) => ({
    note: note ?? '',
  }));
  const problems = useProblems();
  const [closes] = useState(status !== incident.status);
  const patch = { ...(closes && { status }), ...(!isSame && { note: draft.note || null }) };
  const save = async () => {
    const { data } = await changing((header) =>
      vault().api.PATCH('/orgs/{org_id}/incidents/{id}', { ...at(incident.id, header), body: patch }),
    );
    await forget('incidents');
    if (closes) tell('Incident closed', undefined, () => openAgain(data));
    else tell('Note saved');
    onClose();
  };
  return (
    <Dialog title={closes ? 'Close the incident' : 'Note'} onClose={onClose} dirty={!isSame}>
      <Form
        action={closes ? 'Close incident' : 'Save note'}
        onSubmit={save}
        onCancel={onClose}
        problems={problems}
        disabled={!Object.keys(patch).length}
      >
        <TextField
          label="Note"
          optional
          value={draft.note}
          onValue={(note) => setDraft({ note })}
          error={problems.of('note')}
          maxLength={2048}
          hint="Do not paste values"
        />
      </Form>
    </Dialog>
  );
}
