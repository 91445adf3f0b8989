// The main button of a list page, which creates an item. The `n` key and the command palette do the same.
import { type LucideIcon, Plus } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { Button } from './button';
import { useMaker } from './shortcuts';

interface MakeButtonProps {
  onMake: () => void;
  icon?: LucideIcon;
  kind?: 'primary' | 'plain';
  children: ComponentChildren;
}

export function MakeButton({ onMake, icon: Icon = Plus, kind = 'primary', children }: MakeButtonProps) {
  useMaker(onMake);
  return (
    <Button kind={kind} onPress={onMake}>
      <Icon size={16} aria-hidden="true" /> {children}
    </Button>
  );
}
