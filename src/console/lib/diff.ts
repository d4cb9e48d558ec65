/** What differs between two texts, by lines or words. */

export interface DiffPart {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Beyond so many comparisons all of the one is removed and all of the other added. */
const MAX_COMPARISONS = 4_000_000;

export function diffLines(before: string, after: string): readonly DiffPart[] {
  return diff(before.split("\n"), after.split("\n"), "\n");
}

/** Words with the spaces behind them. */
export function diffWords(before: string, after: string): readonly DiffPart[] {
  const words = (text: string) => text.match(/\S+\s*|\s+/g) ?? [];
  return diff(words(before), words(after), "");
}

function diff(before: readonly string[], after: readonly string[], joint: string) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start])
    start += 1;
  let [end, afterEnd] = [before.length, after.length];
  while (end > start && afterEnd > start && before[end - 1] === after[afterEnd - 1]) {
    end -= 1;
    afterEnd -= 1;
  }
  const parts: DiffPart[] = [];
  const add = (kind: DiffPart["kind"], pieces: readonly string[]) => {
    if (pieces.length > 0) parts.push({ kind, text: pieces.join(joint) });
  };
  add("same", before.slice(0, start));
  for (const { kind, pieces } of middle(before.slice(start, end), after.slice(start, afterEnd))) {
    add(kind, pieces);
  }
  add("same", before.slice(end));
  return parts;
}

interface Run {
  readonly kind: DiffPart["kind"];
  readonly pieces: string[];
}

function middle(before: readonly string[], after: readonly string[]): readonly Run[] {
  if (before.length * after.length > MAX_COMPARISONS) {
    return [
      { kind: "removed", pieces: [...before] },
      { kind: "added", pieces: [...after] },
    ];
  }
  const common = commonLengths(before, after);
  const width = after.length + 1;
  const runs: Run[] = [];
  const push = (kind: Run["kind"], piece: string | undefined) => {
    const last = runs.at(-1);
    if (last?.kind === kind) last.pieces.push(piece ?? "");
    else runs.push({ kind, pieces: [piece ?? ""] });
  };
  let [left, right] = [0, 0];
  while (left < before.length || right < after.length) {
    const isSame = left < before.length && right < after.length && before[left] === after[right];
    if (isSame) {
      push("same", before[left]);
      left += 1;
      right += 1;
      continue;
    }
    const skippedLeft = common[(left + 1) * width + right] ?? 0;
    const skippedRight = common[left * width + right + 1] ?? 0;
    if (right === after.length || (left < before.length && skippedLeft >= skippedRight)) {
      push("removed", before[left]);
      left += 1;
    } else {
      push("added", after[right]);
      right += 1;
    }
  }
  return runs;
}

/** The length of the longest common subsequence of what follows each pair of places. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let left = before.length - 1; left >= 0; left -= 1) {
    for (let right = after.length - 1; right >= 0; right -= 1) {
      const here = left * width + right;
      lengths[here] =
        before[left] === after[right]
          ? (lengths[here + width + 1] ?? 0) + 1
          : Math.max(lengths[here + width] ?? 0, lengths[here + 1] ?? 0);
    }
  }
  return lengths;
}
