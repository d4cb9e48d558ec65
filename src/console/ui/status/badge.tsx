import type { ReactNode } from "react";

const TONES = {
  plain: "bg-sunken text-muted",
  accent: "bg-accent-soft text-accent",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
} as const;

export type Tone = keyof typeof TONES;

/** A short word or number in a colour that says something. */
export function Badge({
  tone = "plain",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}) {
  return (
    <span
      className={`inline-flex items-center rounded-full px-2 text-xs leading-[1.25rem] font-medium ${TONES[tone]}`}
    >
      {children}
    </span>
  );
}
