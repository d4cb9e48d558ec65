import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef } from "react";
import { IconButton } from "../buttons/icon-button.tsx";
import { useKeys } from "../use-keys.ts";
import { COVERED } from "../use-media.ts";

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
  const panel = useRef<HTMLElement>(null);
  const head = useRef<HTMLHeadingElement>(null);
  useKeys([{ keys: "Escape", label: "Close the panel", run: onClose }]);
  useEffect(() => {
    // With j and k the focus stays in the table, as long as that is seen.
    const isCovered = window.matchMedia(COVERED).matches;
    if (of !== "" && (isCovered || !isInRows(document.activeElement))) head.current?.focus();
  }, [of]);
  useLayoutEffect(() => {
    const shown = panel.current;
    const opener = document.activeElement;
    return () => {
      if (shown?.contains(document.activeElement)) queueMicrotask(() => focusAgain(opener));
    };
  }, []);
  return (
    <section
      ref={panel}
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

function isInRows(element: Element | null): boolean {
  return element?.closest("[data-rows]") != null;
}

/** Returns the focus from a panel that is gone to what opened it; in a table that is the row where j and k have come. */
function focusAgain(opener: Element | null): void {
  const { activeElement, body } = document;
  // Another panel or a dialog may have it already.
  if (activeElement !== body) return;
  const isPlace = opener !== body && opener?.isConnected && !isInRows(opener);
  const row = document.querySelector("[data-rows] [data-open][tabindex='0']");
  ((isPlace ? opener : row) as HTMLElement | null)?.focus();
}
