import type { ReactNode } from "react";
import type { Tone } from "./badge.tsx";

const DOTS: Readonly<Record<Tone, string>> = {
  plain: "border border-edge",
  accent: "bg-accent",
  ok: "bg-ok",
  warn: "bg-warn",
  bad: "bg-bad",
};

/** A state: a dot and its word, never the colour alone. */
export function StatusDot({
  tone,
  children,
}: {
  readonly tone: Tone;
  readonly children: ReactNode;
}) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden className={`size-[0.5rem] shrink-0 rounded-full ${DOTS[tone]}`} />
      {children}
    </span>
  );
}
