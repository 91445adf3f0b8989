// The addresses of this service to register at an identity provider.
import { Button } from '../../ui/controls/button';
import { Dialog } from '../../ui/dialogs/dialog';
import type { Connection } from './kinds';
import { Part } from './part';

/** Each with its label, as providers call it. */
function addressesOf({ id, redirect_uri, acs_url, entity_id }: Connection): [string, string][] {
  return redirect_uri
    ? [
        ['Redirect URI', redirect_uri],
        ['Back-channel logout URL', new URL(`/sso/${id}/logout`, redirect_uri).href],
      ]
    : [
        ['ACS URL', acs_url ?? ''],
        ['Entity ID and metadata URL', entity_id ?? ''],
      ];
}

export function Addresses({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  return (
    <Dialog
      title={`Register at ${connection.name}`}
      lead="Your identity provider needs these addresses of this service."
      onClose={onClose}
    >
      <div class="stack">
        {addressesOf(connection).map(([label, text]) => (
          <Part key={label} label={label} text={text} />
        ))}
      </div>
      <footer class="dialog-foot">
        <Button kind="primary" onPress={onClose}>
          Done
        </Button>
      </footer>
    </Dialog>
  );
}
