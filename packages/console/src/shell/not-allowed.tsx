// Shown instead of a page that the member's role cannot open: the missing permission, and who can grant it.
// Invariant: no request is sent that the service would refuse.
import { mayAll } from '../session/may';
import { me } from '../session/session';
import { Empty, PageHead } from '../ui/parts';

/** Whether the signed-in member's role can open a page that needs a scope. */
export const isOpen = (needs: string | undefined): boolean => !needs || mayAll(needs);

export const askSomebody = 'Ask an owner or admin of your organisation to change your role.';

export function NotAllowed({ title, needs }: { title: string; needs: string }) {
  return (
    <>
      <PageHead title={title} />
      <Empty title="You do not have access to this page">
        Your role is {me.value?.role}. This page requires the permission <code>{needs}</code>. {askSomebody}
      </Empty>
    </>
  );
}
