import type { ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";

interface CodeBlockProps {
  readonly text: string;
  /** What it is: "The command". */
  readonly label: string;
  /** The same text with colours, where something gives them. */
  readonly children?: ReactNode;
}

/** A text to be copied: a command, a file, a key. */
export function CodeBlock({ text, label, children }: CodeBlockProps) {
  return (
    <div className="relative min-w-0 rounded-lg border border-line bg-sunken">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section aria-label={label} tabIndex={0} className="overflow-x-auto p-3 pr-12">
        <pre className="font-mono text-sm leading-[1.25rem]">
          <code>{children ?? text}</code>
        </pre>
      </section>
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}
