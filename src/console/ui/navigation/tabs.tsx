import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

export interface Tab {
  readonly id: string;
  readonly label: ReactNode;
  readonly content: ReactNode;
  /** Stays while another is shown: for what somebody types. */
  readonly isKept?: boolean;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onChange: (id: string) => void;
}

/** Views of one thing, of which one is shown. */
export function Tabs({ label, tabs, value, onChange }: TabsProps) {
  return (
    <Base.Root value={value} onValueChange={(id) => onChange(String(id))} className="grid gap-4">
      <Base.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.id}
            value={tab.id}
            className="min-h-(--control) shrink-0 border-b-2 border-transparent px-3 text-muted outline-offset-[-2px] hover:text-text data-[active]:border-accent data-[active]:font-medium data-[active]:text-text"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel
          key={tab.id}
          value={tab.id}
          keepMounted={tab.isKept ?? false}
          className="min-w-0"
        >
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
