import { expect, it } from "vitest";
import {
  beginHistory,
  editText,
  type TextHistory,
  typeText,
  undoChange,
} from "../../../src/console/lib/text-history.ts";

const textsBack = (history: TextHistory): string[] =>
  history.past.length === 0 ? [history.text] : [history.text, ...textsBack(undoChange(history))];

it("undoes what was typed in a row as one change, and a form's change by itself", () => {
  const edited = editText(beginHistory("base"), "edited");
  const typed = typeText(typeText(edited, "edited, t"), "edited, typed");
  expect(textsBack(typed)).toEqual(["edited, typed", "edited", "base"]);
  const again = typeText(editText(typed, "edited again"), "typed again");
  expect(textsBack(again)).toEqual([
    ...["typed again", "edited again", "edited, typed", "edited", "base"],
  ]);
});

it("begins another change with what is typed after one was undone", () => {
  const undone = undoChange(typeText(typeText(beginHistory("base"), "first"), "first text"));
  expect(undone.text).toBe("base");
  expect(textsBack(typeText(undone, "second"))).toEqual(["second", "base"]);
});

it("takes no change that changes nothing, and at most 100 back", () => {
  const begun = beginHistory("0");
  expect(editText(begun, "0")).toBe(begun);
  let history = begun;
  for (let at = 1; at <= 150; at += 1) history = editText(history, String(at));
  expect(textsBack(history)).toHaveLength(101);
  expect(undoChange(begun).text).toBe("0");
});
