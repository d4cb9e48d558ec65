import type { ReactNode } from "react";
import { CopyButton } from "../buttons/copy-button.tsx";
import { classes } from "../classes.ts";

interface CodeBlockProps {
  readonly text: string;
  /** What it is: "The command". */
  readonly label: string;
  /** Breaks long lines, for texts that are read rather than pasted. */
  readonly isWrapped?: boolean;
  /** The same text with colours, where something gives them. */
  readonly children?: ReactNode;
}

/** A text to be copied: a command, a file, a key. */
export function CodeBlock({ text, label, isWrapped = false, children }: CodeBlockProps) {
  return (
    <div className="flex min-w-0 items-start rounded-lg border border-line bg-sunken">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section aria-label={label} tabIndex={0} className="min-w-0 flex-1 overflow-x-auto p-3">
        <pre
          className={classes(
            "font-mono text-sm leading-[1.25rem]",
            isWrapped && "break-words whitespace-pre-wrap",
          )}
        >
          <code>{children ?? text}</code>
        </pre>
      </section>
      <div className="p-1">
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}
