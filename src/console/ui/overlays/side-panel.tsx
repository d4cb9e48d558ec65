import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "../buttons/icon-button.tsx";
import { useKeys } from "../use-keys.ts";

interface SidePanelProps {
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** What tells one panel from the next: a change moves the focus to its head. */
  readonly of: string;
}

/** The open row beside its table; the whole screen on small ones. The table stays usable, so it is no dialog. */
export function SidePanel({ title, onClose, children, of }: SidePanelProps) {
  const id = useId();
  const head = useRef<HTMLHeadingElement>(null);
  useKeys([{ keys: "Escape", label: "Close the panel", run: onClose }]);
  useEffect(() => {
    // With j and k the focus stays in the table.
    const isInTable = document.activeElement?.closest("[data-rows]") != null;
    if (of !== "" && !isInTable) head.current?.focus();
  }, [of]);
  return (
    <section
      aria-labelledby={id}
      className="fixed inset-0 z-20 overflow-y-auto bg-surface md:static md:z-auto md:w-[26rem] md:shrink-0 md:rounded-lg md:border md:border-line"
    >
      <div className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-surface px-4 py-2">
        <h2 id={id} ref={head} tabIndex={-1} className="min-w-0 flex-1 truncate text-lg">
          {title}
        </h2>
        <IconButton icon={X} label="Close the panel" isPlain onClick={onClose} />
      </div>
      <div className="grid gap-6 p-4">{children}</div>
    </section>
  );
}
