import type { Row } from "../../rows/row.ts";
import { fieldOf, setField } from "../row-work.ts";

interface Sides {
  /** The names of all fields of all rows of this side. */
  readonly left: ReadonlySet<string>;
  /** Those of the other side that are added. */
  readonly right: readonly string[];
  readonly prefix: string;
}

/**
 * Returns what adds the fields of the other side to a row. Each has one name in all rows, whatever fields a row has, so
 * that no column mixes both sides; and each name stands for one field, so that none is overwritten.
 */
export function mergingRows(sides: Sides): (left: Row, right: Row) => Row {
  const names = Array.from(newNames(sides));
  return (left, right) => {
    const merged: Record<string, unknown> = { ...left };
    for (const [name, newName] of names) setField(merged, newName, fieldOf(right, name));
    return merged as Row;
  };
}

/** A name that this side has too gets the prefix, again until no field of either side has it. */
function newNames({ left, right, prefix }: Sides): ReadonlyMap<string, string> {
  const taken = new Set([...left, ...right]);
  const names = new Map<string, string>();
  for (const name of right) {
    let free = name;
    if (left.has(name)) {
      while (taken.has(free)) free = prefix + free;
      taken.add(free);
    }
    names.set(name, free);
  }
  return names;
}
