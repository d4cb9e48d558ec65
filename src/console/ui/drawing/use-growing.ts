import { useEffect, useReducer, useRef } from "react";
import { flushSync } from "react-dom";
import { takeTurn } from "./turns.ts";

interface Growing<Item> {
  /** What it costs to draw an item. */
  readonly weightOf: (item: Item) => number;
  /** What one turn draws at most, or one item. */
  readonly most: number;
}

/**
 * Returns how many items of a list are drawn now: at first what one turn can draw, and more with each turn until all are.
 * So a list of any length never holds the page for longer than its heaviest item.
 */
export function useGrowing<Item>(items: readonly Item[], growing: Growing<Item>): number {
  const drawn = useRef(0);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  if (drawn.current < items.length) drawn.current = endOfTurn(items, drawn.current, growing);
  const isBehind = drawn.current < items.length;
  // Again after each turn. A list that is drawn whole has no effect to run each time that it grows by a little.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what one turn has drawn asks for the next
  useEffect(() => {
    // At once, so that what it takes counts as the turn's time.
    return isBehind ? takeTurn(() => flushSync(redraw)) : undefined;
  }, [isBehind, drawn.current]);
  return Math.min(drawn.current, items.length);
}

function endOfTurn<Item>(
  items: readonly Item[],
  from: number,
  { weightOf, most }: Growing<Item>,
): number {
  let weight = 0;
  for (let end = from; end < items.length; end += 1) {
    weight += weightOf(items[end] as Item);
    if (end > from && weight > most) return end;
  }
  return items.length;
}
