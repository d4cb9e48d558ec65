import { Progress as Base } from "@base-ui/react/progress";
import { formatPercent, wholePercent } from "../../lib/count.ts";

interface ProgressProps {
  readonly label: string;
  /** 0 to 1; null while it cannot be told. */
  readonly share: number | null;
  /** "812 of 1,140 chunks". */
  readonly text?: string;
}

/** How far something is that ends by itself. */
export function Progress({ label, share, text }: ProgressProps) {
  return (
    <Base.Root
      value={share === null ? null : wholePercent(share)}
      {...(text !== undefined && { "aria-valuetext": text })}
      className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1"
    >
      <Base.Label className="truncate">{label}</Base.Label>
      <span className="text-muted">{text ?? (share !== null && formatPercent(share))}</span>
      <Base.Track className="col-span-2 block h-1.5 overflow-hidden rounded-full bg-line">
        <Base.Indicator className="block h-full rounded-full bg-accent data-[indeterminate]:w-1/3 data-[indeterminate]:animate-pulse" />
      </Base.Track>
    </Base.Root>
  );
}
