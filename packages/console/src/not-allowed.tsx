// What stands in place of a page that a role does not open: what is needed, and who can give it. Invariant: nothing is asked of the service
// that it is bound to refuse.
import { may } from './may';
import { me } from './session';
import { Empty, PageHead } from './ui/parts';

/** Whether the role of the member who is signed in opens what needs a scope. */
export const isOpen = (needs: string | undefined): boolean => !needs || may(needs);

export const askSomebody = 'Ask an owner or an administrator of your organisation to change your role.';

export function NotAllowed({ title, needs }: { title: string; needs: string }) {
  return (
    <>
      <PageHead title={title} />
      <Empty title="Your role does not open this page">
        You are signed in as {me.value?.role}. This page needs the permission <code>{needs}</code>. {askSomebody}
      </Empty>
    </>
  );
}
