import { describe, expect, it } from "vitest";
import {
  createKeyReader,
  isSingleKey,
  isTextEntry,
  nameOfKey,
  type PressedKey,
  shownKeys,
} from "../../../src/console/lib/keyboard.ts";

const press = (key: string, held: Partial<PressedKey> = {}): PressedKey => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  isComposing: false,
  ...held,
});

describe("the name of a key", () => {
  it.each([
    [press("k", { ctrlKey: true }), "mod+k"],
    [press("K", { metaKey: true, shiftKey: true }), "mod+shift+k"],
    [press("?", { shiftKey: true }), "?"],
    [press("G", { shiftKey: true }), "shift+g"],
    [press("Enter"), "Enter"],
    [press("a", { isComposing: true }), undefined],
    [press("q", { altKey: true }), undefined],
  ])("%o is %s", (pressed, name) => expect(nameOfKey(pressed)).toBe(name));
});

describe("sequences", () => {
  const bindings = ["g k", "g c", "?", "k"];

  it("act on their second key in time", () => {
    const read = createKeyReader();
    expect(read("g", bindings, 0)).toBeUndefined();
    expect(read("k", bindings, 1_200)).toBe("g k");
    expect(read("k", bindings, 1_300)).toBe("k");
  });

  it("are forgotten when they take too long or go on otherwise", () => {
    const read = createKeyReader();
    read("g", bindings, 0);
    expect(read("k", bindings, 1_201)).toBe("k");
    read("g", bindings, 2_000);
    expect(read("x", bindings, 2_100)).toBeUndefined();
    expect(read("c", bindings, 2_200)).toBeUndefined();
  });
});

describe("text", () => {
  it("is what fields take, and no switch", () => {
    expect(isTextEntry({ tagName: "INPUT", type: "text" })).toBe(true);
    expect(isTextEntry({ tagName: "TEXTAREA" })).toBe(true);
    expect(isTextEntry({ tagName: "DIV", isContentEditable: true })).toBe(true);
    expect(isTextEntry({ tagName: "INPUT", type: "checkbox" })).toBe(false);
    expect(isTextEntry({ tagName: "BUTTON" })).toBe(false);
    expect(isTextEntry(null)).toBe(false);
  });

  it("is what single keys would be", () => {
    expect(["k", "g k", "?", "Enter"].every(isSingleKey)).toBe(true);
    expect(["mod+k", "Escape"].some(isSingleKey)).toBe(false);
  });
});

describe("the keys that are shown", () => {
  it("are those of the machine", () => {
    expect(shownKeys("mod+k", true)).toEqual(["⌘", "K"]);
    expect(shownKeys("mod+shift+o", false)).toEqual(["Ctrl", "Shift", "O"]);
    expect(shownKeys("g k", false)).toEqual(["g", "k"]);
    expect(shownKeys("Escape", false)).toEqual(["Esc"]);
  });
});
