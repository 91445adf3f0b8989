// The question before a page is left with something unsaved. Invariant: the first button keeps everything.
import { leave, question } from '../../navigation/guard';
import { Button } from '../controls/button';
import { Dialog } from './dialog';

export function Leaving() {
  if (!question.value) return null;
  const stay = () => {
    question.value = null;
  };
  return (
    <Dialog title="Leave this page?" onClose={stay}>
      <p>{question.value.lost}</p>
      <footer class="dialog-foot">
        <Button onPress={stay}>Stay</Button>
        <Button kind="danger" onPress={leave}>
          Leave
        </Button>
      </footer>
    </Dialog>
  );
}
