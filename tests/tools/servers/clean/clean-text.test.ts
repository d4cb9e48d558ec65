import { expect, it } from "vitest";
import { cleanLine, cleanText, cutText } from "../../../../src/tools/servers/clean/clean-text.ts";

it.each([
  ["an ordinary text", "Grüße, 世界 👩‍👩‍👧", "Grüße, 世界 👩‍👩‍👧"],
  ["line breaks and tabs", "a\tb\nc", "a\tb\nc"],
  ["line ends of other systems", "a\r\nb\rc", "a\nb\nc"],
  ["colours", "\u001b[1;31mred\u001b[0m", "red"],
  ["cursor movements", "a\u001b[2J\u001b[1;1Hb\u001b[?25lc", "abc"],
  ["a title of the terminal", "\u001b]0;owned\u0007a\u001b]8;;http://x\u001b\\b", "ab"],
  ["a device control string", "a\u001bP1;2q~~\u001b\\b", "ab"],
  ["sequences of one byte", "a\u009b31mb\u009d0;t\u009cc", "abc"],
  ["short sequences", "a\u001bcb\u001b(Bc\u001b7d", "abcd"],
  ["a sequence without its end", "a\u001b[", "a"],
  ["control characters", "a\u0000\u0007\u0008\u007f\u0085b", "ab"],
  ["a reversed text", "\u202egpj.exe\u202c \u2067a\u2069", "gpj.exe a"],
  ["an invisible text", "a\u{e0068}\u{e0069}\ufeffb", "ab"],
  ["halves of characters", "a\ud800b\udc00c", "abc"],
  ["a text of another direction", "\u200fשלום\u200e", "\u200fשלום\u200e"],
])("%s is cleaned", (_what, text, expected) => {
  expect(cleanText(text)).toBe(expected);
});

it("a line is one line of its length, without half a character at the end", () => {
  expect(cleanLine("  a\r\n\tb  c\u001b[0m ", 100)).toBe("a b c");
  expect(cleanLine("abcdef", 3)).toBe("abc");
  expect(cutText("ab😀", 3)).toBe("ab");
  expect(cutText("ab😀", 4)).toBe("ab😀");
});
